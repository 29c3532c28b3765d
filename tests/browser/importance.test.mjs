// The importance of params on a summary, in a real Chromium over real runs.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Home, launch, open, violations } from "./support.mjs";

const kTraining = `
import sys, corral
values = dict(zip(("lr", "seed"), sys.argv[1:]))
corral.params(values)
for step in range(3):
    corral.log("loss", float(values["lr"]), step=step)
`;
const home = new Home();
let browser;
let runs;

before(async () => {
  [browser] = await Promise.all([launch(), home.serve()]);
  writeFileSync(join(home.folder, "train.py"), kTraining);
  for (let i = 0; i < 10; i++) {
    const words = [String((i % 5) / 10 + 0.1), String((i * 7) % 10)];
    const training = home.start("run", "--name", `r${i}`, "train.py", ...words);
    assert.equal(await training.ended, 0, training.output());
  }
  runs = (await home.runs()).map(({ id }) => id);
});

after(async () => {
  await browser?.close();
  await home.close();
});

test("the param that decides comes first, with the warning that the runs are few, and as CSV", async () => {
  const all = runs.map((id) => `run=${id}`).join("&");
  const { page, complaints, close } = await open(browser, home, `/summary?${all}&metric=loss`);
  await page.getByTestId("kind-importance").click();
  const table = page.getByTestId("importances");
  await table.waitFor();
  const names = await table.locator("tbody th").allTextContents();
  assert.deepEqual(names, ["lr", "seed"]);
  assert.match(await table.locator("tbody tr").first().textContent(), /15$/);
  await page.getByText("Few runs: 10 for 2 params. The order may be chance.").waitFor();
  assert.deepEqual(await violations(page), []);
  const coming = page.waitForEvent("download");
  await page.getByTestId("summary-csv").click();
  const rows = readFileSync(await (await coming).path(), "utf8").split("\r\n");
  assert.equal(rows[0], "param,importance,no_more_than_chance,spearman,values");
  assert.match(rows[1], /^lr,0\.\d+|^lr,\d/);
  assert.deepEqual(complaints, []);
  await close();
});

test("too few runs have no importance, and that is said", async () => {
  const few = runs
    .slice(0, 3)
    .map((id) => `run=${id}`)
    .join("&");
  const path = `/summary?${few}&metric=loss&kind=importance`;
  const { page, complaints, close } = await open(browser, home, path);
  await page.getByText("It needs at least 8 runs").waitFor();
  assert.deepEqual(complaints, []);
  await close();
});
