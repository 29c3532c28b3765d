// Every page and dialog on a desk, on a telephone and at 200 %, light and dark: axe finds nothing, one heading of the
// first rank, nothing wider than the window, one row of tools, targets for fingers, two charts in sight.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Home, launch, open, soon, violations } from "./support.mjs";

const home = new Home();
let browser;
let pages;

before(async () => {
  await home.loadRecorded();
  [browser] = await Promise.all([launch(), home.serve()]);
  const runs = await home.runs();
  const wide = runs.find(({ name }) => name === "pair wide");
  const names = (what, list) => list.map((word) => `${what}=${encodeURIComponent(word)}`).join("&");
  const ids = names(
    "run",
    runs.map(({ id }) => id),
  );
  pages = {
    "/": "run-row",
    "/?state=trashed": null,
    [`/experiments/${wide.experiment_id}`]: null,
    [`/runs/${wide.id}`]: "chart",
    [`/runs/${wide.id}?tab=about`]: null,
    [`/runs/${wide.id}?tab=output`]: null,
    [`/runs/${wide.id}?tab=files`]: null,
    [`/runs/${wide.id}?tab=diff`]: null,
    [`/board?${ids}`]: "chart",
    [`/summary?${ids}`]: null,
    [`/compare?${names("group", ["pair wide", "pair narrow"])}`]: null,
    [`/history?${names("group", ["pair wide"])}`]: null,
    [`/collocation?workload=${wide.workload_id}`]: null,
    "/docs": null,
    "/docs/page": null,
    "/plans": null,
    "/runs/none": null,
  };
});

after(async () => {
  await browser?.close();
  await home.close();
});

// Calls `check` with each page, once it has its data.
async function visit(options, check) {
  for (const [path, part] of Object.entries(pages)) {
    const { page, close } = await open(browser, home, path, options);
    if (part !== null) await page.getByTestId(part).first().waitFor();
    await page.waitForLoadState("networkidle");
    await check(page, path);
    await close();
  }
}

// In words: those of `selector` that are seen and smaller than a fingertip.
const small = (page) =>
  page.evaluate(() => {
    const selector =
      "button:not(.line-name), select, summary, [role=tab], input, .row > a, .table a";
    return [...document.querySelectorAll(selector)].flatMap((element) => {
      const box = element.getBoundingClientRect();
      if (box.width === 0 || !element.checkVisibility({ visibilityProperty: true })) return [];
      const lines = Number.parseFloat(getComputedStyle(element).lineHeight);
      const height = element.matches("a") ? lines : box.height;
      const grown = element.matches(".check") ? 16 : 0;
      const fits = height + grown >= 24 && box.width + grown >= 14;
      return fits ? [] : [`${element.outerHTML.slice(0, 120)} ${box.width} x ${box.height}`];
    });
  });

const isWide = (page) => page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
const headings = (page) => page.evaluate(() => document.querySelectorAll("h1").length);

for (const colorScheme of ["light", "dark"]) {
  test(`pages on a desk, ${colorScheme}`, async () => {
    await visit({ colorScheme }, async (page, path) => {
      await soon(async () => assert.deepEqual(await violations(page), [], path));
      assert.equal(await headings(page), 1, path);
      assert.equal(await isWide(page), false, path);
    });
  });

  test(`pages on a telephone, ${colorScheme}`, async () => {
    const viewport = { width: 390, height: 844 };
    await visit({ colorScheme, viewport, hasTouch: true }, async (page, path) => {
      await soon(async () => assert.deepEqual(await violations(page), [], path));
      assert.equal(await headings(page), 1, path);
      assert.equal(await isWide(page), false, path);
      assert.deepEqual(await small(page), [], path);
      const rows = await page.evaluate(() =>
        [...document.querySelectorAll(".toolbar")].map((bar) => bar.getBoundingClientRect().height),
      );
      assert.ok(
        rows.every((height) => height <= 44),
        `${path}: ${rows}`,
      );
    });
  });
}

test("two charts are in sight at 200 %", async () => {
  const viewport = { width: 720, height: 450 };
  for (const [path, part] of Object.entries(pages)) {
    // Above the charts of a single run stands where its time went.
    if (part !== "chart" || path.startsWith("/runs/")) continue;
    const { page, close } = await open(browser, home, path, { viewport });
    await soon(async () => {
      const content = await page.locator(".content").boundingBox();
      const second = await page.getByTestId("chart").nth(1).locator(".plot").boundingBox();
      const most = content.y + content.height;
      assert.ok(second.y + second.height <= most, `${path}: ${JSON.stringify([second, most])}`);
    });
    assert.deepEqual(await violations(page), [], path);
    await close();
  }
});

const kDialogs = [
  ["/", "Control+k"],
  ["board", "?"],
  ["board", "Share"],
  ["board", "Boards"],
  ["board", "smooth"],
  ["board", "group by"],
  ["board", "baseline"],
  ["board", "Other axes"],
  ["/", "Columns"],
];

for (const [where, what] of kDialogs) {
  test(`the dialog of ${what}`, async () => {
    const path = where === "/" ? where : Object.keys(pages).find((one) => one.startsWith("/board"));
    for (const viewport of [
      { width: 1440, height: 900 },
      { width: 390, height: 844 },
    ]) {
      const { page, close } = await open(browser, home, path, { viewport });
      await page
        .getByTestId(where === "/" ? "run-row" : "chart")
        .first()
        .waitFor();
      if (what === "Control+k" || what === "?") await page.keyboard.press(what);
      else await page.locator(".toolbar").getByRole("button", { name: what }).first().click();
      await page.locator("dialog[open], [role=dialog]:visible").first().waitFor();
      assert.deepEqual(await violations(page), []);
      assert.equal(await isWide(page), false);
      await close();
    }
  });
}
