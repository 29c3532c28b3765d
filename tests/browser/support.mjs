// Support of the browser tests: a home of their own with a store, a server and trainings, a real Chromium, and pages
// that record every complaint and every request. Conditions are waited for, time never is.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";

const kRoot = fileURLToPath(new URL("../..", import.meta.url));
export const kBuild = process.env.CORRAL_BUILD ?? join(kRoot, "build/release");
const kPatience = 60_000;
const kRecorded = join(kRoot, "tests/browser/fixtures/digits.corral.gz");
const require = createRequire(join(kRoot, "web/package.json"));
const { chromium } = require("playwright-core");
const kAxe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

// One store and one spool in a folder that close() removes.
export class Home {
  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), "corral-browser-"));
    // Events that come as this machine is busy have no place in pictures.
    writeFileSync(join(this.folder, "corral.toml"), "[pressure]\nresources = []\n");
    this.children = new Set();
    this.serveWith = []; // further options of `corral serve`
    const { PATH, CORRAL_PYTHON = join(kRoot, ".venv/bin/python") } = process.env;
    this.environment = {
      PATH,
      CORRAL_PYTHON,
      HOME: this.folder,
      XDG_RUNTIME_DIR: this.folder,
      LANG: "C.UTF-8",
      CORRAL_STORE: join(this.folder, "store"),
      CORRAL_SPOOL: join(this.folder, "spool"),
    };
  }

  // `corral ARGUMENTS`; `ended` resolves to its exit status, `output()` is what it has written so far.
  start(...words) {
    const child = spawn(join(kBuild, "corral"), words, {
      cwd: this.folder,
      env: this.environment,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let text = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (part) => (text += part));
    this.children.add(child);
    const ended = once(child, "close").then(([status]) => {
      this.children.delete(child);
      return status;
    });
    return { child, ended, output: () => text };
  }

  // Fills the store with the runs that record.mjs recorded.
  async loadRecorded() {
    const file = join(this.folder, "recorded.corral");
    writeFileSync(file, gunzipSync(readFileSync(kRecorded)));
    const load = this.start("store", "load", file);
    assert.equal(await load.ended, 0, load.output());
  }

  // Starts the server at `port` (0: any free one) and waits until it listens. A port that was given up may be in use
  // as the near end of somebody's connection for a moment.
  async serve(port = 0) {
    const again = () => this.listen(port);
    await (port === 0 ? again() : soon(again));
  }

  async listen(port) {
    const server = this.start("serve", "--listen", `127.0.0.1:${port}`, ...this.serveWith);
    const said = new Promise((resolve) => {
      server.child.stdout.on("data", () => {
        const url = /at (https?:\/\/[\d.]+:\d+)/.exec(server.output())?.[1];
        if (url) resolve(url);
      });
    });
    const early = server.ended.then((status) =>
      assert.fail(`serve left: ${status} ${server.output()}`),
    );
    early.catch(() => {});
    this.url = await Promise.race([said, early]);
    this.server = server;
  }

  async stop() {
    if (this.server === undefined) return;
    const { ended, output } = this.start("serve", "--stop");
    assert.equal(await ended, 0, `corral serve --stop: ${output()}`);
    await this.server.ended;
    this.server = undefined;
  }

  example = join(kRoot, "examples/digits/train.py");

  // The digits example under Corral.
  train(name, workload, options) {
    const words = Object.entries(options).flatMap(([key, value]) => [`--${key}`, String(value)]);
    return this.start(
      "run",
      "--experiment",
      "digits",
      "--workload",
      workload,
      "--name",
      name,
      this.example,
      ...words,
    );
  }

  async runs() {
    const answer = await fetch(`${this.url}/api/corral/v1/runs`);
    return (await answer.json()).runs;
  }

  // The answer of the MLflow API.
  async mlflow(path, body) {
    const answer = await fetch(`${this.url}/api/2.0/mlflow/${path}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    assert.equal(answer.status, 200, await answer.clone().text());
    return answer.json();
  }

  async close() {
    await this.stop().catch(() => {});
    for (const child of this.children) child.kill("SIGKILL");
    // Killed supervisors leave trainings in control groups.
    spawnSync(join(kBuild, "corral"), ["undo", "--end-runs"], { env: this.environment, timeout: kPatience });
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--no-first-run",
    ],
  });
}

// Nothing is wider than a phone.
export async function fitsPhone(page) {
  await page.setViewportSize({ width: 390, height: 844 });
  await soon(async () =>
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)),
  );
}

// A page in a profile of its own. `complaints`: errors and warnings of the console, uncaught errors, and
// requests to anyone but the server; `charts`: the chart questions asked. `now`: what its clock says for ever.
export async function open(browser, home, path, { now, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  if (now !== undefined) await page.clock.setFixedTime(now);
  page.setDefaultTimeout(kPatience);
  const complaints = [];
  const charts = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  const traffic = { begun: 0, open: new Set() };
  traffics.set(page, traffic);
  for (const end of ["requestfinished", "requestfailed"])
    page.on(end, (request) => traffic.open.delete(request));
  page.on("request", (request) => {
    const url = request.url();
    if (request.resourceType() !== "eventsource") {
      traffic.begun += 1;
      traffic.open.add(request);
    }
    if (!url.startsWith(`${home.url}/`)) complaints.push(`a request to ${url}`);
    if (url.endsWith("/charts")) charts.push(request.postDataJSON());
  });
  await page.addInitScript(watchFirstChart);
  const response = await page.goto(home.url + path);
  return { page, response, complaints, charts, close: () => context.close() };
}

// Runs in the page: notes when the first chart with data was drawn, milliseconds since the navigation.
function watchFirstChart() {
  const drawn = () =>
    [...document.querySelectorAll("[data-testid=chart] canvas")].some(
      (c) => Number(c.dataset.points) > 0,
    );
  const observer = new MutationObserver(() => {
    if (!drawn()) return;
    observer.disconnect();
    requestAnimationFrame(() => {
      window.firstChart = performance.now();
    });
  });
  observer.observe(document, {
    subtree: true,
    childList: true,
    attributes: true,
    attributeFilter: ["data-points"],
  });
}

// Polls in the page at every frame until the function returns something true; returns that.
export async function until(page, condition, argument) {
  try {
    const options = { timeout: kPatience, polling: "raf" };
    return await (await page.waitForFunction(condition, argument, options)).jsonValue();
  } catch (error) {
    const text = await page
      .evaluate(() => document.body.innerText.slice(0, 2000))
      .catch((reason) => String(reason));
    const what = `${condition} of ${JSON.stringify(argument)}`;
    throw new Error(`${error.message}\nnever: ${what}\nat ${page.url()}, which says:\n${text}`);
  }
}

// Repeats the check until it throws nothing; returns what it returns, throws what it threw last. For what is read
// from outside of the page: its address, its pictures, the boxes of its elements.
export async function soon(check) {
  const end = Date.now() + kPatience;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > end) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

// The requests of each page: how many it made, and which have no answer yet; the event stream is none.
const traffics = new WeakMap();

// Nothing on the page is on its way any more, so that pictures can be compared and places pointed at: fonts are
// there, nothing is stale, every chart is exact and where it was some frames ago, and every request is answered. Only
// for pages of ended runs, whose charts come to rest.
export async function atRest(page) {
  const traffic = traffics.get(page);
  for (;;) {
    const { begun } = traffic;
    const quiet = traffic.open.size === 0;
    await page.evaluate(() => {
      window.still = { frames: 0, layout: "" };
    });
    await until(page, isStill, kStillFrames);
    // An answer that came in between may not be drawn yet.
    if (quiet && traffic.open.size === 0 && traffic.begun === begun) return;
  }
}

// More than the page waits before it asks for the exact picture.
const kStillFrames = 20;

// Runs in the page at every frame.
function isStill(frames) {
  const boxes = [
    ...document.querySelectorAll(".surface, [data-testid=chart], main, .content, .line-name"),
  ].map((element) => {
    const { x, y, width, height } = element.getBoundingClientRect();
    return [x, y, width, height].join();
  });
  const badges = [...document.querySelectorAll("[data-testid=chart-badge]")];
  const done =
    document.fonts.status === "loaded" &&
    document.querySelector(".stale, [aria-busy=true]") === null &&
    badges.every((badge) => /\bexact\b/.test(badge.textContent));
  const layout = boxes.join(" ");
  const same = done && window.still?.layout === layout;
  window.still = { frames: same ? window.still.frames + 1 : 0, layout };
  return window.still.frames >= frames;
}

// Returns the charts on the page: { metric: { from, to, points } }.
export function shownCharts(page) {
  return page.evaluate(() =>
    Object.fromEntries(
      [...document.querySelectorAll("[data-testid=chart]")].map((figure) => {
        const { from, to, points } = figure.querySelector("canvas").dataset;
        return [
          figure.dataset.metric,
          { from: Number(from), to: Number(to), points: Number(points) },
        ];
      }),
    ),
  );
}

// Every chart has its data, maybe not yet the exact ones.
export function chartsDrawn(page) {
  return until(page, () => {
    const badges = [...document.querySelectorAll("[data-testid=chart-badge]")];
    return badges.length > 0 && badges.every((badge) => badge.textContent !== "loading");
  });
}

// Returns axe's findings.
export async function violations(page) {
  await page.evaluate(kAxe);
  const found = await page.evaluate(() =>
    window.axe.run(document, { resultTypes: ["violations"] }),
  );
  return found.violations.map(
    ({ id, nodes }) =>
      `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).join("; ")}`,
  );
}
