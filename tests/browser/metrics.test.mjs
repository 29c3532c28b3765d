// The list of metrics of a run that logged 5,000, in a real Chromium: sections by prefix, closed until they are asked for,
// search, and only rows in sight on the page.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { atRest, chartsDrawn, Home, launch, open, soon, until, violations } from "./support.mjs";

const kProgram = `
import math
import corral
names = [f"{part}/layer{i}/{what}" for part in ("grad", "act", "weights") for i in range(160) for what in
         ("mean", "std", "min", "max", "p5", "p25", "p50", "p75", "p95", "norm")]
names += [f"metric_{i}" for i in range(195)] + [f"val/{i}" for i in range(5)]
for i in range(20):
    corral.log({name: math.sin(i / 3 + len(name) + n % 7) for n, name in enumerate(names)}, step=i)
`;
const kMetrics = 5000;

const home = new Home();
let browser;
let run;

before(async () => {
  [browser] = await Promise.all([launch(), home.serve()]);
  const program = join(home.folder, "many.py");
  writeFileSync(program, kProgram);
  const words = ["run", "--no-listeners", "--name", "many", home.environment.CORRAL_PYTHON, program];
  const recorded = home.start(...words);
  assert.equal(await recorded.ended, 0, recorded.output());
  [run] = await home.runs();
});

after(async () => {
  await browser?.close();
  await home.close();
});

const list = (page) => page.getByRole("region", { name: "Metrics" });
const section = (page, name) => list(page).locator(".row", { hasText: name }).getByRole("button");
const items = (page) => list(page).locator("label.item").count();
const shown = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll("[data-testid=chart]")].map((one) => one.dataset.metric),
  );

test("5,000 metrics are sections that open, are searched, and show a handful of rows at a time", async () => {
  const { page, complaints, close } = await open(browser, home, `/runs/${run.id}?metric=val/0`);
  await chartsDrawn(page);
  assert.ok((await page.evaluate(() => document.querySelectorAll("*").length)) < 2500);
  await section(page, "grad/").click();
  await section(page, "layer17/").click();
  const p50 = list(page).getByRole("checkbox", { name: "grad/layer17/p50" });
  await p50.check();
  await soon(async () => assert.deepEqual(await shown(page), ["val/0", "grad/layer17/p50"]));
  // Closed again, nothing of it is on the page.
  await section(page, "grad/").click();
  await p50.waitFor({ state: "detached" });
  // A whole section at once, and none of it.
  const all = list(page).getByRole("checkbox", { name: "All charts of val/" });
  await all.check();
  await soon(async () => assert.equal((await shown(page)).length, 6));
  await all.uncheck();
  await soon(async () => assert.deepEqual(await shown(page), ["grad/layer17/p50"]));
  await atRest(page);
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(complaints, []);
  await close();
});

test("a search among 5,000 lists what it finds, and all of it comes by scrolling", async () => {
  const { page, complaints, close } = await open(browser, home, `/runs/${run.id}?metric=val/0`);
  await chartsDrawn(page);
  const find = page.getByTestId("metric-search");
  await find.fill("act p");
  await soon(async () => {
    assert.ok((await items(page)) > 10);
    assert.ok((await items(page)) < 100);
  });
  const last = list(page).getByRole("checkbox", { name: "act/layer159/p95" });
  assert.equal(await last.count(), 0);
  await page.locator(".panel").evaluate((panel) => {
    panel.scrollTop = panel.querySelector("[aria-label=Metrics]").getBoundingClientRect().bottom - 100;
  });
  await last.scrollIntoViewIfNeeded();
  await last.check();
  await soon(async () => assert.deepEqual(await shown(page), ["val/0", "act/layer159/p95"]));
  await find.fill("layer159/p95");
  await soon(async () => assert.equal(await items(page), 3));
  await find.fill("no such metric");
  await list(page).getByText("No matches").waitFor();
  assert.deepEqual(complaints, []);
  await close();
});

test("the palette finds one of 5,000 metrics", async () => {
  const { page, close } = await open(browser, home, `/runs/${run.id}?metric=val/0`);
  await chartsDrawn(page);
  const known = await page.evaluate(
    async (id) => (await (await fetch(`/api/corral/v1/runs/${id}/metrics`)).json()).metrics.length,
    run.id,
  );
  assert.ok(known >= kMetrics);
  await page.keyboard.press("Control+k");
  await page.getByTestId("palette").getByRole("combobox").fill("weights layer99 norm");
  await page.getByRole("option", { name: /weights\/layer99\/norm/ }).first().waitFor();
  await page.keyboard.press("Enter");
  await until(page, () => document.querySelectorAll("[data-testid=chart]").length === 2);
  await close();
});
