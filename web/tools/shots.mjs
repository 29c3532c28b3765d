// Pictures of every state of the page, for looking at: node tools/shots.mjs [FOLDER] [NAME…]
// Needs a build and starts its own mock servers.
import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";

const [folder = "/tmp/corral-shots", ...only] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const mock = new URL("../mock/server.mjs", import.meta.url).pathname;
const servers = ["full", "empty", "failing"].map((mode, i) => ({ mode, port: 5310 + i }));
const children = servers.map(({ mode, port }) =>
  spawn("node", [mock, "--port", String(port), "--mode", mode]),
);
const at = (mode) => `http://127.0.0.1:${servers.find((s) => s.mode === mode).port}`;
const browser = await chromium.launch({
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

async function runId(name) {
  const { runs } = await (await fetch(`${at("full")}/api/corral/v1/runs?limit=5`)).json();
  return runs.find((run) => run.name === name).id;
}

async function shot(
  name,
  path,
  {
    colorScheme = "light",
    viewport = { width: 1440, height: 900 },
    act,
    ratio = 1,
    mode = "full",
  } = {},
) {
  if (only.length > 0 && !only.includes(name)) return;
  const context = await browser.newContext({ colorScheme, viewport, deviceScaleFactor: ratio });
  const page = await context.newPage();
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()))
      console.log(`${name}: ${message.type()} ${message.text()}`);
  });
  page.on("pageerror", (error) => console.log(`${name}: ${error}`));
  await page.goto(at(mode) + path);
  await page.waitForTimeout(1200);
  await act?.(page);
  await page.screenshot({ path: join(folder, `${name}.png`) });
  await context.close();
}

const hover = async (page) => {
  const box = await page.locator("[data-testid=chart] .surface").first().boundingBox();
  await page.mouse.move(box.x + box.width * 0.42, box.y + 60);
  await page.waitForTimeout(200);
};

try {
  await new Promise((done) => setTimeout(done, 600));
  const [first, second] = [await runId("calm-otter"), await runId("brisk-heron")];
  await shot("runs-light", "/");
  await shot("runs-dark", "/", { colorScheme: "dark" });
  await shot("runs-tree", "/?experiment=1");
  await shot("runs-empty", "/", { mode: "empty" });
  await shot("runs-failing", "/", { mode: "failing" });
  await shot("run-light", `/runs/${first}`, { act: hover });
  await shot("run-dark", `/runs/${first}?with=${second}`, { colorScheme: "dark", act: hover });
  await shot("run-both", `/runs/${first}?with=${second}`, { act: hover });
  await shot("run-tall", `/runs/${first}?with=${second}`, {
    viewport: { width: 1440, height: 1700 },
  });
  await shot("run-running", `/runs/${second}`);
  await shot("run-zoomed", `/runs/${first}?with=${second}&from=55&to=75`, { act: hover });
  await shot("run-deep", `/runs/${first}?from=55&to=55.4`);
  await shot("run-hidpi", `/runs/${first}?with=${second}`, { ratio: 2 });
  await shot("run-narrow", `/runs/${first}`, { viewport: { width: 720, height: 900 } });
  await shot(
    "run-devices",
    `/runs/${first}?metric=host.cpu.core.busy&metric=host.net.rx&metric=run.io.read_block_bytes&metric=host.pressure.cpu.some`,
  );
  await shot("run-missing", "/runs/0000", { mode: "empty" });
  await shot("run-failing", "/runs/0000", { mode: "failing", colorScheme: "dark" });
  await shot("run-help", `/runs/${first}`, {
    act: (page) =>
      page
        .getByLabel("Keys and gestures")
        .hover()
        .then(() => page.waitForTimeout(400)),
  });
  await shot("run-lane-tip", `/runs/${first}`, {
    act: async (page) => {
      await page.getByTestId("phases-lane").first().scrollIntoViewIfNeeded();
      const box = await page.getByTestId("phases-lane").first().boundingBox();
      await page.mouse.move(box.x + 260, box.y + 8);
      await page.waitForTimeout(200);
    },
  });
} finally {
  await browser.close();
  for (const child of children) child.kill();
}
