// A board of several runs in a real Chromium over real trainings: axes, smoothing, groups, baseline, regions, marks,
// boards kept on the server, exports and shares. Each test starts with what a reader does and ends with what is
// on the screen or in the file.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import {
  atRest,
  chartsDrawn,
  Home,
  launch,
  open,
  shownCharts,
  soon,
  until,
  violations,
} from "./support.mjs";

const home = new Home();
let browser;
// Names → ids; one and two ran together, three alone with the same width as one.
const id = {};
let all;

before(async () => {
  [browser] = await Promise.all([launch(), home.serve()]);
  const together = [
    home.train("one", "pair", { epochs: 4, width: 8 }),
    home.train("two", "pair", { epochs: 4, width: 16 }),
  ];
  for (const training of together) assert.equal(await training.ended, 0, training.output());
  const alone = home.train("three", "solo", { epochs: 4, width: 8 });
  assert.equal(await alone.ended, 0, alone.output());
  for (const run of await home.runs()) id[run.name] = run.id;
  all = `/board?run=${id.one}&run=${id.two}&run=${id.three}`;
});

after(async () => {
  await browser?.close();
  await home.close();
});

const board = async (extra = "", options = {}) => {
  const opened = await open(browser, home, all + extra, options);
  await opened.page.getByTestId("chart").first().waitFor();
  await atRest(opened.page);
  return opened;
};

const chart = (page, metric) => page.locator(`[data-testid=chart][data-metric="${metric}"]`);
const label = (page, metric) => chart(page, metric).locator("canvas").getAttribute("aria-label");
// The picture is another than `before`, or again that one.
const pictured = (canvas, before, same) =>
  soon(async () =>
    assert.equal(before.equals(await canvas.screenshot()), same, `the same: ${same}`),
  );
const says = (page, metric, pattern) =>
  until(
    page,
    ([name, source]) =>
      new RegExp(source).test(
        document.querySelector(`[data-metric="${name}"] canvas`)?.ariaLabel ?? "",
      ),
    [metric, pattern],
  );
const search = (page) => new URL(page.url()).searchParams;
// The address says this of the part; null: nothing.
const addressed = (page, part, wanted) =>
  soon(() => assert.deepEqual(search(page).getAll(part), wanted === null ? [] : [wanted].flat()));
const series = async (run, name) => {
  const answer = await fetch(`${home.url}/api/corral/v1/runs/${run}/metrics`);
  return (await answer.json()).metrics.find((metric) => metric.name === name);
};

async function dragOver(page, metric, keys = [], parts = [0.3, 0.6]) {
  const box = await chart(page, metric).locator(".surface").boundingBox();
  for (const key of keys) await page.keyboard.down(key);
  await page.mouse.move(box.x + box.width * parts[0], box.y + 60);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * parts[1], box.y + 70, { steps: 5 });
  await page.mouse.up();
  for (const key of keys) await page.keyboard.up(key);
}

async function menu(page, metric) {
  await chart(page, metric).getByTestId("chart-menu").click();
}

test("a board draws all its runs, one is taken out, and Back brings it in again", async () => {
  const { page, complaints, close } = await board();
  for (const name of ["one", "two", "three"]) await says(page, "loss", `\\b${name}: last `);
  await page.getByLabel("Remove two").click();
  await until(
    page,
    () => !document.querySelector('[data-metric="loss"] canvas').ariaLabel.includes("two:"),
  );
  await addressed(page, "run", [id.one, id.three]);
  await page.goBack();
  await says(page, "loss", "\\btwo: last ");
  assert.deepEqual(complaints, []);
  await close();
});

test("a whole workload is selected by its id, and taken out as one", async () => {
  const { workload_id } = (await home.runs()).find((run) => run.name === "one");
  const { page, complaints, close } = await open(
    browser,
    home,
    `/board?workload=${workload_id}&run=${id.three}`,
  );
  await chartsDrawn(page);
  for (const name of ["one", "two", "three"]) await says(page, "loss", `\\b${name}: last `);
  await page.getByLabel("Remove pair").click();
  await until(
    page,
    () => !/one:|two:/.test(document.querySelector('[data-metric="loss"] canvas').ariaLabel),
  );
  await addressed(page, "run", id.three);
  await addressed(page, "workload", null);
  assert.deepEqual(complaints, []);
  await close();
});

test("axes: run time starts every run at its own start, steps count steps, the wall clock is today", async () => {
  const { page, complaints, close } = await board();
  const { loss } = await shownCharts(page);
  await page.getByTestId("axis-step").click();
  await until(page, () =>
    /px = \d+ steps?/.test(
      document.querySelector('[data-metric="loss"] [data-testid=chart-badge]').textContent,
    ),
  );
  await atRest(page);
  const steps = (await shownCharts(page)).loss;
  const last = Number((await series(id.one, "loss")).last_step);
  assert.ok(steps.to >= last && steps.to <= last + 2, `${steps.to} for ${last} steps`);
  assert.equal(steps.points, loss.points);
  await page.getByTestId("axis-wall").click();
  await until(
    page,
    (year) => document.querySelector("[data-testid=range]").textContent.includes(year),
    String(new Date().getFullYear()),
  );
  const wall = await until(page, () => {
    const { from } = document.querySelector('[data-metric="loss"] canvas').dataset;
    return Number(from) > 1e9 && Number(from);
  });
  assert.ok(Math.abs(wall - Date.now() / 1000) < 3600);
  await page.getByTestId("axis-run").click();
  await until(page, () =>
    document.querySelector("[data-testid=range]").textContent.startsWith("run time 0:00"),
  );
  await addressed(page, "x", "run");
  assert.deepEqual(complaints, []);
  await close();
});

test("smoothing is computed by the server, is said on every chart, and stays in the link", async () => {
  const { page, complaints, close } = await board("&metric=loss");
  const before = await chart(page, "loss").locator("canvas").screenshot();
  const lines = page.waitForRequest((request) => request.url().endsWith("/lines"));
  await page.getByTestId("smooth-slider").fill("40");
  const { lines: asked } = (await lines).postDataJSON();
  assert.ok(
    asked.every((line) => line.kind === "smooth" && line.method === "ema"),
    JSON.stringify(asked),
  );
  await until(page, () =>
    /ema 0\.\d+/.test(document.querySelector("[data-testid=chart-badge]").textContent),
  );
  await page.waitForURL(/smooth=ema/);
  await pictured(chart(page, "loss").locator("canvas"), before, false);
  await page.reload();
  await chart(page, "loss").getByTestId("chart-badge").getByText(/ema/).waitFor();
  assert.deepEqual(complaints, []);
  await close();
});

test("groups by a parameter: one line each with its n, the single runs underneath when asked", async () => {
  const { page, complaints, close } = await board("&metric=loss");
  await page.getByTestId("group").click();
  await page.getByLabel("Group by").selectOption("param:width");
  await says(page, "loss", "width 8: last .*width 16: last ");
  await soon(async () => assert.doesNotMatch(await label(page, "loss"), /\bone:/));
  await page.getByText("single runs underneath").click();
  await says(page, "loss", "\\bone: last .*width 8: last ");
  await addressed(page, "group", "param:width");
  await page.reload();
  await says(page, "loss", "\\bone: last .*width 8: last ");
  assert.deepEqual(complaints, []);
  await close();
});

test("a group shows its median between quartiles, and is smoothed", async () => {
  const { page, complaints, close } = await board("&metric=loss&group=experiment&x=step");
  await page.getByTestId("group").click();
  await page.getByRole("combobox", { name: "Show" }).selectOption("median");
  await addressed(page, "group", "experiment~median");
  // A deviation is one from a mean.
  const bands = page.getByRole("combobox", { name: "Band" });
  assert.deepEqual(await bands.locator("option").allTextContents(), ["min to max", "quartiles", "none"]);
  await bands.selectOption("quartiles");
  await addressed(page, "group", "experiment~median~quartiles");
  await page.keyboard.press("Escape");
  const badge = page.getByTestId("chart-badge").first();
  await soon(async () => assert.match(await badge.textContent(), /median per column · exact/));
  const before = await label(page, "loss");
  await page.getByTestId("smooth-slider").fill("60");
  await soon(async () =>
    assert.match(await badge.textContent(), /median per column · ema 0\.\d+ over columns · exact/),
  );
  await soon(async () => assert.notEqual(await label(page, "loss"), before));
  assert.deepEqual(complaints, []);
  await close();
});

test("colours are those of a param's values, with a legend, on charts, lanes and in the selection", async () => {
  const { page, complaints, close } = await board("&metric=loss");
  const swatches = () =>
    page
      .locator(".panel [data-run] svg line, .panel [data-run] svg path")
      .evaluateAll((all) => all.map((one) => getComputedStyle(one).stroke));
  const before = await swatches();
  await page.getByTestId("group").click();
  await page.getByLabel("Colour by").selectOption("param:width");
  await addressed(page, "colour", "param:width");
  await page.keyboard.press("Escape");
  const legend = page.getByTestId("colour-legend");
  await legend.waitFor();
  assert.match(await legend.textContent(), /^width8/);
  await soon(async () => assert.notDeepEqual(await swatches(), before));
  assert.deepEqual(await violations(page), []);
  await page.reload();
  await legend.waitFor();
  await page.getByTestId("group").click();
  await page.getByLabel("Colour by").selectOption("workload");
  await soon(async () => assert.doesNotMatch(await legend.textContent(), /^width/));
  assert.deepEqual(complaints, []);
  await close();
});

test("a baseline turns every chart into ratios to it", async () => {
  const { page, complaints, close } = await board("&metric=run.memory.rss&x=run");
  await page.getByTestId("baseline").click();
  await page.getByLabel("Compare to").selectOption({ label: "three" });
  await until(page, () =>
    document.querySelector(".line-head .unit").textContent.includes("÷ three"),
  );
  // Compared to itself a run is 1 wherever it was measured.
  await says(page, "run.memory.rss", "three: last 1, between 1 and 1\\b");
  await addressed(page, "base", id.three);
  assert.deepEqual(complaints, []);
  await close();
});

test("each chart has its own axis, kind and second metric, and a table that says the same", async () => {
  const { page, complaints, close } = await board("&metric=loss&metric=accuracy");
  await menu(page, "loss");
  await page.getByRole("combobox", { name: "Values" }).selectOption("log");
  await page.waitForURL(/metric=loss(~|%7E)log/);
  await page.getByLabel("Right axis").selectOption("throughput");
  await page.waitForURL(/with(:|%3A)throughput/);
  await page.getByText("right: throughput").waitFor();
  await says(page, "loss", "throughput one: last ");
  await page.getByRole("button", { name: "Table" }).click();
  const table = page.getByTestId("chart-table");
  await table.waitFor();
  await soon(async () => assert.ok((await table.locator("tbody tr").count()) > 20));
  await page.getByRole("button", { name: "Close" }).first().click();
  await says(page, "accuracy", "one: last");
  assert.deepEqual(complaints, []);
  await close();
});

test("a region: statistics of every line, what changed there, zoom into it, and let go", async () => {
  const { page, complaints, close } = await board("&metric=loss&metric=run.cpu.used&x=run");
  await dragOver(page, "loss", ["Alt"]);
  const table = page.getByTestId("region-table");
  await table.waitFor();
  const rows = await soon(async () => {
    const texts = await table.locator("tbody tr").allInnerTexts();
    assert.equal(texts.length, 6, "three runs by two metrics");
    assert.ok(!texts.join().includes("…"), "all are known");
    return texts;
  });
  const [from, to] = search(page).get("sel").split("..").map(Number);
  const run = await (await fetch(`${home.url}/api/corral/v1/runs/${id.one}`)).json();
  const ns = (seconds) => String(BigInt(run.start_ns) + BigInt(Math.round(seconds * 1e9)));
  const answer = await fetch(`${home.url}/api/corral/v1/windows`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({
      series: [(await series(id.one, "loss")).series],
      from_ns: ns(from),
      to_ns: ns(to),
    }),
  });
  const { count } = (await answer.json()).windows[0];
  const shown = rows.find((row) => /^loss\s+one\s/.test(row));
  assert.ok(shown.split(/\s+/).includes(String(count)), `${count} in ${shown}`);
  await page.getByTestId("changes").getByText("too few points hidden").waitFor();
  await page.getByTestId("inspect").getByRole("button", { name: "Zoom" }).click();
  await page.waitForURL(/from=/);
  await atRest(page);
  await page.keyboard.press("Escape");
  await until(page, () => document.querySelector("[data-testid=inspect]") === null);
  await addressed(page, "sel", null);
  assert.deepEqual(complaints, []);
  await close();
});

test("two marks stand for what lies between them; a click pins the values, the greatest first", async () => {
  const { page, complaints, close } = await board("&metric=run.memory.rss&x=run");
  // Two runs at least were measured there: half of the second longest.
  const spans = await Promise.all(
    Object.values(id).map(
      async (run) => Number((await series(run, "run.memory.rss")).last_ns) / 1e9,
    ),
  );
  const starts = (await home.runs()).map((run) => [run.id, Number(run.start_ns) / 1e9]);
  const lengths = Object.values(id)
    .map((run, i) => spans[i] - Object.fromEntries(starts)[run])
    .toSorted((a, b) => b - a);
  const { from, to } = (await shownCharts(page))["run.memory.rss"];
  const middle = (lengths[1] / 2 - from) / (to - from);
  const place = async (part) => {
    await atRest(page);
    const box = await chart(page, "run.memory.rss").locator(".surface").boundingBox();
    return [box.x + box.width * part, box.y + 60];
  };
  await page.mouse.move(...(await place(middle / 2)));
  await page.keyboard.press("1");
  await page.mouse.move(...(await place(middle)));
  await page.keyboard.press("2");
  await page.getByTestId("region-table").waitFor();
  await until(
    page,
    () => document.querySelector(".mark[data-mark=A]").style.visibility === "visible",
  );
  await page.keyboard.press("0");
  await until(page, () => document.querySelector("[data-testid=inspect]") === null);
  await page.mouse.click(...(await place(middle)));
  const pinned = page.getByTestId("pinned");
  await pinned.waitFor();
  const known = await soon(async () => {
    const values = (await pinned.locator("dd").allInnerTexts()).map((text) => {
      const [, number, prefix] = /(-?[\d.]+)\s*([kKMG]?)i?B?$/.exec(text.trim()) ?? [];
      return Number(number) * 1024 ** " KMG".indexOf((prefix || " ").toUpperCase());
    });
    const numbers = values.filter((value) => !Number.isNaN(value));
    assert.ok(numbers.length >= 2, String(values));
    return numbers;
  });
  assert.deepEqual(
    known,
    known.toSorted((a, b) => b - a),
  );
  await page.keyboard.press("Escape");
  await pinned.waitFor({ state: "detached" });
  assert.deepEqual(complaints, []);
  await close();
});

test("the range: shift-drag moves it, the minimap moves and shows it, Ctrl+Z is the view before", async () => {
  const { page, complaints, close } = await board("&metric=loss&x=run");
  await dragOver(page, "loss");
  await page.waitForURL(/from=/);
  await atRest(page);
  const first = { from: Number(search(page).get("from")), to: Number(search(page).get("to")) };
  await dragOver(page, "loss", ["Shift"], [0.5, 0.3]);
  await until(
    page,
    (from) => Number(new URL(location.href).searchParams.get("from")) > from,
    first.from,
  );
  await atRest(page);
  const moved = { from: Number(search(page).get("from")), to: Number(search(page).get("to")) };
  assert.ok(Math.abs(moved.to - moved.from - (first.to - first.from)) < 1e-4, "as wide as before");
  const slider = page.getByRole("slider", { name: "Shown range" });
  await slider.focus();
  await page.keyboard.press("ArrowLeft");
  await until(
    page,
    (from) => Number(new URL(location.href).searchParams.get("from")) < from,
    moved.from,
  );
  await atRest(page);
  await page.locator("body").click({ position: { x: 5, y: 5 } });
  for (let i = 0; i < 3; i++) {
    const before = await page.evaluate(() => location.href);
    await page.keyboard.press("Control+z");
    await until(page, (url) => location.href !== url, before);
    await atRest(page);
  }
  await addressed(page, "from", null);
  await page.keyboard.press("Control+Shift+z");
  await page.waitForURL(/from=/);
  await soon(() => assert.equal(Number(search(page).get("from")), first.from));
  assert.deepEqual(complaints, []);
  await close();
});

test("the palette finds a metric and shows its chart; ? explains the keys", async () => {
  const { page, complaints, close } = await board("&metric=loss");
  await page.keyboard.press("Control+k");
  await page.getByTestId("palette").getByRole("combobox").fill("metric accuracy");
  await page
    .getByTestId("palette")
    .getByRole("option", { selected: true })
    .getByText("accuracy")
    .waitFor();
  await page.keyboard.press("Enter");
  await chart(page, "accuracy").waitFor();
  await addressed(page, "metric", ["loss", "accuracy"]);
  await page.keyboard.press("Control+k");
  await page.getByTestId("palette").getByRole("combobox").fill("three");
  await page
    .getByTestId("palette")
    .getByRole("option")
    .filter({ hasText: "run" })
    .filter({ hasText: "three" })
    .first()
    .click();
  await page.waitForURL(new RegExp(`/runs/${id.three}`));
  // Until the run's page is there, the charts and the help are those of the board that goes away.
  await page.getByRole("heading", { level: 1, name: "three" }).waitFor();
  await chartsDrawn(page);
  await page.locator("body").press("?");
  await page.getByTestId("help").getByText("Shift drag").waitFor();
  assert.deepEqual(complaints, []);
  await close();
});

test("a board is saved on the server and opened over another selection", async () => {
  const { page, complaints, close } = await board("&metric=loss~log&x=step&group=workload");
  await page.getByTestId("boards").click();
  await page.getByLabel("Board name").fill("steps <b>by workload</b>");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "steps <b>by workload</b>", exact: true }).waitFor();
  await page.goto(`${home.url}/board?run=${id.two}&run=${id.three}`);
  await chartsDrawn(page);
  await page.getByTestId("boards").click();
  await page.getByRole("button", { name: "steps <b>by workload</b>", exact: true }).click();
  await page.waitForURL(/x=step/);
  await addressed(page, "metric", "loss~log");
  await addressed(page, "group", "workload");
  await says(page, "loss", "pair: last .*solo: last ");
  await page.getByTestId("boards").click();
  await page.getByRole("button", { name: "Delete steps <b>by workload</b>" }).click();
  await page.getByText("No saved boards yet").waitFor();
  assert.deepEqual(complaints, []);
  await close();
});

test("a state too long for a link is kept under a short id and shows the same", async () => {
  const { page, complaints, close } = await board();
  const { metrics } = await (
    await fetch(`${home.url}/api/corral/v1/runs/${id.one}/metrics`)
  ).json();
  const names = [...new Set(metrics.map((metric) => metric.name))].slice(0, 60);
  await page.goto(
    `${home.url}${all}&${names.map((name) => `metric=${name}~zero~with:loss`).join("&")}`,
  );
  await chartsDrawn(page);
  await page.getByTestId("axis-run").click();
  await page.waitForURL(/\/board\?v=\w+$/);
  await atRest(page);
  const count = await page.getByTestId("chart").count();
  assert.ok(count > 20, `${count} charts`);
  await page.reload();
  await soon(async () => {
    assert.equal(await page.getByTestId("chart").count(), count);
    assert.match(await page.getByTestId("range").textContent(), /^run time/);
  });
  await chartsDrawn(page);
  assert.deepEqual(complaints, []);
  await close();
});

async function download(page, act) {
  const [file] = await Promise.all([page.waitForEvent("download"), act()]);
  return { name: file.suggestedFilename(), bytes: readFileSync(await file.path()) };
}

test("a chart leaves as PDF, SVG, PNG, JPEG and CSV; the same data are the same bytes", async () => {
  const { page, complaints, close } = await board("&metric=loss&x=run");
  await menu(page, "loss");
  await page.getByTestId("chart-export").click();
  await page.getByTestId("workshop").waitFor();
  await page.getByTestId("workshop").locator("select").first().selectOption("acm1");
  const get = (format) => download(page, () => page.getByTestId(`export-${format}`).click());
  const pdf = await get("pdf");
  assert.equal(pdf.name, "loss.pdf");
  const text = pdf.bytes.toString("latin1");
  assert.ok(text.startsWith("%PDF-"));
  assert.match(text, /\/FontFile2/, "the font is inside");
  assert.match(text, /\/MediaBox \[0 0 240\.? 130\.?/);
  assert.doesNotMatch(text, /\/Subtype \/Image/, "vectors, no picture");
  assert.ok(pdf.bytes.equals((await get("pdf")).bytes), "the same bytes again");
  const svg = (await get("svg")).bytes.toString();
  assert.match(svg, /font-face.*data:font\/woff2/s);
  assert.match(svg, /<metadata>data sha256:[0-9a-f]{64}; http:\/\/127/);
  assert.match(svg, /width="240pt" height="130pt"/);
  const png = (await get("png")).bytes;
  assert.equal(png.readUInt32BE(16), 1000, "240 pt at 300 dpi");
  assert.equal((await get("jpeg")).bytes.readUInt16BE(0), 0xffd8);
  const csv = (await get("csv")).bytes.toString().trim().split("\r\n");
  assert.equal(csv[0], "line,kind,run time,value,low,low_at,high,high_at,last,last_at,points");
  const counted = csv
    .filter((row) => row.startsWith("one,column,"))
    .reduce((sum, row) => sum + Number(row.split(",").at(-1)), 0);
  assert.equal(counted, (await series(id.one, "loss")).points);
  await page.getByLabel("Monochrome").check();
  const mono = (await get("svg")).bytes.toString();
  const colours = new Set(
    [...mono.matchAll(/stroke="(#[0-9a-f]{6})"/gi)].map(([, colour]) => colour),
  );
  for (const colour of colours) {
    const parts = [1, 3, 5].map((i) => Number.parseInt(colour.slice(i, i + 2), 16));
    assert.ok(Math.max(...parts) - Math.min(...parts) <= 8, `${colour} is grey`);
  }
  assert.deepEqual(complaints, []);
  await close();
});

test("a board is shared as a small file and as HTML that opens without a server and zooms", async () => {
  const { page, complaints, close } = await board("&metric=loss&metric=accuracy&x=run");
  await page.getByTestId("share").click();
  const small = await download(page, () =>
    page.getByRole("button", { name: "Small file" }).click(),
  );
  assert.deepEqual(Object.keys(JSON.parse(small.bytes)).sort(), [
    "corral",
    "made",
    "path",
    "server",
    "title",
  ]);
  const html = await download(page, () =>
    page.getByRole("button", { name: "Offline HTML" }).click(),
  );
  await page.goto(`${home.url}/board?run=${id.one}`);
  await chartsDrawn(page);
  await page.getByTestId("share").click();
  const upload = (bytes) =>
    page
      .getByTestId("open-share")
      .setInputFiles({ name: "x.json", mimeType: "application/json", buffer: bytes });
  await upload(Buffer.from('{"corral": 1, "path": "https://elsewhere.example/"}'));
  await page.getByText("which is not a page of Corral").waitFor();
  await upload(small.bytes);
  await page.waitForURL(/x=run/);
  await says(page, "accuracy", "three: last ");
  assert.deepEqual(complaints, []);
  await close();

  const context = await browser.newContext({ offline: true });
  const offline = await context.newPage();
  const wrong = [];
  offline.on("pageerror", (error) => wrong.push(String(error)));
  offline.on("console", (message) => message.type() === "error" && wrong.push(message.text()));
  await offline.setContent(html.bytes.toString());
  const canvas = offline.locator("canvas").first();
  await canvas.waitFor();
  await offline.evaluate(() => document.fonts.ready);
  await soon(async () => assert.equal(await offline.locator("canvas").count(), 2));
  // Until two pictures in a row are the same.
  const before = await soon(async () => {
    const [one, two] = [await canvas.screenshot(), await canvas.screenshot()];
    assert.ok(one.equals(two) && (await canvas.getAttribute("aria-label")) !== "");
    return two;
  });
  const box = await canvas.boundingBox();
  await offline.mouse.move(box.x + box.width * 0.2, box.y + 50);
  await offline.mouse.down();
  await offline.mouse.move(box.x + box.width * 0.4, box.y + 50);
  await offline.mouse.up();
  await offline.mouse.move(1, 1);
  await pictured(canvas, before, false);
  await canvas.dblclick();
  await offline.mouse.move(1, 1);
  await pictured(canvas, before, true);
  assert.deepEqual(wrong, []);
  await context.close();
});

test("pointing at a name stands the others back in every chart", async () => {
  const { page, complaints, close } = await board("&metric=loss&metric=accuracy&x=run");
  const other = chart(page, "accuracy").locator("canvas");
  const before = await other.screenshot();
  await chart(page, "loss")
    .getByRole("button", { name: /^one, shown/ })
    .hover();
  await pictured(other, before, false);
  await page.mouse.move(5, 5);
  await pictured(other, before, true);
  assert.deepEqual(complaints, []);
  await close();
});

for (const colorScheme of ["light", "dark"]) {
  test(`no serious accessibility violation on a board and its dialogs, ${colorScheme}`, async () => {
    const { page, complaints, close } = await board("&x=run&sel=1..2", { colorScheme });
    await page.getByTestId("region-table").waitFor();
    await atRest(page);
    assert.deepEqual(await violations(page), []);
    await menu(page, "loss");
    await page.getByTestId("chart-export").waitFor();
    assert.deepEqual(await violations(page), []);
    await page.getByTestId("chart-export").click();
    await page.getByTestId("export-preview").waitFor();
    assert.deepEqual(await violations(page), []);
    assert.deepEqual(complaints, []);
    await close();
  });
}

test("runs are aligned on an event, and the axis counts epochs or another metric", async () => {
  const { page, complaints, close } = await board("&metric=loss");
  await page.getByTestId("axis-more").click();
  await page.getByLabel("Zero is at").selectOption("step");
  await page.waitForURL(/align=step/);
  await until(
    page,
    () => Number(document.querySelector("[data-metric=loss] canvas").dataset.from) < 0,
  );
  await page.getByTestId("axis-epoch").click();
  await until(page, () =>
    document.querySelector("[data-testid=range]").textContent.includes("epoch"),
  );
  // Four epochs, the axis ends with the last of them.
  await soon(async () => {
    const { loss } = await shownCharts(page);
    assert.ok(loss.to - loss.from === 4 && loss.points > 0, JSON.stringify(loss));
  });
  await page.getByTestId("axis-more").click();
  await page.getByLabel("Metric as axis").selectOption("accuracy");
  await page.waitForURL(/xmetric=accuracy/);
  await until(
    page,
    () => Number(document.querySelector("[data-metric=loss] canvas").dataset.to) <= 1.1,
  );
  await says(page, "loss", "\\bone: last ");
  assert.deepEqual(complaints, []);
  await close();
});

test("a summary: bars over the configurations, ratios to one, the same numbers as a table", async () => {
  const { page, complaints, close } = await board("&metric=loss");
  await page.getByRole("link", { name: "Summary" }).click();
  await page.getByTestId("summary").waitFor();
  await page.getByLabel("Along x").selectOption("params.width");
  const table = page.getByTestId("summary-table");
  await table.getByText("width 8").first().waitFor();
  const rows = await soon(async () => {
    const texts = await table.locator("tbody tr").allInnerTexts();
    assert.equal(texts.length, 2);
    return texts;
  });
  // One and three are repetitions of width 8, two is alone.
  assert.match(
    rows.find((row) => row.includes("width 8")),
    /\b2$/,
  );
  assert.match(
    rows.find((row) => row.includes("width 16")),
    /\b1$/,
  );
  await page.getByLabel("Ratio to").selectOption({ label: "width 8" });
  await table.getByRole("columnheader", { name: "ratio" }).waitFor();
  for (const kind of ["box", "scatter", "parallel"]) {
    await page.getByTestId(`kind-${kind}`).click();
    await page.waitForURL(new RegExp(`kind=${kind}`));
    await soon(async () => {
      const words = await page.getByTestId("summary").locator("canvas").getAttribute("aria-label");
      assert.ok(words.includes("loss"), words);
    });
  }
  // A chart without bars offers no options of bars; its axes may be logarithmic.
  await page.getByTestId("kind-scatter").click();
  await page.getByTestId("summary").getByText("a point per run").waitFor();
  await page.getByTestId("log-x").check();
  await addressed(page, "log", "x");
  // Metrics are picked from a list that typing searches.
  await page.getByTestId("summary-metric").fill("acc");
  await page.getByText("Choose one of the list").waitFor();
  await page.getByTestId("summary-metric").fill("accuracy");
  await page.getByRole("heading", { level: 1, name: "Summary of accuracy" }).waitFor({ state: "attached" });
  const coming = page.waitForEvent("download");
  await page.getByTestId("summary-svg").click();
  const svg = readFileSync(await (await coming).path(), "utf8");
  assert.match(svg, /@font-face.*>last accuracy</s);
  // Sizes and colours by other metrics, which the figure names.
  await page.getByTestId("summary-size").fill("run.memory.rss");
  await page.getByTestId("summary-colour").fill("loss");
  await page.getByText("area: run.memory.rss, colour: loss").waitFor();
  await addressed(page, "size", "run.memory.rss");
  const scattered = page.waitForEvent("download");
  await page.getByTestId("summary-csv").click();
  const runs = readFileSync(await (await scattered).path(), "utf8").split("\r\n");
  assert.match(runs[0], /^run,id,experiment,workload,.*params.width.*,accuracy,run.memory.rss,loss$/);
  assert.equal(runs.length, 5);
  assert.deepEqual(await violations(page), []);
  // The table of a paper.
  await page.getByTestId("kind-table").click();
  await page.getByRole("combobox", { name: "Columns" }).selectOption("experiment");
  await page.getByTestId("summary-results").getByText("width 8").waitFor();
  const tex = page.waitForEvent("download");
  await page.getByTestId("summary-tex").click();
  const latex = readFileSync(await (await tex).path(), "utf8");
  assert.match(latex, /^% last accuracy: mean of runs/);
  assert.match(latex, /\nwidth 8 & \$[\d.]+ \\pm [\d.]+\$ \(2\) /);
  const cells = page.waitForEvent("download");
  await page.getByTestId("summary-csv").click();
  assert.match(readFileSync(await (await cells).path(), "utf8"), /^params.width,experiment,mean,low,high,n\r\n/);
  assert.deepEqual(await violations(page), []);
  await page.getByTestId("kind-bars").click();
  await page.waitForURL((url) => url.searchParams.get("kind") !== "scatter");
  await atRest(page);
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(complaints, []);
  await close();
});

test("runs go by their names in an address, and who is not there is said", async () => {
  const { page, complaints, close } = await open(browser, home, "/summary?run=one&run=two&metric=loss");
  await page.getByLabel("Along x").selectOption("run");
  const table = page.getByTestId("summary-table");
  await table.getByText("two").first().waitFor();
  assert.equal(await table.locator("tbody tr").count(), 2);
  const failing = page.getByTestId("failing");
  for (const path of ["/summary?run=nobody", "/board?run=nobody"]) {
    await page.goto(home.url + path);
    await failing.getByText("404").waitFor();
    assert.match(await failing.innerText(), /nobody/);
  }
  await page.goto(`${home.url}/board?run=one&run=nobody&metric=loss`);
  await page.getByTestId("missing-runs").getByText("nobody").waitFor();
  await chart(page, "loss").waitFor();
  assert.deepEqual(
    complaints.filter((text) => !text.includes("404")),
    [],
  );
  await close();
});

test("a sensor's values that cannot be are said beside the chart that has them", async () => {
  const { page, complaints, close } = await board("&metric=host.cpu.busy&metric=loss");
  assert.equal(await page.getByTestId("outside").count(), 0);
  await page.route(`**/runs/${id.one}`, async (route) => {
    const response = await route.fetch();
    const run = await response.json();
    run.info["outside.host.cpu.busy"] = "3 values outside 0 to 2 cores, stored as read: -1 to 9";
    await route.fulfill({ response, json: run });
  });
  await page.reload();
  const words = "3 values outside 0 to 2 cores, stored as read";
  const flag = chart(page, "host.cpu.busy").getByTestId("outside").getByText(words);
  await flag.waitFor();
  assert.match(await flag.getAttribute("title"), /-1 to 9$/);
  assert.equal(await page.getByTestId("outside").count(), 1);
  await atRest(page);
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(complaints, []);
  await page.unrouteAll({ behavior: "wait" });
  await close();
});
