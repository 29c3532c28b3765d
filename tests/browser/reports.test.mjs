// Reports in a real Chromium: texts with live charts and comparisons, their versions, and two people who write at once.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { atRest, Home, launch, open, shownCharts, soon, violations } from "./support.mjs";

const home = new Home();
let browser;
let wide;

before(async () => {
  await home.loadRecorded();
  [browser] = await Promise.all([launch(), home.serve()]);
  wide = (await home.runs()).find(({ name }) => name === "pair wide");
});

after(async () => {
  await browser?.close();
  await home.close();
});

const text = (page) => page.getByRole("textbox", { name: "Text of the report, Markdown" });
const live = (page) => page.getByTestId("live-block");
const reports = async () =>
  (await (await fetch(`${home.url}/api/corral/v1/reports`)).json()).reports;

test("a report is written, shows what its addresses show, and is kept", async () => {
  const { page, complaints, close } = await open(browser, home, "/reports");
  await page.getByText("No reports yet.").waitFor();
  assert.deepEqual(await violations(page), []);
  await page.getByLabel("Name of a new report").fill("Speed / MPS");
  await page.getByRole("button", { name: "Create" }).click();
  const names = ["pair wide", "pair narrow"].map((name) => `group=${encodeURIComponent(name)}`);
  await text(page).fill(
    [
      "# Which is *faster*?",
      "<b>not bold</b>",
      `${home.url}/board?run=${wide.id}&metric=loss&metric=accuracy`,
      `/compare?${names.join("&")}`,
      `/runs/${wide.id}?metric=loss`,
    ].join("\n\n"),
  );
  await page.getByRole("heading", { name: "Which is faster?" }).waitFor();
  await page.locator("article").getByText("<b>not bold</b>").waitFor();
  await soon(async () => assert.equal(await live(page).count(), 3));
  await soon(async () => assert.equal(await live(page).nth(0).getByTestId("chart").count(), 2));
  await live(page).nth(1).getByTestId("margin-words").waitFor();
  await live(page).nth(2).getByTestId("chart").waitFor();
  await page.keyboard.press("Control+s");
  await soon(async () => assert.equal(await page.getByTestId("save-report").count(), 0));
  await page.getByRole("button", { name: "Read" }).click();
  await page.reload();
  await page.getByRole("heading", { name: "Which is faster?" }).waitFor();
  await atRest(page);
  assert.ok((await shownCharts(page)).loss.points > 0);
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(complaints, []);
  await close();
});

test("an earlier version is read, and comes back", async () => {
  const { page, complaints, close } = await open(browser, home, "/reports/Speed%20%2F%20MPS");
  await page.getByRole("button", { name: "Versions" }).click();
  await page.getByRole("dialog", { name: "Earlier versions" }).getByRole("button").first().click();
  await page.getByText("An earlier version.").waitFor();
  await page.getByRole("heading", { name: "Question" }).waitFor();
  await page.getByRole("button", { name: "Edit from here" }).click();
  assert.match(await text(page).inputValue(), /^## Question/);
  await page.getByTestId("save-report").click();
  await soon(async () => assert.match((await reports())[0].state, /^{"text":"## Question/));
  assert.equal(JSON.parse((await reports())[0].state).versions.length, 2);
  assert.deepEqual(complaints, []);
  await close();
});

test("of two who write at once neither loses a text", async () => {
  const { page, close } = await open(browser, home, "/reports/Speed%20%2F%20MPS?edit=true");
  await text(page).fill("mine");
  const [{ name }] = await reports();
  const other = JSON.stringify({ text: "theirs", versions: [] });
  const put = await fetch(`${home.url}/api/corral/v1/reports/${encodeURIComponent(name)}`, {
    method: "PUT",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ state: other }),
  });
  assert.ok(put.ok);
  await page.getByTestId("save-report").click();
  await page.getByText("Somebody else has saved this report since you began.").waitFor();
  assert.equal(await text(page).inputValue(), "mine");
  await page.getByRole("button", { name: "Keep mine" }).click();
  await page.getByTestId("save-report").click();
  await soon(async () => assert.match((await reports())[0].state, /^{"text":"mine"/));
  const [{ view }] = JSON.parse((await reports())[0].state).versions;
  const kept = await (await fetch(`${home.url}/api/corral/v1/views/${view}`)).json();
  assert.equal(kept.state, "theirs");
  await close();
});

test("what is typed while a save is under way is kept, and is saved next", async () => {
  const { page, complaints, close } = await open(browser, home, "/reports/Speed%20%2F%20MPS?edit=true");
  let sent;
  const asked = new Promise((resolve) => {
    sent = resolve;
  });
  let release;
  const released = new Promise((resolve) => {
    release = resolve;
  });
  await page.route("**/api/corral/v1/reports/*", async (route) => {
    if (route.request().method() === "PUT") {
      sent();
      await released;
    }
    await route.continue();
  });
  await text(page).fill("one");
  await page.getByTestId("save-report").click();
  await asked;
  await text(page).fill("one, two");
  release();
  await soon(async () => assert.match((await reports())[0].state, /^{"text":"one"/));
  assert.equal(await text(page).inputValue(), "one, two");
  await page.getByTestId("save-report").click();
  await soon(async () => assert.match((await reports())[0].state, /^{"text":"one, two"/));
  await soon(async () => assert.equal(await page.getByTestId("save-report").count(), 0));
  assert.deepEqual(complaints, []);
  await close();
});

test("leaving asks about a text that is not saved, and a report that somebody deletes stays", async () => {
  const { page, close } = await open(browser, home, "/reports/Speed%20%2F%20MPS?edit=true");
  const [{ name, state }] = await reports();
  await text(page).fill("not saved");
  const answered = [];
  page.on("dialog", (dialog) => {
    answered.push(dialog.message());
    return answered.length < 2 ? dialog.dismiss() : dialog.accept();
  });
  const away = page.getByLabel("Breadcrumb").getByRole("link", { name: "Reports" });
  await away.click();
  await soon(() => assert.deepEqual(answered, ["Leave without saving the report?"]));
  assert.equal(await text(page).inputValue(), "not saved");
  const address = `${home.url}/api/corral/v1/reports/${encodeURIComponent(name)}`;
  assert.ok((await fetch(address, { method: "DELETE" })).ok);
  await page.getByTestId("save-report").click();
  await page.getByRole("alert").first().waitFor();
  assert.equal(await text(page).inputValue(), "not saved");
  assert.deepEqual(await reports(), []);
  await away.click();
  await page.getByText("No reports yet.").waitFor();
  assert.equal(answered.length, 2);
  const put = { method: "PUT", headers: { "Content-Type": "application/json" } };
  assert.ok((await fetch(address, { ...put, body: JSON.stringify({ state }) })).ok);
  await close();
});

test("a report is deleted, and comes back; an unknown one says so", async () => {
  const { page, close } = await open(browser, home, "/reports/none");
  await page.getByText("No report with this name").waitFor();
  await page.getByRole("link", { name: "The list of reports" }).click();
  await page.getByTestId("report").getByRole("button", { name: "Delete" }).click();
  await page.getByText("No reports yet.").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByTestId("report").waitFor();
  await page.setViewportSize({ width: 390, height: 844 });
  assert.deepEqual(await violations(page), []);
  await page.getByRole("link", { name: "Speed / MPS" }).click();
  await page.getByText("one, two").waitFor();
  await page.getByRole("button", { name: "Edit" }).click();
  await text(page).waitFor();
  assert.deepEqual(await violations(page), []);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  await close();
});
