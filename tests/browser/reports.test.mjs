// Reports in a real Chromium: texts with live charts and comparisons, their versions, and two people who write at once.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
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

async function write(name, markdown) {
  const state = JSON.stringify({ text: markdown, versions: [] });
  const put = await fetch(`${home.url}/api/corral/v1/reports/${encodeURIComponent(name)}`, {
    method: "PUT",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ state }),
  });
  assert.ok(put.ok);
}

// The file that a choice of the menu gives.
async function exported(page, way) {
  await page.getByTestId("export-report").click();
  const coming = page.waitForEvent("download");
  await page.getByRole("dialog", { name: "Export this report" }).getByRole("button", { name: way }).click();
  return coming;
}

test("a report is exported as a file that opens without a server and runs nothing", async () => {
  const name = "Ranks / <b>";
  const gone = "0".repeat(32);
  const ids = (await home.runs()).filter((run) => run.name.startsWith("pair")).map(({ id }) => id);
  const groups = ["pair wide", "pair narrow"].map((one) => `group=${encodeURIComponent(one)}`);
  const board = `/board?${ids.map((id) => `run=${id}`).join("&")}&metric=loss&metric=accuracy`;
  const markdown = [
    "# Which is *faster*?",
    "<script>document.title = 'ran'</script>",
    "<img src=x onerror=\"document.title = 'ran'\"> [run](/runs/x)",
    `${home.url}${board}`,
    `/compare?${groups.join("&")}`,
    `/runs/${gone}`,
    `![none](/api/corral/v1/runs/${gone}/artifacts/plot.png)`,
    `![a dot](/api/corral/v1/runs/${wide.id}/artifacts/dot.svg)`,
    `/runs/${wide.id}?metric=loss`,
  ].join("\n\n");
  const dot = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" onload="alert(1)"/>';
  const kept = `${home.url}/api/corral/v1/runs/${wide.id}/artifacts/dot.svg`;
  assert.ok((await fetch(kept, { method: "PUT", body: dot })).ok);
  await write(name, markdown);
  const { page, complaints, close } = await open(browser, home, `/reports/${encodeURIComponent(name)}`);
  await live(page).nth(1).getByTestId("margin-words").waitFor();
  const verdict = await live(page).nth(1).getByTestId("told-text").first().innerText();
  const written = await exported(page, "Markdown");
  assert.equal(written.suggestedFilename(), "Ranks_b_.md");
  assert.equal(readFileSync(await written.path(), "utf8"), markdown);
  const file = await exported(page, "HTML");
  assert.equal(file.suggestedFilename(), "Ranks_b_.html");
  const place = join(home.folder, "report.html");
  await file.saveAs(place);
  assert.equal(await page.getByRole("alert").filter({ hasText: "Not exported" }).count(), 0);
  assert.deepEqual(complaints.filter((one) => !one.includes(gone) && !one.includes("404")), []);
  await close();

  const context = await browser.newContext({ offline: true });
  const opened = await context.newPage();
  const asked = [];
  opened.on("request", (request) => asked.push(request.url()));
  opened.on("pageerror", (error) => asked.push(String(error)));
  await opened.goto(`file://${place}`);
  assert.equal(await opened.title(), name);
  await opened.getByRole("heading", { name: "Which is faster?" }).waitFor();
  await opened.getByText("<script>document.title = 'ran'</script>").waitFor();
  assert.equal(await opened.locator("script, [onerror]").count(), 0);
  const [picture, ...others] = await opened.locator("img").evaluateAll((all) => all.map((one) => one.src));
  assert.match(picture, /^data:image\/svg\+xml;base64,/);
  assert.deepEqual(others, []);
  assert.equal(await opened.getByRole("link", { name: "run", exact: true }).getAttribute("href"), `${home.url}/runs/x`);
  const parts = opened.locator("section.live");
  assert.equal(await parts.count(), 4);
  const charts = parts.nth(0).locator("figure.chart");
  assert.equal(await charts.locator("[role=img] > svg").count(), 2);
  for (const one of ["pair wide", "pair narrow"])
    assert.equal(await charts.nth(0).locator(".legend").getByText(one).count(), 1);
  assert.ok((await charts.nth(0).locator("svg path").count()) > 2);
  await parts.nth(1).getByText(verdict).waitFor();
  assert.match(await parts.nth(2).innerText(), /Could not be read: .*404/);
  await parts.nth(3).getByRole("heading", { name: "Where the time went" }).waitFor();
  assert.equal(await parts.nth(3).locator("figure.chart").count(), 1);
  await opened.getByText("a picture that is not in this file").waitFor();
  const sources = await opened.locator(".source a").evaluateAll((all) => all.map((a) => a.href));
  assert.deepEqual(sources.slice(0, 1), [`${home.url}${board}`]);
  assert.match(await opened.locator("footer").innerText(), /^Exported .* from .*, the version saved/);
  assert.deepEqual(asked.filter((one) => !one.startsWith("data:")), [`file://${place}`]);
  await context.close();
});

test("an export says what it could not draw, and is cancelled by its menu and by leaving", async () => {
  await write("Later", `/board?run=${wide.id}&metric=loss\n\nThe end.`);
  const { page, close } = await open(browser, home, "/reports/Later");
  await live(page).getByTestId("chart").waitFor();
  await atRest(page);
  await page.route("**/api/corral/v1/charts", (route) => route.abort());
  const file = readFileSync(await (await exported(page, "HTML")).path(), "utf8");
  assert.match(file, /The chart of loss was not drawn: The server at [\d.:]+ does not answer/);
  assert.match(file, /The end\./);
  await page.unroute("**/api/corral/v1/charts");

  const downloads = [];
  page.on("download", (one) => downloads.push(one));
  // Without an answer.
  await page.route("**/api/corral/v1/charts", () => {});
  const menu = page.getByRole("dialog", { name: "Export this report" });
  const start = async () => {
    const asked = page.waitForRequest("**/api/corral/v1/charts");
    await page.getByTestId("export-report").click();
    await menu.getByRole("button", { name: "HTML" }).click();
    return asked;
  };
  const failed = (request) => soon(() => assert.equal(request.failure()?.errorText, "net::ERR_ABORTED"));
  const first = await start();
  await page.getByRole("button", { name: "Exporting…" }).click();
  await menu.getByRole("button", { name: "Cancel" }).click();
  await failed(first);
  await page.getByRole("button", { name: "Export", exact: true }).waitFor();
  const second = await start();
  await page.getByLabel("Breadcrumb").getByRole("link", { name: "Reports" }).click();
  await failed(second);
  await page.getByTestId("report").first().waitFor();
  assert.deepEqual(downloads, []);
  await close();
});
