// Finding and selecting runs in a real Chromium: search, facets, columns, order, keyboard, the basket, the tree and
// an experiment's overview, over 260 runs logged by a client and one workload of two recorded runs.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { atRest, Home, launch, open, soon, until, violations } from "./support.mjs";

const kRuns = 260;
const kModels = ["resnet50", "effnetv2", "bert-base"];
const kHostile = `<img src=x onerror="window.pwned=1"> \u202Eright to left\u202C ${"long ".repeat(40)}`;

const home = new Home();
let browser;

// Run i: every tenth failed, three models, two learning rates, a loss that falls to (i + 1) / 1000.
async function logRun(experiment_id, i) {
  const start_time = Date.parse("2026-01-01T00:00:00Z") + i * 60_000;
  const tags = [
    { key: "corral.model", value: kModels[i % 3] },
    { key: "collocation", value: i % 2 ? "mps" : "alone" },
  ];
  const run_name = i === 7 ? kHostile : `sweep-${i}`;
  const created = await home.mlflow("runs/create", { experiment_id, start_time, run_name, tags });
  const run_id = created.run.info.run_id;
  const metrics = [4, 2, 1].map((factor, step) => ({
    key: "loss",
    value: (factor * (i + 1)) / 1000,
    timestamp: start_time + step * 1000,
    step,
  }));
  const params = [{ key: "lr", value: i % 4 ? "0.1" : "0.01" }];
  await home.mlflow("runs/log-batch", { run_id, metrics, params });
  const status = i % 10 === 9 ? "FAILED" : "FINISHED";
  await home.mlflow("runs/update", { run_id, status, end_time: start_time + 1000 * (i + 1) });
}

before(async () => {
  [browser] = await Promise.all([launch(), home.serve()]);
  const { experiment_id } = await home.mlflow("experiments/create", { name: "sweep" });
  for (let i = 0; i < kRuns; i++) await logRun(experiment_id, i);
  const words = ["run", "--no-listeners", "--experiment", "pairs", "--workload", "both"];
  const pair = ["one", "two"].map((name) => home.start(...words, "--name", name, "sleep", "0.2"));
  for (const run of pair) assert.equal(await run.ended, 0, run.output());
});

after(async () => {
  await browser?.close();
  await home.close();
});

const first = (page) => page.getByTestId("run-row").first().waitFor();
const total = (page, words) =>
  until(
    page,
    (wanted) => {
      const heading = document.querySelector("[data-testid=runs-total]");
      return !document.querySelector(".content.stale") && heading?.textContent === wanted;
    },
    words,
  );
const selected = (page, words) =>
  until(
    page,
    (w) => document.querySelector("[data-testid=basket-count]")?.textContent === w,
    words,
  );
const cells = (page, column) =>
  page.locator(`[role=gridcell][data-column="${column}"]`).allTextContents();
// The address says this of the part.
const says = (page, part, wanted) =>
  soon(() => assert.deepEqual(new URL(page.url()).searchParams.getAll(part), [wanted].flat()));
const titles = (page) =>
  page.getByTestId("column").evaluateAll((all) => all.map((head) => head.dataset.column));

test("words and comparisons find runs, and a mistake is said with its place", async () => {
  const { page, complaints, close } = await open(browser, home, "/");
  await total(page, `${kRuns + 2} runs`);
  await page.keyboard.press("/");
  await page.keyboard.type("resnet50 lr=0.01");
  await total(page, "22 runs");
  await says(page, "q", "resnet50 lr=0.01");
  const field = page.getByTestId("search");
  await field.fill("metrics.loss < 0.0105 and params.lr = '0.1'");
  await total(page, "7 runs");
  await field.fill("metrics.loss < 0.0105 and params.lr = 0.1");
  await page.getByTestId("search-error").getByText("Character 39").waitFor();
  await says(page, "q", "metrics.loss < 0.0105 and params.lr = '0.1'");
  await field.press("Escape");
  await total(page, `${kRuns + 2} runs`);
  await field.fill("no such run");
  await page.getByTestId("no-match").waitFor();
  await page.getByRole("button", { name: "Show all runs" }).click();
  await total(page, `${kRuns + 2} runs`);
  assert.deepEqual(complaints, []);
  await close();
});

test("facets narrow, count, stay in the address and go back", async () => {
  const { page, complaints, close } = await open(browser, home, "/");
  await first(page);
  const value = (facet, name) =>
    page.locator(`[data-testid=facet][data-facet="${facet}"] [data-value="${name}"]`);
  const title = (facet, name) => value(facet, name).locator(".name").getAttribute("title");
  assert.match(await title("status", "failed"), /^failed: finished with a nonzero exit status/);
  assert.match(await title("collocation", "together"), /^together: with other runs/);
  await value("status", "failed").click();
  await total(page, "26 runs");
  await page.locator("[data-facet=model] button").first().click();
  await until(
    page,
    () =>
      document.querySelector('[data-facet=model] [data-value="resnet50"] .count')?.textContent ===
      "9",
  );
  await value("model", "resnet50").click();
  await total(page, "9 runs");
  await says(page, "model", "resnet50");
  await value("model", "effnetv2").click();
  await total(page, "18 runs");
  await page.reload();
  await total(page, "18 runs");
  await soon(async () =>
    assert.ok(await value("model", "effnetv2").getByRole("checkbox").isChecked()),
  );
  await page.goBack();
  await total(page, "9 runs");
  await page.getByTestId("facets-clear").click();
  await total(page, `${kRuns + 2} runs`);
  await page.waitForURL(`${home.url}/`);
  assert.deepEqual(complaints, []);
  await close();
});

test("columns are sorted, added, moved and sized, and the browser remembers them", async () => {
  const { page, complaints, close } = await open(browser, home, "/?experiment=1");
  await first(page);
  const head = (column) => page.locator(`[data-testid=column][data-column="${column}"]`);
  await head("duration").getByRole("button").click();
  await until(page, () =>
    document.querySelector("[data-testid=run-row]")?.textContent.includes("sweep-259"),
  );
  await head("duration").getByRole("button").click();
  await until(page, () =>
    document.querySelector("[data-testid=run-row]")?.textContent.includes("sweep-0"),
  );
  await soon(async () =>
    assert.equal(await head("duration").getAttribute("aria-sort"), "ascending"),
  );
  await page.getByTestId("columns-button").click();
  await page.getByLabel("Find a column").fill("lr");
  await page.locator('[data-testid=column-offer][data-column="params.lr"]').click();
  await page.getByLabel("Find a column").fill("loss max");
  await page.locator('[data-testid=column-offer][data-column="metrics.loss.max"]').click();
  await page.keyboard.press("Escape");
  await until(
    page,
    () => document.querySelector('[role=gridcell][data-column="metrics.loss.max"]')?.textContent,
  );
  await soon(async () => {
    assert.equal((await cells(page, "params.lr"))[0], "0.01");
    assert.equal((await cells(page, "metrics.loss.max"))[0], "0.004");
  });
  await head("params.lr").getByRole("button").click();
  await head("loss")
    .getByRole("button")
    .click({ modifiers: ["Shift"] });
  await until(page, () =>
    document.querySelector("[data-testid=run-row]")?.textContent.includes("sweep-0"),
  );
  await says(page, "sort", ["params.lr", "metrics.loss"]);
  await atRest(page);
  await head("params.lr").getByRole("button").dragTo(head("status"));
  await page.waitForURL(/col=params.lr&col=status/);
  await atRest(page);
  const width = async () => (await head("name").boundingBox()).width;
  const before = await width();
  const edge = await head("name").getByTestId("column-edge").boundingBox();
  await page.mouse.move(edge.x + 4, edge.y + 10);
  await page.mouse.down();
  await page.mouse.move(edge.x + 54, edge.y + 10, { steps: 3 });
  await page.mouse.up();
  await page.waitForURL(/col=name%3A\d+/);
  await soon(async () => assert.ok(Math.abs((await width()) - before - 50) < 3));
  const shown = await titles(page);
  await page.goto(`${home.url}/`);
  await first(page);
  await soon(async () => assert.deepEqual(await titles(page), shown));
  await page.getByTestId("columns-button").click();
  await page.getByText("back to the default").click();
  await until(
    page,
    () => document.querySelector("[data-testid=column]").dataset.column === "status",
  );
  assert.deepEqual(complaints, []);
  await close();
});

test("rows are fetched as they come in sight, with their sparklines", async () => {
  const { page, complaints, close } = await open(browser, home, "/?experiment=1");
  const asked = [];
  page.on("request", (request) => {
    if (request.url().endsWith("/runs/search")) asked.push(request.postDataJSON().offset ?? 0);
  });
  await first(page);
  await page.getByTestId("trend").first().waitFor();
  await soon(async () =>
    assert.match(
      await page.getByTestId("trend").first().getAttribute("aria-label"),
      /^loss: first 1\.04, last 0\.26/,
    ),
  );
  await atRest(page);
  assert.ok(!asked.includes(200), asked.join());
  await page.getByTestId("runs-table").focus();
  await page.keyboard.press("End");
  await until(
    page,
    (row) => document.querySelector(`[aria-rowindex="${row}"][data-run]`) !== null,
    kRuns + 1,
  );
  assert.ok(asked.includes(200), asked.join());
  await soon(async () =>
    assert.ok((await page.getByTestId("run-row").count()) < 80, "only rows in sight exist"),
  );
  assert.deepEqual(complaints, []);
  await close();
});

test("keyboard and mouse select; the basket stays, in every tab; clearing can be undone", async () => {
  const { page, complaints, close } = await open(browser, home, "/?experiment=1");
  await first(page);
  await page.getByTestId("runs-table").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Space");
  await selected(page, "1 run");
  for (const key of ["Shift+ArrowDown", "Shift+ArrowDown", "Shift+ArrowUp"])
    await page.keyboard.press(key);
  await selected(page, "2 runs");
  await page.keyboard.press("Home");
  await page.keyboard.press("Shift+End");
  await selected(page, `${kRuns} runs`);
  await page.getByTestId("all-check").click();
  await selected(page, "0 runs");
  await page.keyboard.press("Home");
  await page.getByTestId("runs-table").focus();
  await page.keyboard.press("Home");
  await until(page, () => document.querySelector('[aria-rowindex="2"][data-run]') !== null);
  await page.locator('[aria-rowindex="3"]').getByTestId("run-check").click();
  await page
    .locator('[aria-rowindex="6"]')
    .getByTestId("run-check")
    .click({ modifiers: ["Shift"] });
  await selected(page, "4 runs");
  await page.reload();
  await selected(page, "4 runs");
  const other = await page.context().newPage();
  await other.goto(`${home.url}/`);
  await selected(other, "4 runs");
  await other.getByTestId("basket-clear").click();
  await selected(page, "0 runs");
  await other.getByTestId("undo").click();
  await selected(page, "4 runs");
  await page.getByTestId("basket-remove").first().click();
  await selected(page, "0 runs");
  assert.deepEqual(complaints, []);
  await close();
});

test("the tree selects whole workloads and parts of them, and the board takes both", async () => {
  const { page, complaints, close } = await open(browser, home, "/");
  await first(page);
  await page.getByRole("button", { name: "Workloads of pairs" }).click();
  const workload = page.getByTestId("tree-workload");
  await workload.getByRole("checkbox").click();
  await selected(page, "2 runs");
  await soon(async () =>
    assert.match(
      await page.getByTestId("compare").getAttribute("href"),
      /^\/board\?workload=[0-9a-f]{32}$/,
    ),
  );
  await workload.getByRole("button").click();
  await page.getByTestId("tree-run").first().getByRole("checkbox").click();
  await selected(page, "1 run");
  await soon(async () =>
    assert.ok(await workload.getByRole("checkbox").evaluate((box) => box.indeterminate)),
  );
  await page.getByRole("button", { name: "Workloads of sweep" }).click();
  await page.getByTestId("tree-own").getByRole("link").click();
  await total(page, `${kRuns} runs`);
  await says(page, "workload", "none");
  await page.getByTestId("run-check").first().click();
  await selected(page, "2 runs");
  await page.getByTestId("compare").click();
  await page.waitForURL(/\/board\?/);
  await page.goBack();
  await selected(page, "2 runs");
  assert.deepEqual(complaints, []);
  await close();
});

test("the list leaves as CSV with the columns shown", async () => {
  const { page, complaints, close } = await open(
    browser,
    home,
    "/?q=sweep-25&col=name&col=params.lr&col=loss&sort=name",
  );
  await total(page, "11 runs");
  const download = page.waitForEvent("download");
  await page.getByTestId("export-csv").click();
  const lines = readFileSync(await (await download).path(), "utf8")
    .trim()
    .split("\r\n");
  assert.equal(lines[0], "run,name,params.lr,loss");
  assert.equal(lines.length, 12);
  assert.match(lines[1], /^[0-9a-f]{32},sweep-25,0\.1,0\.026$/);
  assert.deepEqual(complaints, []);
  await close();
});

test("an experiment at a glance: a matrix whose cells open boards", async () => {
  const { page, complaints, close } = await open(browser, home, "/experiments/1?rows=model");
  await page.getByTestId("matrix-link").first().waitFor();
  await soon(async () => {
    assert.equal(await page.getByTestId("matrix-row").count(), 3);
    assert.equal(await page.getByTestId("matrix-cell").count(), 6);
  });
  const cell = page
    .getByTestId("matrix-row")
    .filter({ hasText: "resnet50" })
    .getByTestId("matrix-link")
    .first();
  await soon(async () => assert.match(await cell.textContent(), /^0\.\d+44 runs$/));
  await page.getByTestId("summary").selectOption("max");
  await page.waitForURL(/of=max/);
  await until(page, () => document.querySelector(".overview-body h2").textContent === "loss, max");
  await page.getByTestId("own-runs").getByRole("checkbox").first().click();
  await selected(page, "1 run");
  await page.getByRole("button", { name: "by workload" }).click();
  await until(page, () => document.querySelectorAll("[data-testid=matrix-row]").length === 1);
  await soon(async () =>
    assert.match(await page.getByTestId("overview-counts").textContent(), /^260 runs/),
  );
  await page.getByTestId("matrix-link").first().click();
  await page.waitForURL(/\/board\?/);
  assert.deepEqual(complaints, []);
  await close();
});

for (const colorScheme of ["light", "dark"]) {
  test(`no accessibility violation, hostile names stay text, ${colorScheme}`, async () => {
    const { page, complaints, close } = await open(browser, home, "/?q=onerror", { colorScheme });
    await total(page, "1 run");
    await page.getByTestId("run-check").click();
    await selected(page, "1 run");
    await atRest(page);
    assert.deepEqual(await violations(page), []);
    await page.goto(`${home.url}/experiments/1`);
    await page.getByTestId("matrix-link").first().waitFor();
    await atRest(page);
    assert.deepEqual(await violations(page), []);
    assert.equal(await page.evaluate(() => window.pwned), undefined);
    assert.deepEqual(complaints, []);
    await close();
  });
}
