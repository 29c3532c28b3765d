// Many charts of one board below headings, in a real Chromium over a real training: closed, searched, in the address and
// in a saved board; what is closed is neither drawn nor asked for.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { atRest, Home, launch, open, soon, violations } from "./support.mjs";

const kTraining = `
import corral
for step in range(50):
    for part in ("train", "val"):
        corral.log({f"{part}/m{i}": float(step * i) for i in range(1, 8)}, step=step)
    corral.log("loss", 1 / (step + 1), step=step)
`;
const home = new Home();
let browser;
let all;

before(async () => {
  [browser] = await Promise.all([launch(), home.serve()]);
  writeFileSync(join(home.folder, "train.py"), kTraining);
  const training = home.start("run", "--name", "many", "train.py");
  assert.equal(await training.ended, 0, training.output());
  const [run] = await home.runs();
  const names = ["train", "val"].flatMap((part) =>
    [1, 2, 3, 4, 5, 6, 7].map((i) => `metric=${part}/m${i}`),
  );
  all = `/board?run=${run.id}&x=step&metric=loss&${names.join("&")}`;
});

after(async () => {
  await browser?.close();
  await home.close();
});

async function board(extra = "") {
  const opened = await open(browser, home, all + extra);
  await opened.page.getByTestId("chart-search").waitFor();
  await atRest(opened.page);
  return opened;
}

const heading = (page, name) => page.getByTestId("chart-section").filter({ hasText: name });
const headings = (page) => page.getByTestId("chart-section").allTextContents();
const drawn = (page) =>
  page
    .getByTestId("chart")
    .evaluateAll((figures) => figures.map((figure) => figure.dataset.metric));
const search = (page) => new URL(page.url()).searchParams;

test("many charts stand below headings, and those of a closed one are neither drawn nor asked for", async () => {
  const { page, complaints, close } = await board();
  assert.deepEqual(await headings(page), ["software1", "train/7", "val/7"]);
  assert.equal((await drawn(page)).length, 15);
  await heading(page, "train/").click();
  await soon(async () => assert.equal((await drawn(page)).length, 8));
  assert.equal(await heading(page, "train/").getAttribute("aria-expanded"), "false");
  assert.deepEqual(search(page).getAll("fold"), ["software/train/"]);
  assert.deepEqual(await violations(page), []);
  // A link that has it closed asks for the series of eight charts.
  const asked = new Set();
  page.on("request", (request) => {
    if (new URL(request.url()).pathname.endsWith("/charts") && request.method() === "POST")
      for (const id of JSON.parse(request.postData()).series) asked.add(id);
  });
  await page.reload();
  await page.getByTestId("chart").first().waitFor();
  await atRest(page);
  assert.equal(asked.size, 8);
  await heading(page, "train/").click();
  await soon(() => assert.equal(asked.size, 15));
  assert.equal(search(page).get("fold"), null);
  assert.deepEqual(complaints, []);
  await close();
});

test("a search leaves the charts that match, in closed sections too, and a switch takes the headings away", async () => {
  const { page, complaints, close } = await board("&fold=software%2Fval%2F");
  assert.equal((await drawn(page)).length, 8);
  await page.getByTestId("chart-search").fill("m3");
  await soon(async () => assert.deepEqual(await drawn(page), ["train/m3", "val/m3"]));
  assert.equal(search(page).get("find"), "m3");
  await page.getByText("2 of 15 charts shown").waitFor();
  await page.getByTestId("chart-search").fill("nothing");
  await page.getByText("No matches").first().waitFor();
  assert.deepEqual(await violations(page), []);
  await page.getByTestId("chart-search").fill("");
  await page.getByLabel("Sections").uncheck();
  await soon(async () => assert.equal((await drawn(page)).length, 15));
  assert.deepEqual(await headings(page), []);
  assert.equal(search(page).get("sections"), "off");
  assert.deepEqual(complaints, []);
  await close();
});

test("a chart moves within its section", async () => {
  const { page, complaints, close } = await board();
  const menu = page.locator('[data-metric="val/m1"]').getByTestId("chart-menu");
  await menu.click();
  assert.ok(await page.getByRole("button", { name: "Move earlier" }).isDisabled());
  await page.getByRole("button", { name: "Move later" }).click();
  await soon(async () =>
    assert.deepEqual((await drawn(page)).slice(8, 11), ["val/m2", "val/m1", "val/m3"]),
  );
  assert.deepEqual(complaints, []);
  await close();
});
