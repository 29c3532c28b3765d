// Expressions over metrics on a board, in a real Chromium over real trainings: written, corrected, drawn, zoomed, in the
// address, in a saved board and in the CSV.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { atRest, Home, launch, open, soon, until, violations } from "./support.mjs";

// One value per step: the expressions below are exact in every column of a single step.
const kTraining = `
import sys, time, corral
factor = float(sys.argv[1])
for step in range(200):
    corral.log({"loss": factor * (step + 1), "speed": step + 1.0, "odd - name": 7.0}, step=step)
    time.sleep(0.002)
`;
const kRatio = "loss / speed";
const home = new Home();
let browser;
const id = {};
let all;

before(async () => {
  [browser] = await Promise.all([launch(), home.serve()]);
  writeFileSync(join(home.folder, "train.py"), kTraining);
  for (const [name, factor] of Object.entries({ two: "2", three: "3" })) {
    const training = home.start("run", "--name", name, "train.py", factor);
    assert.equal(await training.ended, 0, training.output());
  }
  for (const run of await home.runs()) id[run.name] = run.id;
  all = `/board?run=${id.two}&run=${id.three}&x=step`;
});

after(async () => {
  await browser?.close();
  await home.close();
});

async function board(extra, options) {
  const opened = await open(browser, home, all + extra, options);
  await opened.page.getByTestId("chart").first().waitFor();
  await atRest(opened.page);
  return opened;
}

const chart = (page, name) =>
  page.locator(`[data-testid=chart][data-metric="${name.replaceAll('"', '\\"')}"]`);
const metrics = (page) => new URL(page.url()).searchParams.getAll("metric");

// The least and greatest value of a chart's lines, of which there are so many, as its table has them.
async function extremes(page, name, lines = 2) {
  await chart(page, name).getByTestId("chart-menu").click();
  await page.getByRole("button", { name: "Table" }).click();
  const table = page.getByTestId("chart-table");
  await table.locator("thead th").nth(lines).waitFor();
  const names = await table.locator("thead th").allTextContents();
  const least = await table.locator("tbody tr").nth(0).locator("td").allTextContents();
  const greatest = await table.locator("tbody tr").nth(1).locator("td").allTextContents();
  await page.getByRole("button", { name: "Close" }).click();
  return Object.fromEntries(names.slice(1).map((line, i) => [line, [least[i], greatest[i]]]));
}

test("an expression is written, corrected where it is wrong, and drawn for every run", async () => {
  const { page, complaints, close } = await board("&metric=loss");
  await page.getByTestId("add-expression").click();
  const field = page.getByTestId("expression");
  await field.fill("loss / sped");
  await field.press("Enter");
  await page.getByTestId("expression-wrong").waitFor();
  assert.equal(
    await page.getByTestId("expression-wrong").textContent(),
    "column 8: no metric 'sped'; did you mean 'speed'?",
  );
  assert.equal(await field.getAttribute("aria-invalid"), "true");
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(metrics(page), ["loss"]);
  await page.getByRole("button", { name: "speed", exact: true }).click();
  assert.equal(await field.inputValue(), kRatio);
  await field.press("Enter");
  await chart(page, kRatio).waitFor();
  await atRest(page);
  assert.deepEqual(metrics(page), ["loss", kRatio]);
  const badge = await chart(page, kRatio).getByTestId("chart-badge").textContent();
  assert.match(badge, /computed per column · exact/);
  assert.deepEqual(await extremes(page, kRatio), { two: ["2", "2"], three: ["3", "3"] });
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(complaints, []);
  await close();
});

test("the address keeps an expression, its menu changes it, and one that is wrong is told in its place", async () => {
  const words = encodeURIComponent("`odd - name` * 2");
  const wrong = encodeURIComponent("loss * los");
  const { page, complaints, close } = await board(`&metric=${words}&metric=${wrong}`);
  assert.deepEqual(await extremes(page, "`odd - name` * 2"), {
    two: ["14", "14"],
    three: ["14", "14"],
  });
  const told = await page.getByTestId("wrong-expression").textContent();
  assert.match(told, /Not drawn: loss \* los: column 8: no metric 'los'; did you mean 'loss'\?/);
  await chart(page, "`odd - name` * 2").getByTestId("chart-menu").click();
  const field = page.getByTestId("expression");
  await field.fill("cumsum(speed) - speed ^ 2 / 2");
  await field.press("Enter");
  await chart(page, "cumsum(speed) - speed ^ 2 / 2").waitFor();
  await page.keyboard.press("Escape");
  await atRest(page);
  // Half of n: the sum of 1 to n without its squares.
  assert.deepEqual((await extremes(page, "cumsum(speed) - speed ^ 2 / 2")).two, ["0.5", "100"]);
  await page.reload();
  await chart(page, "cumsum(speed) - speed ^ 2 / 2").waitFor();
  assert.deepEqual(complaints, []);
  await close();
});

test("a rate is that of the points on the axis of time, and groups and baselines take expressions", async () => {
  const { page, complaints, close } = await board(
    `&metric=${encodeURIComponent("rate(speed)")}&metric=${encodeURIComponent(kRatio)}`,
  );
  assert.deepEqual((await extremes(page, "rate(speed)")).two, ["1", "1"]);
  await page.goto(`${page.url()}&group=experiment`);
  await chart(page, kRatio).waitFor();
  await atRest(page);
  const [[least, greatest]] = Object.values(await extremes(page, kRatio, 1));
  // The band from 2 to 3 belongs to it.
  assert.deepEqual([least, greatest], ["2", "3"]);
  await page.goto(`${home.url}${all}&metric=${encodeURIComponent(kRatio)}&base=${id.two}`);
  await chart(page, kRatio).waitFor();
  await atRest(page);
  assert.deepEqual((await extremes(page, kRatio)).three, ["1.5", "1.5"]);
  assert.deepEqual(complaints, []);
  await close();
});

test("the CSV of an expression says what was computed", async () => {
  const { page, complaints, close } = await board(`&metric=${encodeURIComponent(kRatio)}`);
  await chart(page, kRatio).getByTestId("chart-menu").click();
  await page.getByTestId("chart-export").click();
  const saved = page.waitForEvent("download");
  await page.getByTestId("export-csv").click();
  const rows = readFileSync(await (await saved).path(), "utf8").split("\r\n");
  assert.equal(rows[0], "line,kind,step,value,low,low_at,high,high_at,last,last_at,points");
  assert.match(rows[1], /^two,computed: loss \/ speed,0\.\d+,2,,,,,,,$/);
  assert.deepEqual(complaints, []);
  await close();
});

test("expressions wait where the axis has no columns of time or steps", async () => {
  const { page, close } = await board(`&metric=loss&metric=${encodeURIComponent(kRatio)}`);
  await page.goto(page.url().replace("x=step", "x=epoch"));
  await chart(page, kRatio).getByTestId("told").waitFor();
  assert.equal(
    await chart(page, kRatio).getByTestId("told").textContent(),
    "an expression needs an axis of time, steps or a metric",
  );
  await until(page, () => !document.body.textContent.includes("Something went wrong"));
  await close();
});

// The rows of a chart's CSV: line, kind, x and value.
async function drawnRows(page, name) {
  await chart(page, name).getByTestId("chart-menu").click();
  await page.getByTestId("chart-export").click();
  const saved = page.waitForEvent("download");
  await page.getByTestId("export-csv").click();
  const [head, ...rows] = readFileSync(await (await saved).path(), "utf8").trim().split("\r\n");
  await page.keyboard.press("Escape");
  return { head, rows: rows.map((row) => row.split(",")) };
}

test("an expression is the axis, and is drawn over one", async () => {
  const { page, complaints, close } = await board(`&metric=loss&metric=${encodeURIComponent(kRatio)}`);
  await page.getByTestId("axis-more").click();
  await page.getByTestId("axis-expression").click();
  const field = page.getByTestId("expression");
  await field.fill("sped * 2");
  await field.press("Enter");
  await page.getByTestId("expression-wrong").waitFor();
  await field.fill("speed * 2");
  await field.press("Enter");
  await until(page, () => new URL(location.href).searchParams.get("xmetric") === "speed * 2");
  await page.keyboard.press("Escape");
  await atRest(page);
  // 2 to 400, as far as columns of several points tell.
  const [from, to] = await chart(page, "loss")
    .locator("canvas")
    .evaluate(({ dataset }) => [Number(dataset.from), Number(dataset.to)]);
  assert.ok(from >= 2 && from < 20 && to > 380 && to < 401, `${from} to ${to}`);
  const { head, rows } = await drawnRows(page, "loss");
  assert.match(head, /^line,kind,speed \* 2,value,/);
  for (const [name, factor] of [["two", 1], ["three", 1.5]]) {
    const mine = rows.filter(([line, kind]) => line === name && kind === "computed: loss over speed * 2");
    assert.ok(mine.length > 20, `${name}: ${mine.length} pairs`);
    for (const [, , x, value] of mine) assert.ok(Math.abs(value - factor * x) < 1e-6, `${value} at ${x}`);
  }
  // The values of a place, and a zoom that asks for nothing that is known.
  const surface = chart(page, "loss").locator(".surface");
  await surface.hover();
  const tip = chart(page, "loss").getByTestId("pointer-values");
  await soon(async () => assert.match(await tip.textContent(), /two.*\d/));
  const asked = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await surface.focus();
  await page.keyboard.press("+");
  await until(page, () => new URL(location.href).searchParams.has("from"));
  await atRest(page);
  assert.deepEqual(asked.filter((path) => path.endsWith("/lines")), []);
  await page.keyboard.press("Escape");
  await atRest(page);
  const ratios = (await drawnRows(page, kRatio)).rows;
  assert.deepEqual(new Set(ratios.map(([line, , , value]) => `${line} ${Number(value)}`)), new Set(["two 2", "three 3"]));
  // An expression over a measured metric.
  await page.goto(`${page.url().replace(/xmetric=[^&]*/, "xmetric=speed")}&from=50&to=100`);
  await chart(page, kRatio).waitFor();
  await atRest(page);
  const { rows: measured } = await drawnRows(page, kRatio);
  assert.ok(measured.length > 40, `${measured.length} pairs`);
  for (const [name, kind, x, value] of measured) {
    assert.equal(kind, `computed: ${kRatio} over speed`);
    assert.ok(x >= 1 && x <= 200 && Number(value) === (name === "two" ? 2 : 3), `${value} at ${x}`);
  }
  assert.deepEqual(complaints, []);
  await close();
});
