// Exports of a board show what the board shows, files of radT's page open on any page, a region is compared with the
// same phase of another run. In a real Chromium over real trainings.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { atRest, chartsDrawn, Home, launch, open, soon, until, violations } from "./support.mjs";

const home = new Home();
let browser;
const id = {};

const kBegin = 1_700_000_000_000;

// A run of half a minute, a point of each metric every 100 ms.
async function logged(name, experiment_id, bend) {
  const begun = await home.mlflow("runs/create", { experiment_id, run_name: name, start_time: kBegin });
  const run_id = begun.run.info.run_id;
  const steps = Array.from({ length: 300 }, (_, step) => step);
  const metrics = steps.flatMap((step) => {
    const at = { timestamp: kBegin + step * 100, step };
    const loss = 1 / (1 + step * bend) + (step % 7) * 0.01;
    return [
      { key: "loss", value: loss, ...at },
      { key: "accuracy", value: 1 - loss / 2, ...at },
    ];
  });
  await home.mlflow("runs/log-batch", { run_id, metrics });
  await home.mlflow("runs/update", { run_id, status: "FINISHED", end_time: kBegin + 30_000 });
  id[name] = run_id;
}

before(async () => {
  [browser] = await Promise.all([launch(), home.serve()]);
  const { experiment_id } = await home.mlflow("experiments/create", { name: "digits" });
  await logged("one", experiment_id, 0.02);
  await logged("two", experiment_id, 0.05);
});

after(async () => {
  await browser?.close();
  await home.close();
});

async function board(extra) {
  const opened = await open(browser, home, `/board?run=${id.one}&run=${id.two}${extra}`);
  await chartsDrawn(opened.page);
  await atRest(opened.page);
  return opened;
}

// The offline file of the board, opened where there is no network.
async function takenAway(page) {
  await page.getByTestId("share").click();
  const coming = page.waitForEvent("download");
  await page.getByRole("button", { name: "Offline HTML" }).click();
  const html = readFileSync(await (await coming).path(), "utf8");
  const context = await browser.newContext({ offline: true });
  const offline = await context.newPage();
  const wrong = [];
  offline.on("pageerror", (error) => wrong.push(String(error)));
  offline.on("console", (message) => message.type() === "error" && wrong.push(message.text()));
  await offline.setContent(html);
  await offline.locator("canvas").first().waitFor();
  return { offline, html, wrong, close: () => context.close() };
}

const says = (page, pattern) =>
  until(
    page,
    (source) =>
      [...document.querySelectorAll("canvas")].some((canvas) =>
        new RegExp(source).test(canvas.ariaLabel ?? ""),
      ),
    pattern,
  );

test("an offline page has groups with their bands, a second axis, small plots and a baseline", async () => {
  const grouped = await board(
    "&x=run&metric=loss~with:accuracy&metric=accuracy~multiples&group=experiment",
  );
  const { offline, wrong, close } = await takenAway(grouped.page);
  await says(offline, "^loss\\. digits: last .*accuracy digits: last ");
  const data = await offline.evaluate(() =>
    JSON.parse(document.getElementById("data").textContent),
  );
  const [loss, accuracy] = data.charts;
  assert.deepEqual(loss.second, { name: "accuracy", unit: "" });
  const [group, second] = loss.layers[0].lines;
  assert.equal(group.note, "n = 2");
  // Values and both ends of the band, of 1,024 columns.
  assert.equal(Buffer.from(group.curve.data, "base64").length, 3 * 1024 * 8);
  assert.equal(second.axis, 1);
  assert.equal(accuracy.kind, "multiples");
  assert.deepEqual(wrong, []);
  await close();
  await grouped.close();

  const compared = await board(`&x=run&metric=loss&base=${id.one}&compare=difference`);
  const other = await takenAway(compared.page);
  await says(other.offline, "^loss − one\\. one: last 0,.*two: last ");
  await other.close();
  assert.deepEqual(compared.complaints, []);
  await compared.close();
});

// Zooms an offline chart by dragging over a part of its plot; the pointer ends in the middle of it.
async function dragged(page, canvas, [from, to]) {
  const box = await canvas.boundingBox();
  const plot = JSON.parse(await canvas.getAttribute("data-plot"));
  const x = (part) => box.x + plot.x + part * plot.width;
  await page.mouse.move(x(from), box.y + 60);
  await page.mouse.down();
  await page.mouse.move(x(to), box.y + 60, { steps: 4 });
  await page.mouse.up();
}

test("an offline page of a zoomed board shows the same range, finely, and goes back to all", async () => {
  const { page, close } = await board("&x=run&metric=loss&smooth=mean:2&from=10&to=20");
  const taken = await takenAway(page);
  const { offline } = taken;
  const data = await offline.evaluate(() =>
    JSON.parse(document.getElementById("data").textContent),
  );
  const [chart] = data.charts;
  assert.deepEqual([chart.from, chart.to], [10, 20]);
  assert.equal(chart.layers.length, 2);
  assert.deepEqual([chart.layers[1].from, chart.layers[1].to], [10, 20]);
  assert.ok(chart.layers[0].lines[0].columns.points > chart.layers[1].lines[0].columns.points);
  const canvas = offline.locator("canvas").first();
  const zoomed = await canvas.screenshot();
  await canvas.dblclick();
  await soon(async () => assert.ok(!zoomed.equals(await canvas.screenshot())));
  await dragged(offline, canvas, [0.2, 0.5]);
  // The pointer rests in the middle of the plot, which is another moment now.
  const [at, from, to] = await offline.evaluate(() => {
    const seconds = (text) => text.split(":").reduce((sum, part) => sum * 60 + Number(part), 0);
    const shown = JSON.parse(document.querySelector("canvas").dataset.range);
    return [seconds(document.querySelector(".reading").textContent.split(" ")[0]), ...shown];
  });
  assert.ok(to - from < 12, `${from} to ${to}`);
  assert.ok(Math.abs(at - (from + to) / 2) < 0.2, `${at} of ${from} to ${to}`);
  // A name hides its line.
  const name = offline.locator(".line-name").first();
  await name.click();
  await until(offline, () => document.querySelector(".line-name[aria-pressed=false]") !== null);
  assert.deepEqual(taken.wrong, []);
  await taken.close();
  await close();
});

// As radT's page writes it, of a run that is here and one that is not.
const radtFile = () => {
  const points = (values, offset) =>
    values.map((value, i) => ({ timestamp: 1700000000000 + offset + i * 1000, value, step: 0 }));
  const run = (name, letter, data) => ({
    name,
    letter,
    workload: "3-1",
    experimentName: "x",
    data,
  });
  const runs = [
    run(id.one, "A", points([4, 3, 2, 1], 0)),
    run("f".repeat(32), "B", points([9, 8, 7], 2000)),
  ];
  const context = {
    smoothing: 50,
    shownRuns: ["3-1"],
    hiddenSeries: ["3-1 B (fffff)"],
    range: { min: 1000, max: 3000 },
  };
  return [{ id: 1, metric: "loss", data: runs, context }];
};

const fileOf = (value) => ({
  name: "data_2026-11-21T10_00_00.000Z.json",
  mimeType: "application/json",
  buffer: Buffer.from(typeof value === "string" ? value : JSON.stringify(value)),
});

test("a file of radT's page opens on the list of runs, with a link to a board of the runs that are here", async () => {
  const { page, complaints, close } = await open(browser, home, "/");
  await page.getByTestId("run-row").first().waitFor();
  await page.getByTestId("open-any").setInputFiles(fileOf(radtFile()));
  const dialog = page.getByTestId("opened");
  await dialog.waitFor();
  await says(page, "^loss\\. 3-1 A.*: last 2[.]75");
  const hidden = dialog.locator(".line-name[aria-pressed=false]");
  await hidden.waitFor();
  assert.match(await hidden.getAttribute("aria-label"), /^3-1 B \(fffff\), hidden/);
  assert.match(await dialog.innerText(), /moving average by point, 50 %/);
  assert.deepEqual(await violations(page), []);
  await dialog.getByRole("link", { name: /1 of them/ }).click();
  await chartsDrawn(page);
  const search = new URL(page.url()).searchParams;
  assert.deepEqual(search.getAll("run"), [id.one]);
  assert.deepEqual(search.getAll("metric"), ["loss"]);
  assert.equal(await page.getByTestId("opened").count(), 0);
  assert.deepEqual(complaints, []);
  await close();
});

test("a file that is dropped opens, and a broken one is reported with the place", async () => {
  const { page, complaints, close } = await open(browser, home, `/runs/${id.one}`);
  await chartsDrawn(page);
  const drop = (value) =>
    page.evaluate((text) => {
      const data = new DataTransfer();
      data.items.add(new File([text], "data.json", { type: "application/json" }));
      for (const name of ["dragover", "drop"])
        window.dispatchEvent(new DragEvent(name, { dataTransfer: data, cancelable: true }));
    }, value);
  const broken = radtFile();
  delete broken[0].data[1].data[2].timestamp;
  await drop(JSON.stringify(broken));
  const alert = page.locator(".wrong-file");
  await alert.waitFor();
  assert.match(await alert.innerText(), /chart\[0\]\.data\[1\]\.data\[2\]\.timestamp is not a number/);
  await drop('[{"id": 1,');
  await soon(async () => assert.match(await alert.innerText(), /invalid JSON.*position|invalid JSON.*JSON/s));
  await drop(JSON.stringify(radtFile()));
  await page.getByTestId("opened").waitFor();
  assert.equal(await alert.count(), 0);
  await page.getByTestId("opened").getByRole("button", { name: "Close" }).click();
  await drop(JSON.stringify({ corral: 1, path: `/board?run=${id.two}` }));
  await soon(() => assert.equal(new URL(page.url()).searchParams.get("run"), id.two));
  assert.deepEqual(complaints, []);
  await close();
});

test("a region is compared with the same epoch of another run", async () => {
  for (const [name, width] of [
    ["narrow", 8],
    ["wide", 16],
  ]) {
    const training = home.train(name, name, { epochs: 4, width });
    assert.equal(await training.ended, 0, training.output());
  }
  const runs = Object.fromEntries((await home.runs()).map((run) => [run.name, run]));
  const { narrow, wide } = runs;
  const phases = await fetch(`${home.url}/api/corral/v1/runs/${narrow.id}/phases`);
  const epochs = (await phases.json()).phases.filter(({ name }) => /^epoch/i.test(name));
  const at = (ns) => Number(BigInt(ns) - BigInt(narrow.start_ns)) / 1e9;
  const region = `${at(epochs[1].start_ns)}..${at(epochs[1].end_ns)}`;
  const address = `/board?run=${narrow.id}&run=${wide.id}&x=run&metric=loss&sel=${region}`;
  const { page, complaints, close } = await open(browser, home, address);
  await until(page, () => {
    const select = document.querySelector("[data-testid=changes-against]");
    return [...(select?.options ?? [])].some(({ text }) => / of wide$/.test(text));
  });
  const asked = page.waitForRequest(
    (one) => one.url().endsWith("/changes") && /"reference"/.test(one.postData() ?? ""),
  );
  await page.getByTestId("changes-against").selectOption(wide.id);
  const { reference } = (await asked).postDataJSON();
  assert.equal(reference.run, wide.id);
  assert.equal(reference.phase, epochs[1].name);
  await until(page, () => document.querySelectorAll("[data-testid=changes] li").length > 0);
  assert.deepEqual(complaints, []);
  await close();
});

test("a region of steps is compared with the same steps of the baseline", async () => {
  const { page, complaints, close } = await board(`&x=step&metric=loss&sel=50..150&base=${id.two}`);
  const against = page.getByTestId("changes-against");
  await against.waitFor();
  // The baseline of the board is the choice before there is one.
  assert.equal(await against.inputValue(), id.two);
  await until(page, () => document.querySelectorAll("[data-testid=changes] li").length === 2);
  await against.selectOption("");
  await until(page, () => document.querySelectorAll("[data-testid=changes] li").length === 4);
  assert.deepEqual(complaints, []);
  await close();
});

test("a chart's picture, SVG and CSV go to the clipboard", async () => {
  const { page, complaints, close } = await board("&x=run&metric=loss");
  await page
    .context()
    .grantPermissions(["clipboard-read", "clipboard-write"], { origin: home.url });
  await page.locator('[data-testid=chart][data-metric="loss"]').getByTestId("chart-menu").click();
  await page.getByTestId("chart-export").click();
  await page.getByTestId("workshop").waitFor();
  const text = () => page.evaluate(() => navigator.clipboard.readText());
  await page.getByTestId("copy-csv").click();
  await soon(async () => assert.match(await text(), /^line,kind,run time,value,/));
  await page.getByTestId("copy-svg").click();
  await soon(async () => assert.match(await text(), /^<svg.*data sha256:[0-9a-f]{64}/s));
  await page.getByTestId("copy-png").click();
  await soon(async () => {
    const types = await page.evaluate(async () => (await navigator.clipboard.read())[0].types);
    assert.deepEqual(types, ["image/png"]);
  });
  assert.deepEqual(complaints, []);
  await close();
});
