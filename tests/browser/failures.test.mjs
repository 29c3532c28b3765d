// Parts of the page fail alone, in a real Chromium: a server that is gone, code that an upgrade took away, an exception in
// one chart. The rest stays as it was, and the part says why it failed and how to go on.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { chartsDrawn, Home, launch, open, shownCharts, until } from "./support.mjs";

const home = new Home();
let browser;
const id = {};

before(async () => {
  [browser] = await Promise.all([launch(), home.serve()]);
  const training = home.train("one", "single", { epochs: 4, width: 8 });
  assert.equal(await training.ended, 0, training.output());
  for (const run of await home.runs()) id[run.name] = run.id;
});

after(async () => {
  await browser?.close();
  await home.close();
});

// The browser's own words about what it could not load.
const unexpected = (complaints) =>
  complaints.filter((text) => !/Failed to load resource|ERR_(CONNECTION|INCOMPLETE|EMPTY)/.test(text));

// Waits for the menu of a chart, which comes a moment after the charts.
const settled = (page) =>
  until(page, () =>
    performance.getEntriesByType("resource").some(({ name }) => /ChartOptions-/.test(name)),
  );

const chart = (page, metric) =>
  page.locator(`[data-testid=chart][data-metric="${metric}"]`).first();

test("parts of the page that were not loaded yet are missed when the server is gone, and nothing else", async () => {
  const { page, complaints, close } = await open(browser, home, `/runs/${id.one}`);
  await chartsDrawn(page);
  await until(page, () => document.querySelector("[data-testid=live]").textContent === "live");
  await settled(page);
  const { port } = new URL(home.url);
  home.server.child.kill("SIGKILL");
  await home.server.ended;
  home.server = undefined;
  await page.getByTestId("live").getByText("offline").waitFor();
  const late = page.getByTestId("late");
  // The palette, a dialog of a chart, a tab, another page.
  await page.keyboard.press("Control+k");
  await late.getByText("Search could not be loaded: the server does not answer.").waitFor();
  await late.getByRole("button", { name: "Close" }).click();
  await late.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Options of loss" }).first().click();
  await page.getByText("Export").last().click();
  await late.getByText("Export could not be loaded").waitFor();
  assert.ok((await shownCharts(page)).loss.points > 0);
  await late.getByRole("button", { name: "Close" }).click();
  await page.getByRole("link", { name: "Runs", exact: true }).first().click();
  await late.getByText("The list of runs could not be loaded").waitFor();
  // The frame stays, and says that the server is away.
  await page.getByTestId("live").getByText("offline").waitFor();
  // All of it comes by itself.
  await home.serve(port);
  await page.getByTestId("run-row").first().waitFor();
  await page.keyboard.press("Control+k");
  await page.getByTestId("palette").waitFor();
  assert.deepEqual(unexpected(complaints), []);
  await close();
});

test("code that an upgrade took away is asked for again with a reload, and the charts stay", async () => {
  const { page, complaints, close } = await open(browser, home, `/board?run=${id.one}`);
  await chartsDrawn(page);
  await until(page, () => document.querySelector("[data-testid=live]").textContent === "live");
  await settled(page);
  const gone = (route) => route.fulfill({ status: 404, body: "not found" });
  await page.route("**/assets/*.js", gone);
  const late = page.getByTestId("late");
  await page.keyboard.press("Control+k");
  await late.getByText("Search could not be loaded: the server may have a newer version").waitFor();
  await late.getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "Options of loss" }).first().click();
  await page.getByTestId("chart-export").click();
  await late.getByText("Export could not be loaded").waitFor();
  assert.ok((await shownCharts(page)).loss.points > 0);
  await page.unroute("**/assets/*.js", gone);
  await late.getByRole("button", { name: "Reload the page" }).click();
  await late.waitFor({ state: "detached" });
  await chartsDrawn(page);
  await page.keyboard.press("Control+k");
  await page.getByTestId("palette").waitFor();
  assert.deepEqual(unexpected(complaints), []);
  await close();
});

test("a page whose own code does not arrive says so", async () => {
  const { page, close } = await open(browser, home, "/board");
  await page.route("**/assets/index-*.js", (route) => route.abort());
  await page.reload();
  await page.getByText("The page could not be loaded").waitFor();
  await close();
});

test("an exception in one chart is told in its place, and the other charts go on", async () => {
  const { page, close } = await open(browser, home, `/board?run=${id.one}&metric=loss`);
  await chartsDrawn(page);
  await page.evaluate(() => {
    const { getContext } = HTMLCanvasElement.prototype;
    HTMLCanvasElement.prototype.getContext = function (...words) {
      const { metric } = this.closest("figure")?.dataset ?? {};
      if (metric === "accuracy" && !window.repaired) throw new Error("no canvas today");
      return getContext.apply(this, words);
    };
  });
  await page.locator('input[data-metric="accuracy"]').check();
  const failed = page.getByTestId("failed-part");
  await failed.getByText("The chart of accuracy failed: no canvas today.").waitFor();
  assert.ok((await shownCharts(page)).loss.points > 0);
  await page.evaluate(() => {
    window.repaired = true;
  });
  await failed.getByRole("button", { name: "Try again" }).click();
  await chart(page, "accuracy").waitFor();
  await until(
    page,
    () => Number(document.querySelector('[data-metric="accuracy"] canvas').dataset.points) > 0,
  );
  assert.equal(await failed.count(), 0);
  await close();
});
