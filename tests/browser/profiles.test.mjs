// What profilers left of a run: their findings on its page, and the part of the charts that nobody may read as the rest.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  atRest,
  chartsDrawn,
  Home,
  launch,
  open,
  shownCharts,
  soon,
  violations,
} from "./support.mjs";

const home = new Home();
let browser;
const id = {};

// Steps 4 and 5 of ten are profiled.
const kScript = `
import sys, time, corral
for step in range(10):
    if step == 4 and sys.argv[1] == "profiled":
        profiled = corral.phase("profiled", tool="torch", steps="4-5")
        profiled.__enter__()
    corral.log({"loss": 1 / (1 + step)}, step=step)
    time.sleep(0.05)
    if step == 5 and sys.argv[1] == "profiled":
        profiled.__exit__(None, None, None)
`;
const kernel = (name, kind, calls, total_ms) => ({
  name,
  kind,
  calls,
  total_ms,
  share: total_ms / 200,
});
const kSummary = {
  tool: "torch",
  steps: { first: 4, last: 5 },
  total_ms: 200,
  by_kind: [
    { kind: "memcpy", ms: 50, share: 0.25 },
    { kind: "gemm", ms: 110, share: 0.55 },
  ],
  top: [
    kernel("void gemm<float, 128>(<b>)", "gemm", 3, 110),
    kernel("Memcpy HtoD", "memcpy", 40, 50),
    ...Array.from({ length: 12 }, (_, i) => kernel(`small_${i}`, "elementwise", 2, 1)),
  ],
};

before(async () => {
  [browser] = await Promise.all([launch(), home.serve()]);
  writeFileSync(join(home.folder, "steps.py"), kScript);
  for (const name of ["profiled", "plain"]) {
    const ran = home.start("run", "--experiment", "e", "--name", name, "steps.py", name);
    assert.equal(await ran.ended, 0, ran.output());
  }
  for (const run of await home.runs()) id[run.name] = run.id;
  const [phase] = (await get(`runs/${id.profiled}/phases`)).phases;
  const { start_ns, end_ns } = phase;
  await put("profile/steps-4-5/summary.json", JSON.stringify({ ...kSummary, start_ns, end_ns }));
  await put("profile/steps-4-5/trace.json.gz", "0123456789");
  await put("profile/steps-9-9/summary.json", '{"tool":"nsys","top":[{"name":"x"}]}');
  await put("profile/steps-9-9/report.nsys-rep", "?");
});

after(async () => {
  await browser?.close();
  await home.close();
});

const get = async (path) => (await fetch(`${home.url}/api/corral/v1/${path}`)).json();

async function put(path, body) {
  const reply = await fetch(`${home.url}/api/corral/v1/runs/${id.profiled}/artifacts/${path}`, {
    method: "PUT",
    body,
  });
  assert.ok(reply.ok, await reply.text());
}

test("a profile: time by kind, a table that sorts, its files; a broken one is said and breaks nothing", async () => {
  const { page, complaints, close } = await open(browser, home, `/runs/${id.profiled}`);
  const profile = page.getByRole("article", { name: "profile/steps-4-5" });
  await profile.getByText("steps 4–5").waitFor();
  await atRest(page);
  const kinds = profile.getByRole("list", { name: "Time by kind" }).getByRole("listitem");
  const said = (await kinds.allTextContents()).map((text) => text.replaceAll(/\s+/g, " "));
  assert.deepEqual(said, ["gemm 55 %110 ms", "memcpy 25 %50 ms", "other 20 %40 ms"]);
  const names = () => profile.locator("tbody td:first-child").allTextContents();
  assert.equal((await names())[0], "void gemm<float, 128>(<b>)");
  assert.equal((await names()).length, 10);
  await profile.getByRole("button", { name: "calls" }).click();
  await soon(async () => assert.equal((await names())[0], "Memcpy HtoD"));
  const head = profile.getByRole("columnheader", { name: "calls" });
  assert.equal(await head.getAttribute("aria-sort"), "descending");
  await profile.getByRole("button", { name: "all 14" }).click();
  await soon(async () => assert.equal((await names()).length, 14));
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    profile.getByRole("link", { name: /^trace\.json\.gz/ }).click(),
  ]);
  assert.equal(file.suggestedFilename(), "trace.json.gz");
  const broken = page.getByRole("article", { name: "profile/steps-9-9" });
  await broken.getByRole("alert").getByText("total_ms of top[0] is no amount").waitFor();
  await broken.getByRole("link", { name: /^report\.nsys-rep/ }).waitFor();
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    assert.deepEqual(await violations(page), [], colorScheme);
  }
  assert.deepEqual(complaints, []);
  await close();
});

test("its moment is marked in charts and lanes, and a link away from any axis", async () => {
  const { page, complaints, close } = await open(browser, home, `/runs/${id.profiled}?x=epoch`);
  const link = page.getByTestId("profile-moment");
  await link.click();
  const address = () => new URL(page.url()).searchParams;
  await soon(() => assert.ok(address().has("from")));
  await chartsDrawn(page);
  await atRest(page);
  const [from, to] = ["from", "to"].map((key) => Number(address().get(key)));
  const { start_ns } = await get(`runs/${id.profiled}`);
  const [phase] = (await get(`runs/${id.profiled}/phases`)).phases;
  const at = (ns) => Number(BigInt(ns) - BigInt(start_ns)) / 1e9;
  assert.ok(from < at(phase.start_ns) && at(phase.end_ns) < to, `${from} ${to}`);
  assert.ok(to - from < 1.3 * (at(phase.end_ns) - at(phase.start_ns)), `${from} ${to}`);
  assert.equal((await shownCharts(page)).loss.from, from);
  const chart = page.locator("[data-metric=loss] canvas");
  const summary = () => chart.getAttribute("aria-label");
  assert.match(await summary(), /Part of it was profiled/);
  await page.locator(".phases").getByText("crossed = profiled").waitFor();
  await page.goto(`${home.url}/runs/${id.profiled}?x=step`);
  await soon(async () => assert.match(await summary(), /Part of it was profiled/));
  // A run that nobody profiled says nothing of it.
  await page.goto(`${home.url}/runs/${id.plain}`);
  await chartsDrawn(page);
  await atRest(page);
  assert.doesNotMatch(await summary(), /profiled/);
  assert.equal(await page.getByTestId("profiles").count(), 0);
  assert.deepEqual(complaints, []);
  await close();
});
