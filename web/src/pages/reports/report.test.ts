import { describe, expect, it } from "vitest";
import { blocksOf, liveOf, parseReport, reportState } from "./report";

const kHere = "http://127.0.0.1:5000";

describe("the blocks of a report", () => {
  it("are text, and what the addresses that stand alone show", () => {
    const text = [
      "# Speed",
      `${kHere}/board?run=a&run=b&metric=loss`,
      "MPS is faster, see",
      "/compare?group=a&group=b",
      "and",
      "/runs/cool%20name?x=step",
    ].join("\n\n");
    expect(blocksOf(text, kHere)).toEqual([
      { kind: "text", html: '<h1 id="speed">Speed</h1>\n' },
      {
        kind: "board",
        address: "/board?run=a&run=b&metric=loss",
        search: { run: ["a", "b"], metric: "loss" },
      },
      { kind: "text", html: "<p>MPS is faster, see</p>\n" },
      {
        kind: "compare",
        address: "/compare?group=a&group=b",
        search: { group: ["a", "b"] },
      },
      { kind: "text", html: "<p>and</p>\n" },
      {
        kind: "run",
        run: "cool name",
        address: "/runs/cool%20name?x=step",
        search: { x: "step" },
      },
    ]);
  });

  it("are not other servers, other pages, addresses within words or in code", () => {
    for (const other of [
      "http://other/board?run=a",
      "/docs/page",
      "//other/board",
      "see /board?run=a",
    ])
      expect(liveOf(other, kHere)).toBeNull();
    expect(blocksOf("```\n/board?run=a\n```", kHere)).toHaveLength(1);
  });

  it("are read whatever they are", () => {
    expect(blocksOf("/runs/50%", kHere)).toEqual([{ kind: "text", html: "<p>/runs/50%</p>\n" }]);
    const [deep] = blocksOf(`${">".repeat(20_000)} <b>`, kHere);
    expect(deep?.kind === "text" && deep.html).toMatch(/^<pre>>+ &lt;b><\/pre>$/);
    const [link] = blocksOf("[x](</\\evil.example>)", kHere);
    expect(link).toEqual({ kind: "text", html: "<p>x</p>\n" });
  });

  it("run nothing", () => {
    const text = [
      "<script>alert(1)</script>",
      "<img src=x onerror=alert(1)>",
      "[a](javascript:alert(1))",
      "[b](<JaVaScRiPt:alert(1)>)",
      "![c](http://other/x.png)",
      "![d](data:image/svg+xml,x)",
      '[e](/x"onclick="alert(1))',
    ].join("\n\n");
    const [block] = blocksOf(text, kHere);
    const holder = document.createElement("div");
    holder.innerHTML = block?.kind === "text" ? block.html : "";
    expect(holder.querySelectorAll("script, img").length).toBe(0);
    expect([...holder.querySelectorAll("a")].map((a) => a.getAttributeNames().sort())).toEqual([
      ["href"],
    ]);
  });

  it("show HTML as text, also behind a tag after which Markdown reads none", () => {
    for (const raw of ["code", "kbd", "pre", "script", "a", "i"]) {
      const text = [
        `Type <${raw}> first. <meta/http-equiv="refresh" content="0;url=https:&#47;&#47;x/">`,
        `- <${raw}> <iframe/src="https:&#47;&#47;x/"> <svg/onload=alert(1)>`,
        `| <${raw}> |\n|---|\n| <${raw}> <style/a>*{color:red}</style> |`,
        `# <${raw}> <form/action=/x> \\<img/src=x>`,
        `*<${raw}> a < b & c*`,
      ].join("\n\n");
      const html = blocksOf(text, kHere).map((block) => (block.kind === "text" ? block.html : ""));
      const holder = document.createElement("div");
      holder.innerHTML = html.join("");
      const names = new Set([...holder.querySelectorAll("*")].map(({ localName }) => localName));
      const ours = "p ul li div table thead tbody tr th td h1 em".split(" ");
      expect([...names].filter((name) => !ours.includes(name))).toEqual([]);
      expect(holder.textContent).toContain(`<${raw}> a < b & c`);
    }
  });

  it("keep entities, and show others' signs as they are", () => {
    expect(blocksOf("a &lt;b&gt; &nbsp;c & d < e &amp;lt;", kHere)).toEqual([
      { kind: "text", html: "<p>a &lt;b&gt; &nbsp;c &amp; d &lt; e &amp;lt;</p>\n" },
    ]);
  });

  it("have links within them", () => {
    expect(blocksOf("[top](#top)", kHere)).toEqual([
      { kind: "text", html: '<p><a href="#top">top</a></p>\n' },
    ]);
  });

  it("show pictures of runs", () => {
    const [block] = blocksOf("![a & b](/api/corral/v1/runs/x/artifacts/plot.png)", kHere);
    expect(block).toEqual({
      kind: "text",
      html: '<p><img src="/api/corral/v1/runs/x/artifacts/plot.png" alt="a &amp; b"></p>\n',
    });
  });
});

describe("the state of a report", () => {
  it("keeps the newest versions, and any text that is there", () => {
    const known = Array.from({ length: 50 }, (_, i) => ({
      view: `v${i}`,
      saved_ns: String(100 - i),
    }));
    const state = reportState("new", known, { view: "last", saved_ns: "101" });
    const { text, versions } = parseReport(state);
    expect([text, versions.length, versions[0]?.view, versions.at(-1)?.view]).toEqual([
      "new",
      50,
      "last",
      "v48",
    ]);
    expect(parseReport(reportState("first", [], null))).toEqual({ text: "first", versions: [] });
    for (const other of ["plain text", "[]", "{}", "null"])
      expect(parseReport(other)).toEqual({ text: other, versions: [] });
    expect(parseReport('{"text":"a","versions":[{"view":1},{"view":"v","saved_ns":"x"}]}')).toEqual(
      {
        text: "a",
        versions: [],
      },
    );
  });
});
