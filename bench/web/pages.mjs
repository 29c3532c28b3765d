// Measures Corral's page and those of other trackers by turns: node bench/web/pages.mjs OPTIONS
//
// OPTIONS is JSON: { chromium, runs, metrics, points, rounds, pages: { NAME: { url, first } } }. Logs the runs into
// Corral and MLflow, and prints { NAME: { run | board: { ms, least, code } } }, medians of the rounds: milliseconds until
// the charts are there, the least of them, and KB of JavaScript as they were sent.
// bench/peer_pages.py runs it.
import { launch, open } from "./browser.mjs";
import { fillBoard } from "./fill.mjs";

const at = JSON.parse(process.argv[2]);

// For each page what a chart is, and what is in it once its lines are drawn. TensorBoard draws them into a canvas: what
// tells of them is the axis of their steps, so that its times are too short rather than too long.
const kPages = {
  corral: {
    filled: ({ url }) => fillBoard(url, at),
    run: ({ url, ids }) => `${url}/runs/${ids[0]}?tab=charts`,
    board: ({ url, ids }) =>
      `${url}/board?${new URLSearchParams([
        ...ids.map((id) => ["run", id]),
        ...Array.from({ length: at.metrics }, (_, i) => [
          "metric",
          `bench/metric${String(i).padStart(2, "0")}`,
        ]),
      ])}`,
    chart: "[data-testid=chart]",
    line: "canvas:not([data-points='0'])",
  },
  mlflow: {
    filled: ({ url }) => fillBoard(url, { ...at, atOnce: 1 }),
    run: ({ url, ids }) => `${url}/#/experiments/1/runs/${ids[0]}/model-metrics`,
    board: ({ url }) => `${url}/#/experiments/1/runs?compareRunsMode=CHART`,
    chart: ".js-plotly-plot",
    line: ".scatterlayer path.js-line",
  },
  // It has no page of one run.
  tensorboard: {
    board: ({ url }) => `${url}/#timeseries`,
    chart: "line-chart",
    line: ".x-axis text",
    // The axis ends at 1 until there are data.
    above: 1,
  },
  // Its page of several runs shows nothing before somebody has chosen metrics there.
  aim: {
    run: ({ url, first }) => `${url}/runs/${first}/metrics`,
    chart: ".LineChart",
    line: "path.Line",
  },
};

// In the page: the time of the frame after the first in which all charts in sight have their lines.
function drawn({ chart, line, above = 0 }) {
  const inSight = (element) => {
    const { top, bottom, width } = element.getBoundingClientRect();
    return width > 0 && bottom > 0 && top < innerHeight;
  };
  const isDrawn = (element) => {
    const found = [...element.querySelectorAll(line)];
    return found.length > 0 && (above === 0 || found.some((one) => Number(one.textContent) > above));
  };
  return window.corralBench.shown(() => {
    const all = [...document.querySelectorAll(chart)].filter(inSight);
    return all.length > 0 && all.every(isDrawn);
  });
}

const code = () =>
  performance
    .getEntriesByType("resource")
    .filter(({ name }) => /\.js(\?|$)/.test(name))
    .reduce((sum, { encodedBodySize }) => sum + encodedBodySize / 1024, 0);

async function once(browser, address, page) {
  const opened = await open(browser, address);
  const ms = await opened.page.evaluate(drawn, page);
  const sent = await opened.page.evaluate(code);
  await opened.close();
  return { ms, code: sent };
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const summary = (rounds) => ({
  ...Object.fromEntries(Object.keys(rounds[0]).map((key) => [key, median(rounds.map((one) => one[key]))])),
  least: Math.min(...rounds.map(({ ms }) => ms)),
});

const browser = await launch(at.chromium);
const found = [];
try {
  for (const [name, place] of Object.entries(at.pages)) {
    const { filled, chart, line, above, ...addresses } = kPages[name];
    place.ids = await filled?.(place);
    for (const [kind, address] of Object.entries(addresses))
      found.push({ name, kind, address: address(place), drawn: { chart, line, above }, rounds: [] });
  }
  for (let i = 0; i < at.rounds; i++)
    for (const { address, drawn, rounds } of found) rounds.push(await once(browser, address, drawn));
} finally {
  await browser.close();
}
const out = Object.fromEntries(Object.keys(at.pages).map((name) => [name, {}]));
for (const { name, kind, rounds } of found) out[name][kind] = summary(rounds);
console.log(JSON.stringify(out));
