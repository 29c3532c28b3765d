import { describe, expect, it } from "vitest";
import type { Comparison } from "../../api/compare";
import type { AskedFigure } from "../../board/figures";
import { blocksOf } from "./report";
import {
  chartHtml,
  comparisonHtml,
  failedHtml,
  liveHtml,
  picturesOf,
  reportHtml,
  textHtml,
  withPictures,
} from "./reportFile";

const kHere = "http://127.0.0.1:5000";
const kBad = `"><script>alert(1)</script>&`;

const parsed = (html: string) => new DOMParser().parseFromString(html, "text/html");

const fileOf = (parts: readonly string[]) =>
  reportHtml({
    name: kBad,
    address: `${kHere}/reports/${kBad}`,
    version: `the version ${kBad}`,
    moment: "today",
    face: "AAAA",
    parts,
  });

const figure = (part: Partial<AskedFigure> = {}): AskedFigure => ({
  figure: {
    picture: {
      width: 100,
      height: 50,
      marks: [
        { kind: "clip", rect: { x: 0, y: 0, width: 9, height: 9 }, marks: [] },
        {
          ...{ kind: "text", x: 1, y: 1, text: kBad, colour: "#000", size: 11 },
          ...{ weight: 400, anchor: "start", turned: false },
        },
      ],
    } as unknown as AskedFigure["figure"]["picture"],
    background: "#fff",
    hash: "h",
    csv: "",
    link: `${kHere}/board?x=${kBad}`,
  },
  lines: [{ key: "a", label: kBad, colour: "#123", dash: [4, 2], hidden: false, data: null }],
  named: false,
  title: kBad,
  axes: "MiB, over step",
  summary: kBad,
  notes: ["1 outlier", "cut"],
  ...part,
});

const compared: Comparison = {
  ...{ value: "duration", margin: 0.02, margin_planned: false, confidence: 0.95, family: 1 },
  groups: ["a", kBad].map((name) => ({
    ...{ name, n: 1, mean: 2, min: 2, max: 2, unit: "s", warnings: [`few ${kBad}`] },
    units: [
      { name: "run", runs: [], value: 2, reason: null, missed_s: null },
      { name: "lost", runs: [], value: null, reason: `broke ${kBad}`, missed_s: null },
    ],
  })),
  differences: [
    {
      ...{ a: "a", b: kBad, verdict: "greater", text: `b is slower ${kBad}`, warnings: [] },
      ...{ ratio: 1.5, low: 1.2, high: 1.9, parts: [], metrics: [], set_up: [] },
      set_up_left_out: 0,
    },
  ],
};

describe("the file of a report", () => {
  it("runs nothing, asks for nothing, and shows names as they are", () => {
    const text = textHtml((blocksOf(kBad, kHere)[0] as { html: string }).html);
    const page = parsed(
      fileOf([
        text,
        liveHtml(`${kHere}/board?run=${kBad}`, chartHtml(figure(), "p1-")),
        liveHtml(`${kHere}/compare`, comparisonHtml(compared, "p2-")),
        liveHtml(`${kHere}/runs/x`, failedHtml(`Not read: ${kBad}`)),
      ]),
    );
    expect(page.querySelectorAll("script, img, link, iframe, object").length).toBe(0);
    for (const element of page.querySelectorAll("*"))
      for (const name of element.getAttributeNames()) expect(name).not.toMatch(/^on/);
    const policy = page.querySelector("meta[http-equiv]")?.getAttribute("content");
    expect(policy).toMatch(/^default-src 'none'; style-src 'unsafe-inline'; img-src data:;/);
    expect(page.title).toBe(kBad);
    expect(page.querySelector(".failed")?.textContent).toBe(`Not read: ${kBad}`);
    expect(page.querySelector("footer")?.textContent).toContain(`the version ${kBad}`);
    expect(page.querySelectorAll(".source a").length).toBe(3);
  });

  it("names its pictures apart, and the lines of each", () => {
    const html = chartHtml(figure(), "p1-0-") + chartHtml(figure(), "p1-1-");
    const ids = [...html.matchAll(/id="([^"]+)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(2);
    const page = parsed(html);
    expect(page.querySelector(".legend")?.textContent).toBe(kBad);
    expect(page.querySelector(".swatch path")?.getAttribute("stroke-dasharray")).toBe("4 2");
    expect(page.querySelector(".chart > .quiet")?.textContent).toBe("1 outlier · cut");
    expect(parsed(chartHtml(figure({ named: true }), "")).querySelector(".swatch")).toBeNull();
    expect(chartHtml(figure(), "x")).toBe(chartHtml(figure(), "x"));
  });

  it("has the verdict, the warnings, the pictures and the table of a comparison", () => {
    const page = parsed(comparisonHtml(compared, "p"));
    expect(page.querySelector(".verdict.shown")?.textContent).toBe("greater");
    expect(page.body.textContent).toContain(`b is slower ${kBad}`);
    expect(page.querySelectorAll("ul.quiet li").length).toBe(4);
    expect(page.querySelectorAll("figure svg").length).toBe(2);
    expect(page.querySelectorAll("tr").length).toBe(3);
    expect(page.body.textContent).toContain(`lost of a not counted: broke ${kBad}`);
  });
});

describe("the pictures of a text", () => {
  const address = `/api/corral/v1/runs/x/artifacts/a&b.png`;
  const text = `![plot "1"](${address}) and [run](/runs/x)`;
  const html = (blocksOf(text, kHere, true)[0] as { html: string }).html;

  it("come along, and links name the server", () => {
    expect(picturesOf(html + html)).toEqual([address]);
    const found = new Map([[address, { data: "data:image/png;base64,AA" }]]);
    const page = parsed(withPictures(html, found, { server: kHere, room: { bytes: 1000 } }));
    expect(page.querySelector("img")?.getAttribute("src")).toBe("data:image/png;base64,AA");
    expect(page.querySelector("img")?.getAttribute("alt")).toBe('plot "1"');
    expect(page.querySelector("a")?.getAttribute("href")).toBe(`${kHere}/runs/x`);
  });

  it("are links once all together would be too large", () => {
    const found = new Map([[address, { data: "data:image/png;base64,AA" }]]);
    const room = { bytes: 30 };
    const page = parsed(withPictures(html + html, found, { server: kHere, room }));
    expect(page.querySelectorAll("img").length).toBe(1);
    expect(page.querySelector(".failed")?.textContent).toContain("larger than 50 MB");
  });

  it("are links with a reason where they do not", () => {
    const found = new Map([[address, { why: `too <large>` }]]);
    const page = parsed(withPictures(html, found, { server: kHere, room: { bytes: 1000 } }));
    expect(page.querySelector("img")).toBeNull();
    expect(page.querySelector("a")?.getAttribute("href")).toBe(kHere + address);
    expect(page.querySelector(".failed")?.textContent).toContain("too <large>");
  });
});
