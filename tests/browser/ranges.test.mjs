// Axes of charts in a real Chromium: outliers left out, fixed and logarithmic values, the minimap dragged,
// zooming out; and what is taken away: every point, and figures in other palettes.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { atRest, Home, launch, open, shownCharts, soon, violations } from "./support.mjs";

const home = new Home();
const kPoints = 400;
let browser;
let run;

before(async () => {
  [browser] = await Promise.all([launch(), home.serve()]);
  const start = Date.now() - 1_000_000;
  const { experiment_id } = await home.mlflow("experiments/create", { name: "ranges" });
  const made = await home.mlflow("runs/create", { experiment_id, start_time: start });
  run = made.run.info.run_id;
  // One outlier, one value that no logarithm shows.
  const value = (i) => (i === 200 ? 5e6 : i === 100 ? -2 : 1 + (i % 10));
  await home.mlflow("runs/log-batch", {
    run_id: run,
    metrics: Array.from({ length: kPoints }, (_, i) => {
      return { key: "spiky", value: value(i), timestamp: start + i * 1000, step: i };
    }),
  });
  await home.mlflow("runs/update", { run_id: run, status: "FINISHED", end_time: Date.now() });
});

after(async () => {
  await browser?.close();
  await home.close();
});

async function board(metric = "spiky") {
  const opened = await open(browser, home, `/board?run=${run}&metric=${metric}`);
  await opened.page.getByTestId("chart").waitFor();
  await atRest(opened.page);
  return opened;
}

async function download(page, act) {
  const [file] = await Promise.all([page.waitForEvent("download"), act()]);
  return readFileSync(await file.path()).toString();
}

// The figure of the only chart.
async function figure(page, look = async () => {}) {
  await page.getByTestId("chart-menu").click();
  await page.getByTestId("chart-export").click();
  const workshop = page.getByTestId("workshop");
  await workshop.waitFor();
  await look(workshop);
  const svg = await download(page, () => page.getByTestId("export-svg").click());
  await page.keyboard.press("Escape");
  return svg;
}

// The labels of the axis of values, as a figure has them.
const labels = (svg) =>
  [...svg.matchAll(/<text[^>]*text-anchor="end"[^>]*>([^<]*)</g)].map(([, text]) => text);
const badge = (page) => page.getByTestId("chart-badge").textContent();

test("outliers are left out on request, and are counted", async () => {
  const { page, complaints, close } = await board();
  assert.ok(
    labels(await figure(page)).some((text) => /M/.test(text)),
    "millions at first",
  );
  await page.getByTestId("chart-menu").click();
  await page.getByRole("combobox", { name: "Values" }).selectOption("clip");
  await page.keyboard.press("Escape");
  await soon(async () => assert.match(await badge(page), /\d columns? beyond/));
  const found = labels(await figure(page));
  assert.ok(found.length >= 2 && found.every((text) => !/M|k/.test(text)), found.join());
  assert.deepEqual(complaints, []);
  await close();
});

test("values are fixed, or logarithmic, and what they hide is counted", async () => {
  const fixed = await board("spiky~y:0..20");
  const found = labels(await figure(fixed.page));
  assert.ok(found.includes("20") && found.includes("0"), found.join());
  assert.match(await badge(fixed.page), /2 columns beyond/);
  await fixed.close();
  const log = await board("spiky~log");
  const powers = labels(await figure(log.page));
  const numbers = powers.filter((text) => /\d/.test(text));
  assert.ok(numbers.length >= 3, powers.join());
  assert.ok(!numbers.includes("0"), powers.join());
  assert.match(await badge(log.page), /1 column with values ≤ 0 left out/);
  await log.close();
});

const range = (page) => {
  const { searchParams } = new URL(page.url());
  return { from: Number(searchParams.get("from")), to: Number(searchParams.get("to")) };
};

test("a live run shorter than a finished one beside it is drawn on", async () => {
  const { experiment_id } = await home.mlflow("experiments/create", { name: "beside" });
  const start = Date.now() - 60_000;
  const made = await home.mlflow("runs/create", { experiment_id, start_time: start });
  const run_id = made.run.info.run_id;
  const log = (first, count) => {
    const metrics = Array.from({ length: count }, (_, i) => {
      return { key: "spiky", value: 2, timestamp: start + (first + i) * 10, step: first + i };
    });
    return home.mlflow("runs/log-batch", { run_id, metrics });
  };
  await log(0, 50);
  const path = `/board?run=${run}&run=${run_id}&metric=spiky&x=step`;
  const { page, complaints, close } = await open(browser, home, path);
  const points = async () => (await shownCharts(page)).spiky?.points;
  await soon(async () => assert.equal(await points(), kPoints + 50));
  const before = (await shownCharts(page)).spiky;
  await log(50, 70);
  await soon(async () => assert.equal(await points(), kPoints + 120));
  const { from, to } = (await shownCharts(page)).spiky;
  assert.deepEqual([from, to], [before.from, before.to]);
  await home.mlflow("runs/update", { run_id, status: "FINISHED", end_time: Date.now() });
  assert.deepEqual(complaints, []);
  await close();
});

test("the minimap is dragged: its window moves, its edge widens, a double-click ends it", async () => {
  const { page, complaints, close } = await open(
    browser,
    home,
    `/board?run=${run}&metric=spiky&from=100&to=140`,
  );
  const slider = page.getByRole("slider", { name: "Shown range" });
  await slider.waitFor();
  await atRest(page);
  const drag = async (part, by) => {
    const box = await slider.boundingBox();
    const [x, y] = [box.x + box.width * part, box.y + box.height / 2];
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x + by, y, { steps: 4 });
    await page.mouse.up();
  };
  await drag(0.5, 200);
  await soon(() => assert.ok(range(page).from > 140, page.url()));
  await atRest(page);
  const moved = range(page);
  assert.ok(Math.abs(moved.to - moved.from - 40) < 0.1, "as wide as before");
  await drag(0.99, 100);
  await soon(() => assert.ok(range(page).to > moved.to + 5, page.url()));
  assert.ok(Math.abs(range(page).from - moved.from) < 0.1);
  await slider.dblclick();
  await soon(() => assert.equal(new URL(page.url()).searchParams.get("from"), null));
  assert.deepEqual(complaints, []);
  await close();
});

test("one zooms out a bit: by S, by -, and by Ctrl and the wheel", async () => {
  const { page, complaints, close } = await open(
    browser,
    home,
    `/board?run=${run}&metric=spiky&from=150&to=160`,
  );
  await page.getByTestId("chart").waitFor();
  await atRest(page);
  const surface = page.locator(".surface").first();
  const wider = async (act) => {
    const before = range(page);
    await surface.hover();
    await act();
    await soon(() => {
      const { from, to } = range(page);
      assert.ok(from < before.from && to > before.to, page.url());
    });
    await atRest(page);
  };
  await wider(() => page.keyboard.press("s"));
  await wider(() => page.keyboard.press("-"));
  await wider(async () => {
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, 200);
    await page.keyboard.up("Control");
  });
  assert.deepEqual(complaints, []);
  await close();
});

test("the colours of lines are chosen, stay, and are those of every tab", async () => {
  const { page, complaints, close } = await board();
  const okabe = "rgb(0, 114, 178)";
  const used = () =>
    page.evaluate(() =>
      [...document.querySelectorAll(".line-colours .swatches > i")].map(
        (one) => getComputedStyle(one).backgroundColor,
      ),
    );
  assert.ok(!(await used()).includes(okabe));
  const pixels = () =>
    page.locator("[data-testid=chart] canvas").first().evaluate((canvas) => canvas.toDataURL());
  const before = await pixels();
  await page.getByTestId("line-colours").click();
  await page.getByLabel("Okabe and Ito").check();
  await soon(async () => assert.ok((await used()).includes(okabe)));
  await soon(async () => assert.notEqual(await pixels(), before));
  assert.deepEqual(await violations(page), []);
  const other = await page.context().newPage();
  await other.goto(`${home.url}/`);
  await other.getByTestId("line-colours").click();
  assert.ok(await other.getByLabel("Okabe and Ito").isChecked());
  await other.getByLabel("Corral", { exact: true }).check();
  await soon(async () => assert.equal(await pixels(), before));
  assert.deepEqual(complaints, []);
  await close();
});

test("every point leaves as CSV, and a figure in the palette that was chosen", async () => {
  const { page, complaints, close } = await board();
  const plain = await figure(page);
  const other = await figure(page, (workshop) =>
    workshop.getByLabel("Colours").selectOption("okabe-ito"),
  );
  assert.doesNotMatch(plain, /#0072b2/i);
  assert.match(other, /#0072b2/i);
  await page.getByTestId("chart-menu").click();
  await page.getByTestId("chart-export").click();
  await page.getByText("All points as CSV").click();
  const csv = await download(page, () => page.getByRole("link", { name: /: spiky$/ }).click());
  const rows = csv.trim().split(/\r?\n/);
  assert.equal(rows.length, kPoints + 1);
  assert.ok(
    rows.some((row) => /(^|,)5000000(\.0*)?(,|$)/.test(row)),
    rows[201],
  );
  assert.deepEqual(complaints, []);
  await close();
});
