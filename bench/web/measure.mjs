// Measures the page in a real browser: node bench/web/measure.mjs OPTIONS [PART...]
//
// OPTIONS is JSON: { url, chromium, redraw (the bundle), big and metric (a run of one long series, its name), runs,
// points, rounds, loads, live_s }, and { board: [run ids] } to do without that filling. Fills the server as it needs
// and prints one JSON object; parts: loads redraw zoom crosshair heap table live. bench/web.py runs it;
// docs/benchmarks.md says what each figure means.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { cpu, heap, launch, mainThread, open } from "./browser.mjs";
import { fillBoard, fillList, liveRun, metricName } from "./fill.mjs";

const kCharts = 24;
const kFewCharts = 6;
const kRuns = 8;
const kFrames = 120;
const kPeerFrames = 30;
const [options, ...chosen] = process.argv.slice(2);
const { url, ...at } = JSON.parse(options);
const kParts = { loads, redraw, zoom, crosshair, heap: memory, table, live };

const sorted = (values) => values.toSorted((a, b) => a - b);
const summary = (values) => {
  const all = sorted(values);
  return { min: all[0], median: all[Math.floor(all.length / 2)], max: all.at(-1) };
};
// { name: [values] } of rounds that each give { name: value }.
function gather(rounds) {
  const names = Object.keys(rounds[0]);
  return Object.fromEntries(names.map((name) => [name, summary(rounds.map((one) => one[name]))]));
}
async function repeat(count, work) {
  const rounds = [];
  for (let i = 0; i < count; i++) rounds.push(await work(i));
  return rounds;
}

const filled = { board: at.board };
const boardRuns = async () =>
  (filled.board ??= await fillBoard(url, { runs: kRuns, metrics: kCharts, points: at.points }));
const boardAddress = (runs, charts = kCharts) => {
  const metrics = Array.from({ length: charts }, (_, i) => ["metric", metricName(i)]);
  return `${url}/board?${new URLSearchParams([...runs.map((id) => ["run", id]), ...metrics])}`;
};
// One series for all charts, which differ in their axes.
const bigAddress = () => {
  const metrics = Array.from({ length: kCharts }, (_, i) => [
    "metric",
    `${at.metric}~y:0..${400 + i}`,
  ]);
  return `${url}/board?${new URLSearchParams([["run", at.big], ...metrics])}`;
};

const allDrawn = (count) => window.corralBench.shown(() => window.corralBench.drawn(count));
const allExact = () =>
  window.corralBench.shown(() => {
    const badges = [...document.querySelectorAll("[data-testid=chart-badge]")];
    return badges.length > 0 && badges.every(({ textContent }) => / exact/.test(textContent));
  });

async function openBoard(browser, address) {
  const opened = await open(browser, address);
  await opened.page.evaluate(allDrawn, kCharts);
  await opened.page.evaluate(allExact);
  return opened;
}

// KB of the scripts that a page has asked for until it shows something, compressed and not.
async function scripts({ page }) {
  const names = await page.evaluate(() =>
    performance
      .getEntriesByType("resource")
      .flatMap(({ name }) => (/\.js$/.test(name) ? [name] : [])),
  );
  const out = { gzip: 0, raw: 0 };
  for (const name of new Set(names)) {
    const bytes = Buffer.from(await (await fetch(name)).arrayBuffer());
    out.raw += bytes.length / 1024;
    out.gzip += gzipSync(bytes, { level: 9 }).length / 1024;
  }
  return out;
}

async function loads(browser) {
  const runs = await boardRuns();
  const timed = async (address, wait, argument) => {
    const opened = await open(browser, address);
    const ms = await opened.page.evaluate(wait, argument);
    await opened.close();
    return ms;
  };
  const rounds = await repeat(at.loads, async () => ({
    bare: await timed(
      `${url}/health`,
      () => performance.getEntriesByType("navigation")[0].responseEnd,
    ),
    first_chart: await timed(`${url}/runs/${runs[0]}`, allDrawn, 1),
    board: await timed(boardAddress(runs), allDrawn, kCharts),
  }));
  const opened = await open(browser, `${url}/runs/${runs[0]}`);
  await opened.page.evaluate(allDrawn, 1);
  const loaded = await scripts(opened);
  await opened.close();
  return { ...gather(rounds), scripts: loaded };
}

// A page of the server's origin with the three contestants in it.
async function redrawPage(browser) {
  const runs = await boardRuns();
  const opened = await open(browser, `${url}/health`, { bypassCSP: true });
  await opened.page.evaluate(readFileSync(at.redraw, "utf8"));
  const densities = await opened.page.evaluate(prepareRedraw, {
    runs,
    seconds: at.points / 10,
    count: kCharts,
  });
  return { ...opened, densities };
}
async function prepareRedraw({ runs, seconds, count }) {
  const ask = async (path) => (await fetch(`/api/corral/v1/runs/${path}`)).json();
  const charts = Array.from({ length: count }, () => []);
  const origins = Array.from({ length: count }, () => []);
  for (const run of runs) {
    const [{ start_ns }, { metrics }] = [await ask(run), await ask(`${run}/metrics`)];
    for (const { name, series } of metrics) {
      const found = /^bench\/metric(\d+)$/.exec(name);
      if (found === null) continue;
      charts[Number(found[1])].push(series);
      origins[Number(found[1])].push(start_ns);
    }
  }
  return window.corralRedraw.prepare(charts, { origins: origins.flat(), seconds });
}

const kContestants = ["own", "uplot", "echarts"];

async function redraw(browser) {
  const opened = await redrawPage(browser);
  const rounds = await repeat(at.rounds, async (round) => {
    const out = {};
    for (const name of kContestants) {
      const { script, pixels } = await opened.page.evaluate(
        ([name, round]) => window.corralRedraw.redraw(name, round),
        [name, round],
      );
      Object.assign(out, { [`${name}_script`]: script, [`${name}_pixels`]: pixels });
    }
    return out;
  });
  await opened.close();
  const points = sorted(opened.densities)[0];
  return { ...gather(rounds), fewest_points: points };
}

// From the button's release to the frame after the charts in sight, and all charts, show columns of the new range.
function watchZoom() {
  window.corralZoom = new Promise((done) => {
    const { canvases, shown } = window.corralBench;
    const all = canvases();
    const before = new Map(all.map((canvas) => [canvas, canvas.dataset.from]));
    const inSight = all.filter((canvas) => {
      const { top, bottom } = canvas.getBoundingClientRect();
      return bottom > 0 && top < innerHeight;
    });
    const isNew = (canvas) =>
      canvas.dataset.from !== before.get(canvas) && !canvas.classList.contains("stale");
    const up = async ({ timeStamp }) => {
      performance.clearResourceTimings();
      const end = await shown(() => inSight.every(isNew));
      const whole = await shown(() => all.every(isNew));
      const [asked] = performance
        .getEntriesByType("resource")
        .filter(({ name }) => name.endsWith("/charts"));
      const request = asked.responseEnd - asked.startTime;
      done({
        sight: end - timeStamp,
        all: whole - timeStamp,
        until_asked: asked.startTime - timeStamp,
        request,
        after: end - asked.responseEnd,
      });
    };
    addEventListener("pointerup", (event) => void up(event), { once: true, capture: true });
  });
}

async function zoomRounds({ page }, rounds) {
  const surface = page.locator("[data-testid=chart] .surface").first();
  return repeat(rounds, async (i) => {
    await page.evaluate(allExact);
    const box = await surface.boundingBox();
    const y = box.y + box.height / 2;
    await page.evaluate(watchZoom);
    await page.mouse.move(box.x + box.width * (0.1 + 0.013 * i), y);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * (0.5 + 0.021 * i), y, { steps: 4 });
    await page.mouse.up();
    const times = await page.evaluate(() => window.corralZoom);
    await page.evaluate(allExact);
    await page.goBack();
    await page.waitForFunction(() => !location.search.includes("from="));
    return times;
  });
}

async function zoom(browser) {
  const opened = await openBoard(browser, boardAddress(await boardRuns()));
  const rounds = await zoomRounds(opened, at.rounds);
  await opened.close();
  return gather(rounds);
}

// Main thread per frame, less that of the same frames without a pointer.
async function hoverCost(opened, surface, { type, count }) {
  const frames = async (kind) => {
    const before = await mainThread(opened);
    await opened.page.evaluate(surface, [kind, count]);
    const after = await mainThread(opened);
    return {
      task: (after.task - before.task) / count,
      script: (after.script - before.script) / count,
    };
  };
  const rounds = await repeat(Math.ceil(at.rounds / 2), async () => {
    const [idle, moving] = [await frames(null), await frames(type)];
    return { task: moving.task - idle.task, script: moving.script - idle.script };
  });
  return gather(rounds);
}

async function crosshair(browser) {
  const board = await openBoard(browser, boardAddress(await boardRuns()));
  const onBoard = ([type, frames]) =>
    window.corralBench.hover(document.querySelector("[data-testid=chart] .surface"), type, frames);
  const own = await hoverCost(board, onBoard, { type: "pointermove", count: kFrames });
  await board.close();
  const peers = await redrawPage(browser);
  const out = { own };
  for (const name of ["uplot", "echarts"]) {
    await peers.page.evaluate((name) => window.corralRedraw.redraw(name, 0), name);
    const onPeer = new Function(
      "argument",
      `return corralBench.hover(corralRedraw.surface("${name}"), argument[0], argument[1])`,
    );
    out[name] = await hoverCost(peers, onPeer, { type: "mousemove", count: kPeerFrames });
  }
  await peers.close();
  return out;
}

async function memory(browser) {
  const blank = await open(browser, `${url}/health`);
  const nothing = await heap(blank);
  await blank.close();
  const measured = async (address) => {
    const opened = await openBoard(browser, address);
    const fresh = await heap(opened);
    const zooms = gather(await zoomRounds(opened, 5));
    const zoomed = await heap(opened);
    await opened.close();
    return { fresh, zoomed, zooms };
  };
  return {
    nothing,
    big: await measured(bigAddress()),
    board: await measured(boardAddress(await boardRuns())),
  };
}

const kFilters = [
  "metrics.loss < 0.01",
  'params.model = "resnet34"',
  "metrics.accuracy > 0.2",
  'tags.device = "gpu2"',
  "list-77",
  'params.lr = "0.3"',
];

// From the last key to the frame after the new count and its rows, and from the moment the question is sent.
function watchFilter() {
  window.corralFilter = new Promise((done) => {
    const total = () => document.querySelector("[data-testid=runs-total]").textContent;
    const before = total();
    const changed = () =>
      /\d/.test(total()) &&
      total() !== before &&
      document.querySelector("[data-testid=run-row]") !== null;
    performance.clearResourceTimings();
    const typed = async ({ timeStamp }) => {
      const end = await window.corralBench.shown(changed);
      const [asked] = performance
        .getEntriesByType("resource")
        .filter(({ name }) => name.endsWith("/runs/search"));
      done({
        all: end - timeStamp,
        asked: end - asked.startTime,
        total: Number(total().replace(/\D/g, "")),
      });
    };
    addEventListener("input", (event) => void typed(event), { once: true, capture: true });
  });
}

const searches = () =>
  performance
    .getEntriesByType("resource")
    .filter(({ name }) => name.endsWith("/runs/search"))
    .map(({ startTime, responseEnd }) => ({ start: startTime, end: responseEnd }));

async function table(browser) {
  await fillList(url, at.runs);
  const rowsShown = () =>
    window.corralBench.shown(() => document.querySelector("[data-testid=run-row]") !== null);
  const first = await repeat(at.loads, async () => {
    const opened = await open(browser, `${url}/`);
    const rows = await opened.page.evaluate(rowsShown);
    const [asked] = await opened.page.evaluate(searches);
    await opened.close();
    return { rows, until_asked: asked.start, request: asked.end - asked.start };
  });
  const { page, close } = await open(browser, `${url}/`);
  await page.evaluate(rowsShown);
  const search = page.getByTestId("search");
  const filters = await repeat(kFilters.length, async (i) => {
    await search.fill("");
    await page.waitForFunction(() => !location.search.includes("q="));
    await page.waitForLoadState("networkidle");
    await page.evaluate(watchFilter);
    await search.focus();
    await page.keyboard.insertText(kFilters[i]);
    return page.evaluate(() => window.corralFilter);
  });
  await close();
  return { ...gather(first), filter: gather(filters) };
}

// The bytes that a live board of six charts receives a second, heads of answers included.
async function traffic(browser, run) {
  const { page, close } = await open(browser, boardAddress([run], kFewCharts));
  await page.evaluate(allDrawn, kFewCharts);
  await new Promise((done) => setTimeout(done, 3000));
  await page.evaluate(() => performance.clearResourceTimings());
  const begin = performance.now();
  await new Promise((done) => setTimeout(done, at.live_s * 1000));
  const sizes = await page.evaluate(() =>
    performance.getEntriesByType("resource").map(({ transferSize }) => transferSize),
  );
  const seconds = (performance.now() - begin) / 1000;
  await close();
  return sizes.reduce((sum, size) => sum + size, 0) / seconds;
}

async function live(browser) {
  const { run, stop } = await liveRun(url, { metrics: kCharts, history: 6000 });
  const opened = await open(browser, boardAddress([run]));
  await opened.page.evaluate(allDrawn, kCharts);
  await new Promise((done) => setTimeout(done, 3000));
  const [before, main, begin] = [await cpu(browser), await mainThread(opened), performance.now()];
  await opened.page.evaluate(() => performance.clearResourceTimings());
  await new Promise((done) => setTimeout(done, at.live_s * 1000));
  const [after, then, seconds] = [
    await cpu(browser),
    await mainThread(opened),
    (performance.now() - begin) / 1000,
  ];
  const asked = await opened.page.evaluate(
    () =>
      performance.getEntriesByType("resource").filter(({ name }) => name.endsWith("/charts"))
        .length,
  );
  await opened.close();
  const bytes = await traffic(browser, run);
  const rate = await stop();
  return {
    bytes_per_s: bytes,
    renderer: (after.renderer - before.renderer) / seconds,
    browser: (after.all - before.all) / seconds,
    main_thread: (then.task - main.task) / 1000 / seconds,
    pictures_per_s: asked / seconds,
    samples_per_s: rate,
  };
}

const browser = await launch(at.chromium);
const out = {};
try {
  for (const part of chosen.length > 0 ? chosen : Object.keys(kParts)) {
    out[part] = await kParts[part](browser);
    process.stderr.write(`  ${part} done\n`);
  }
} finally {
  await browser.close();
}
console.log(JSON.stringify(out));
