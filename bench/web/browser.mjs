// Chromium and how its work is measured. Everything is waited for by what it shows; times are taken in the page.
import { createRequire } from "node:module";

const require = createRequire(new URL("../../web/package.json", import.meta.url));
const { chromium } = require("playwright-core");
const kPatience = 120_000;

export function launch(executablePath) {
  return chromium.launch({
    executablePath,
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

// In a profile, and so with a cache, of its own.
export async function open(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(kPatience);
  await page.addInitScript(tools);
  const answer = await page.goto(url, { waitUntil: "commit" });
  if (!answer.ok()) throw new Error(`${url}: ${answer.status()}`);
  const session = await context.newCDPSession(page);
  return { page, session, close: () => context.close() };
}

// In every page. `shown(test)`: the time after the first frame in which `test` holds.
function tools() {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const shown = async (test) => {
    while (!test()) await frame();
    await frame();
    return performance.now();
  };
  const canvases = () => [...document.querySelectorAll("[data-testid=chart] canvas")];
  const drawn = (count) => {
    const all = canvases();
    return all.length >= count && all.every((canvas) => Number(canvas.dataset.points) > 0);
  };
  // A pointer that moves over `surface` once a frame.
  const hover = async (surface, type, frames) => {
    const box = surface.getBoundingClientRect();
    for (let i = 0; i < frames; i++) {
      await frame();
      if (type === null) continue;
      const clientX = box.left + box.width * (0.1 + (0.8 * i) / frames);
      const Kind = type.startsWith("pointer") ? PointerEvent : MouseEvent;
      const at = { clientX, clientY: box.top + box.height / 2, bubbles: true };
      surface.dispatchEvent(new Kind(type, at));
    }
    await frame();
  };
  window.corralBench = { frame, shown, canvases, drawn, hover };
}

// Milliseconds of the page's main thread so far.
export async function mainThread({ session }) {
  await session.send("Performance.enable", { timeDomain: "timeTicks" });
  const { metrics } = await session.send("Performance.getMetrics");
  const of = (name) => 1000 * metrics.find((metric) => metric.name === name).value;
  return { task: of("TaskDuration"), script: of("ScriptDuration") };
}

// Seconds of CPU so far: of the browser's renderers, and of all its processes.
export async function cpu(browser) {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  const sum = (some) => some.reduce((total, { cpuTime }) => total + cpuTime, 0);
  return {
    renderer: sum(processInfo.filter(({ type }) => type === "renderer")),
    all: sum(processInfo),
  };
}

// MB of JavaScript objects and of the buffers that they hold, garbage collected.
export async function heap({ session }) {
  await session.send("HeapProfiler.enable");
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize, backingStorageSize = 0 } = await session.send("Runtime.getHeapUsage");
  await session.send("HeapProfiler.disable");
  return { objects: usedSize / 1e6, all: (usedSize + backingStorageSize) / 1e6 };
}
