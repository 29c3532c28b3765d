// first.js asks the very question that the list of runs asks first, and the page takes its answer.
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { kDefault } from "../pages/runs/columns";
import { listOf } from "../pages/runs/filters";
import { sendJson } from "./client";
import { kPage } from "./runSearch";

const script = readFileSync("public/first.js", "utf8");
const asked: { url: string; body: string }[] = [];

beforeEach(() => {
  asked.length = 0;
  vi.stubGlobal("fetch", async (url: string, { body }: { body: string }) => {
    asked.push({ url, body });
    return new Response(JSON.stringify({ number: asked.length }));
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
  localStorage.clear();
  window.corralFirst = undefined;
  history.replaceState(null, "", "/");
  for (const link of document.querySelectorAll("link")) link.remove();
});

function run(address: string): string[] {
  history.replaceState(null, "", address);
  const dataset = { pages: JSON.stringify({ "/": ["/a.js", "/b.js"], "/runs/": ["/c.js"] }) };
  vi.spyOn(document, "currentScript", "get").mockReturnValue({
    dataset,
  } as unknown as HTMLScriptElement);
  new Function(script)();
  return [...document.querySelectorAll("link[rel=modulepreload]")].map(
    (link) => link.getAttribute("href") ?? "",
  );
}

const question = { ...listOf({}, kDefault), limit: kPage, offset: 0 };

it("is asked once, by the first caller", async () => {
  expect(run("/")).toEqual(["/a.js", "/b.js"]);
  expect(asked).toEqual([{ url: "/api/corral/v1/runs/search", body: JSON.stringify(question) }]);
  expect(await sendJson("POST", "/runs/search", { text: "other" })).toEqual({ number: 2 });
  expect(await sendJson("POST", "/runs/search", question)).toEqual({ number: 1 });
  // Later the list is requested again.
  expect(await sendJson("POST", "/runs/search", question)).toEqual({ number: 3 });
});

it("asks nothing where another list is shown, or another page", () => {
  expect(run("/?q=loss")).toEqual(["/a.js", "/b.js"]);
  for (const link of document.querySelectorAll("link")) link.remove();
  expect(run("/runs/abc")).toEqual(["/c.js"]);
  localStorage.setItem("corral-columns", '["name"]');
  run("/");
  expect(asked).toEqual([]);
});
