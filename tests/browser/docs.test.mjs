// The documents at /docs in a real Chromium: contents, links, search, light and dark, on a desk and on a phone.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Home, launch, open, until, violations } from "./support.mjs";

const home = new Home();
let browser;

before(async () => {
  [browser] = await Promise.all([launch(), home.serve()]);
});

after(async () => {
  await browser?.close();
  await home.close();
});

const heading = (page, text) =>
  until(page, (wanted) => document.querySelector(".doc h1")?.textContent === wanted, text);

test("the sign in the header leads to the README, whose links lead on", async () => {
  const { page, complaints, close } = await open(browser, home, "/");
  await page.getByRole("link", { name: "Documentation" }).click();
  await heading(page, "Corral");
  await page.locator(".doc").getByRole("link", { name: "install.md" }).first().click();
  await heading(page, "Install Corral");
  assert.equal(new URL(page.url()).pathname, "/docs/install");
  await page.getByTestId("docs-contents").getByRole("link", { name: "captured loops" }).click();
  await heading(page, "Capture of training loops");
  await page.goBack();
  await heading(page, "Install Corral");
  assert.deepEqual(complaints, []);
  await close();
});

test("an address with an anchor shows that place", async () => {
  const { page, close } = await open(browser, home, "/docs/cli#corral-trust");
  await heading(page, "The command line");
  await until(page, () => {
    const place = document.getElementById("corral-trust")?.getBoundingClientRect();
    return place !== undefined && place.top > 0 && place.top < innerHeight;
  });
  await close();
});

test("search finds the place that has all words", async () => {
  const { page, close } = await open(browser, home, "/docs");
  await page.getByTestId("docs-search").fill("gradient accumulation");
  const found = page.getByTestId("docs-results").getByRole("link").first();
  await found.waitFor();
  await found.click();
  await heading(page, "Capture of training loops");
  await page.getByTestId("docs-search").fill("batch");
  await page.getByTestId("docs-contents").getByRole("link", { name: "tutorial" }).click();
  await heading(page, "Tutorial: from a script to a figure");
  await page.getByTestId("docs-search").fill("zebra crossing");
  await page.getByText("No document has these words.").waitFor();
  await close();
});

test("a document that is not there is named", async () => {
  const { page, close } = await open(browser, home, "/docs/nothing");
  await page.getByText("There is no document named nothing.").waitFor();
  await close();
});

test("documents are accessible and fit on a phone", async () => {
  for (const [name, title, colorScheme] of [
    ["cli", "The command line", "light"],
    ["cli", "The command line", "dark"],
    ["benchmarks", "Benchmarks", "light"],
  ]) {
    const { page, close } = await open(browser, home, `/docs/${name}`, {
      colorScheme,
      viewport: { width: 390, height: 844 },
    });
    await heading(page, title);
    assert.deepEqual(await violations(page), [], name);
    assert.ok(await page.evaluate(() => document.body.scrollWidth <= innerWidth));
    await close();
  }
});
