// Compares each page with pictures that a person has looked at (screens/): light and dark, on a desk and on a phone,
// full of real recorded runs and empty. CORRAL_UPDATE_SCREENS=1 updates them.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { difference } from "./pictures.mjs";
import { atRest, Home, launch, open } from "./support.mjs";

const kHere = fileURLToPath(new URL(".", import.meta.url));
const kWanted = join(kHere, "screens");
const kActual = join(kHere, "../../build/screens");
const kSizes = { desk: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } };
const kDay = Date.parse("2026-11-23T09:00:00Z");

const full = new Home();
const empty = new Home();
// Has one run that measured nothing.
const silent = new Home();
let browser;
let blank;
let pages;

before(async () => {
  await full.loadRecorded();
  [browser] = await Promise.all([launch(), full.serve(), empty.serve(), silent.serve()]);
  blank = await (await browser.newContext()).newPage();
  const id = Object.fromEntries((await full.runs()).map((run) => [run.name, run.id]));
  const mine = Object.values(id).filter((run) => run !== id.broken);
  const chosen = [id["pair narrow"], id["pair wide"], id["alone 1"]];
  const select = (ids) => ids.map((run) => `run=${run}`).join("&");
  const none = await silentRun();
  pages = {
    runs: [full, "/"],
    experiment: [full, "/experiments/1?metric=loss"],
    board: [full, `/board?${select(chosen)}&x=run`],
    run: [full, `/runs/${id["pair narrow"]}`],
    summary: [full, `/summary?${select(mine)}&metric=loss&by=params.width`],
    "runs-empty": [empty, "/"],
    "experiment-empty": [silent, `/experiments/${none.experiment}`],
    "board-empty": [empty, "/board"],
    "run-empty": [silent, `/runs/${none.run}`],
    "summary-empty": [empty, "/summary"],
  };
});

after(async () => {
  await browser?.close();
  await Promise.all([full.close(), empty.close(), silent.close()]);
});

// An experiment that has a run without any metric.
async function silentRun() {
  const { experiment_id } = await silent.mlflow("experiments/create", { name: "nothing yet" });
  const start_time = kDay - 3_600_000;
  const { run } = await silent.mlflow("runs/create", { experiment_id, start_time, run_name: "silent" });
  const run_id = run.info.run_id;
  await silent.mlflow("runs/update", { run_id, status: "FINISHED", end_time: start_time + 60_000 });
  return { experiment: experiment_id, run: run_id };
}

// The page at rest in one look, at a fixed hour.
async function shown(name, colorScheme, size) {
  const [home, path] = pages[name];
  const opened = await open(browser, home, path, {
    now: kDay,
    colorScheme,
    viewport: kSizes[size],
    deviceScaleFactor: 1,
    reducedMotion: "reduce",
    timezoneId: "UTC",
    locale: "en-GB",
  });
  const { page } = opened;
  await page.locator("main").waitFor();
  await atRest(page);
  return opened;
}

const photograph = (page) => page.screenshot({ animations: "disabled" });

// Compares with the picture of that name, or makes it.
async function looksRight(page, name) {
  const file = join(kWanted, `${name}.png`);
  const actual = await photograph(page);
  if (process.env.CORRAL_UPDATE_SCREENS) {
    mkdirSync(kWanted, { recursive: true });
    writeFileSync(file, actual);
    return;
  }
  assert.ok(existsSync(file), `${file}: CORRAL_UPDATE_SCREENS=1 makes it`);
  const { ok, why } = await difference(blank, readFileSync(file), actual);
  if (ok) return;
  mkdirSync(kActual, { recursive: true });
  const made = join(kActual, `${name}.png`);
  writeFileSync(made, actual);
  assert.fail(`${why}; wanted: ${file}; is: ${made}`);
}

const kPages = ["runs", "experiment", "board", "run", "summary"];
for (const name of kPages.flatMap((one) => [one, `${one}-empty`]))
  test(`${name}: light and dark, on a desk and on a phone`, async () => {
    const wrong = [];
    for (const size of Object.keys(kSizes))
      for (const colorScheme of ["light", "dark"]) {
        const { page, complaints, close } = await shown(name, colorScheme, size);
        await looksRight(page, `${name}-${size}-${colorScheme}`).catch((error) =>
          wrong.push(error.message),
        );
        assert.deepEqual(complaints, []);
        await close();
      }
    assert.deepEqual(wrong, []);
  });

test("pictures of a page are compared with tolerance, and what matters is found", async (t) => {
  const { page, close } = await shown("board", "light", "desk");
  const wanted = await photograph(page);
  const styled = async (style) => {
    await page.evaluate((text) => {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(text);
      document.adoptedStyleSheets = [sheet];
    }, style);
    const { ok, why } = await difference(blank, wanted, await photograph(page));
    return [ok, `${style}: ${why}`];
  };
  const same = [
    "",
    "body { text-rendering: geometricPrecision }",
    "body { filter: blur(0.5px) }",
    "main { transform: translate(0.2px, 0.2px) }",
  ];
  const others = [
    "[data-metric=loss] canvas { visibility: hidden }",
    "[data-metric=accuracy] canvas { filter: hue-rotate(90deg) }",
    "[data-testid=chart-badge] { visibility: hidden }",
    "main { transform: translate(0, 6px) }",
    "aside { visibility: hidden }",
    "body { font-family: serif }",
  ];
  const said = [];
  for (const style of same) said.push([true, await styled(style)]);
  for (const style of others) said.push([false, await styled(style)]);
  for (const [, [, why]] of said) t.diagnostic(why);
  for (const [wantedOk, [ok, why]] of said) assert.equal(ok, wantedOk, why);
  await close();
});
