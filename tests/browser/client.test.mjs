// A run that a client logged over MLflow's interface, without a supervisor: no command, no host, no hardware. It is a
// run like any other on the page.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { chartsDrawn, Home, launch, open, soon } from "./support.mjs";

const home = new Home();
let browser;
let run;

before(async () => {
  [browser] = await Promise.all([launch(), home.serve()]);
  const start_time = Date.now() - 60_000;
  const { experiment_id } = await home.mlflow("experiments/create", { name: "by a client" });
  const made = await home.mlflow("runs/create", { experiment_id, start_time, run_name: "from afar" });
  run = made.run.info.run_id;
  const metrics = [];
  for (let step = 0; step < 500; step++)
    metrics.push({
      key: "train/loss",
      value: 1 / (1 + step),
      timestamp: start_time + step * 100,
      step,
    });
  const params = [{ key: "lr", value: "0.1" }];
  await home.mlflow("runs/log-batch", { run_id: run, metrics, params });
  await home.mlflow("runs/update", { run_id: run, status: "FINISHED", end_time: start_time + 50_000 });
});

after(async () => {
  await browser?.close();
  await home.close();
});

test("it stands in the list", async () => {
  const { page, complaints, close } = await open(browser, home, "/");
  const row = page.locator(`[data-testid=run-row][data-run="${run}"]`);
  await row.waitFor();
  await soon(async () => {
    const text = await row.innerText();
    for (const word of [
      "from afar",
      "by a client",
      "finished",
      "logged by a client",
      "at step 499",
    ])
      assert.ok(text.includes(word), `${word} in ${text}`);
  });
  assert.deepEqual(complaints, []);
  await close();
});

test("its page shows its metrics and says what it is", async () => {
  const { page, complaints, close } = await open(browser, home, `/runs/${run}`);
  await chartsDrawn(page);
  await page.locator('[data-testid=chart][data-metric="train/loss"]').waitFor();
  const about = page.getByLabel("About this run");
  await about.getByText("a client, not under corral run").waitFor();
  assert.doesNotMatch(await about.innerText(), /Host/);
  assert.deepEqual(complaints, []);
  await close();
});
