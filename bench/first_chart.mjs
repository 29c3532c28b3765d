// Measures the time until a page shows its main content: node bench/first_chart.mjs URL RUN LOADS CHROMIUM
//
// Prints {"chart": [ms], "runs": [ms], "bare": [ms]}: navigation to the first chart painted, to the first row of the
// list of runs, and to the end of a bare JSON answer. Every load has a context, and so a cache, of its own.
import { createRequire } from "node:module";

const require = createRequire(new URL("../web/package.json", import.meta.url));
const { chromium } = require("playwright-core");
const [url, run, loads, executablePath] = process.argv.slice(2);

// In the page: the time, since navigation began, of the first frame in which `selector` matches.
const watch = (selector) => {
  const look = () => {
    if (document.querySelector(selector) === null) return requestAnimationFrame(look);
    requestAnimationFrame(() => {
      window.corralShown = performance.now();
    });
  };
  requestAnimationFrame(look);
};

const browser = await chromium.launch({
  executablePath,
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"],
});

async function load(path, selector) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  if (selector !== null) await page.addInitScript(watch, selector);
  await page.goto(url + path);
  let ms;
  if (selector === null) {
    ms = await page.evaluate(() => performance.getEntriesByType("navigation")[0].responseEnd);
  } else {
    await page.waitForFunction(() => window.corralShown !== undefined);
    ms = await page.evaluate(() => window.corralShown);
  }
  await context.close();
  return ms;
}

const times = { chart: [], runs: [], bare: [] };
try {
  for (let i = 0; i < Number(loads); ++i) {
    // data-points is above 0 once the first columns are painted.
    times.chart.push(await load(`/runs/${run}`, "[data-testid=chart] canvas:not([data-points='0'])"));
    times.runs.push(await load("/", "[data-testid=run-row]"));
    times.bare.push(await load("/health", null));
  }
} finally {
  await browser.close();
}
console.log(JSON.stringify(times));
