// The list of runs in a real Chromium: saved lists as tabs, over runs that a client logged.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { atRest, fitsPhone, Home, launch, open, soon, violations } from "./support.mjs";

const home = new Home();
let browser;

// Run i: learning rates 0.1 and 0.01, the same batch, an accuracy, and a loss that the last one lacks.
const kNames = ["a-one", "a-two", "b-one", "b-two", "plain"];
before(async () => {
  [browser] = await Promise.all([launch(), home.serve()]);
  for (const [i, run_name] of kNames.entries()) {
    const name = run_name.slice(0, 1);
    const found = await home.mlflow("experiments/search", { max_results: 100 });
    const known = found.experiments.find((one) => one.name === name);
    const { experiment_id } = known ?? (await home.mlflow("experiments/create", { name }));
    const start_time = Date.parse("2026-01-01T00:00:00Z") + i * 60_000;
    const { run } = await home.mlflow("runs/create", { experiment_id, start_time, run_name });
    const run_id = run.info.run_id;
    const params = [
      { key: "lr", value: i % 2 ? "0.1" : "0.01" },
      { key: "batch", value: "64" },
    ];
    const values = { loss: 0.5 - i / 10, accuracy: 0.5 + i / 10 };
    if (run_name === "plain") delete values.loss;
    const metrics = Object.entries(values).map(([key, value]) => ({
      key,
      value,
      timestamp: start_time,
      step: 1,
    }));
    await home.mlflow("runs/log-batch", { run_id, params, metrics });
    await home.mlflow("runs/update", { run_id, status: "FINISHED", end_time: start_time + 1000 });
  }
});

after(async () => {
  await browser?.close();
  await home.close();
});

const names = (page) => page.locator('[role=gridcell][data-column="name"]').allTextContents();
const lists = (page, wanted) => soon(async () => assert.deepEqual(await names(page), wanted));
const tabs = (page, wanted) =>
  soon(async () => assert.deepEqual(await page.getByTestId("list-tab").allTextContents(), wanted));
const current = (page) =>
  page.getByTestId("list-tabs").locator('[aria-current="page"]').textContent();
const kAll = [...kNames].reverse();

async function save(page, name) {
  await page.getByTestId("list-save").click();
  await page.getByTestId("list-name").fill(name);
  await page.getByTestId("list-name").press("Enter");
}

test("a list is saved as a tab, changed, reset, renamed and deleted, and undo brings it back", async () => {
  const { page, complaints, close } = await open(
    browser,
    home,
    "/?sort=name&col=name&col=params.lr",
  );
  await lists(page, kNames);
  assert.equal(await page.getByTestId("list-tabs").count(), 0, "no tabs before the first list");
  await page.getByTestId("search").fill("lr=0.1");
  await lists(page, ["a-two", "b-two"]);
  await save(page, "fast ones");
  await tabs(page, ["All runs", "fast ones"]);
  assert.equal(await current(page), "fast ones");
  assert.equal(new URL(page.url()).searchParams.get("tab"), "fast ones");
  // A link says all of it, in another browser too.
  const other = await open(
    browser,
    home,
    new URL(page.url()).pathname + new URL(page.url()).search,
  );
  await lists(other.page, ["a-two", "b-two"]);
  assert.equal(await current(other.page), "fast ones");
  // Changed, and reset.
  await page.getByTestId("search").fill("lr=0.01");
  await lists(page, ["a-one", "b-one", "plain"]);
  await tabs(page, ["All runs", "fast ones changed"]);
  await page.getByTestId("list-reset").click();
  await lists(page, ["a-two", "b-two"]);
  await tabs(page, ["All runs", "fast ones"]);
  // Changed, and saved: the other browser shows it after its next look at the server.
  await page.getByTestId("column").first().getByRole("button").click();
  await lists(page, ["b-two", "a-two"]);
  await page.getByTestId("list-update").click();
  await page.getByTestId("board-toast").getByText("List fast ones replaced").waitFor();
  await tabs(page, ["All runs", "fast ones"]);
  await other.page.reload();
  await tabs(other.page, ["All runs", "fast ones changed"]);
  await other.close();
  await page.getByTestId("list-menu").click();
  await page.getByTestId("list-name").fill("quick");
  await page.getByTestId("list-name").press("Enter");
  await tabs(page, ["All runs", "quick"]);
  await soon(() => assert.equal(new URL(page.url()).searchParams.get("tab"), "quick"));
  await page.getByTestId("list-menu").click();
  await page.getByTestId("list-delete").click();
  await soon(async () => assert.equal(await page.getByTestId("list-tabs").count(), 0));
  await lists(page, ["b-two", "a-two"]);
  await page.getByText("List quick deleted").waitFor();
  await page.getByTestId("board-undo").click();
  await tabs(page, ["All runs", "quick"]);
  await page.getByTestId("list-tab").first().click();
  await lists(page, kAll);
  await page.getByTestId("list-tab").last().click();
  await lists(page, ["b-two", "a-two"]);
  assert.deepEqual(await violations(page), []);
  await fitsPhone(page);
  assert.deepEqual(complaints, []);
  await close();
});

test("columns of a saved list stay in it, and a list that somebody else saved is not overwritten", async () => {
  const { page, complaints, close } = await open(browser, home, "/?col=name");
  await lists(page, kAll);
  await save(page, "mine");
  await page.getByText("mine", { exact: true }).waitFor();
  await page.getByTestId("columns-button").click();
  await page.locator('[data-testid=column-offer][data-column="params.lr"] input').click();
  await page.getByTestId("list-changed").waitFor();
  const state = "q=plain&col=name";
  const put = await fetch(`${home.url}/api/corral/v1/lists/mine`, {
    method: "PUT",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ state }),
  });
  assert.equal(put.status, 200);
  await page.keyboard.press("Escape");
  await page.getByTestId("list-update").click();
  await page.getByTestId("list-failed").getByText("somebody else has saved the list").waitFor();
  const { lists: kept } = await (await fetch(`${home.url}/api/corral/v1/lists`)).json();
  assert.equal(kept.find(({ name }) => name === "mine").state, state);
  // The plain list of this browser has the columns that it had.
  await page.getByTestId("list-tab").first().click();
  const titles = page.getByTestId("column");
  await soon(async () => assert.ok((await titles.count()) > 5));
  assert.equal(await page.locator('[data-testid=column][data-column="params.lr"]').count(), 0);
  assert.deepEqual(
    complaints.filter((words) => !words.includes("409")),
    [],
  );
  await close();
});

test("only what differs: columns follow the listed runs, and the chosen ones come back", async () => {
  const { page, complaints, close } = await open(browser, home, "/?col=name&col=params.batch&col=host");
  const titles = () =>
    page.getByTestId("column").evaluateAll((all) => all.map((head) => head.dataset.column));
  const shows = (wanted) => soon(async () => assert.deepEqual(await titles(), wanted));
  await shows(["name", "params.batch", "host"]);
  await page.getByTestId("columns-button").click();
  await page.getByTestId("only-differs").getByRole("checkbox").click();
  await shows(["name", "params.lr"]);
  await page.getByTestId("only-differs").getByText("2 hidden").waitFor();
  await atRest(page);
  assert.deepEqual(await violations(page), []);
  await page.keyboard.press("Escape");
  // Among fewer runs nothing differs.
  await page.getByTestId("search").fill("lr=0.1");
  await shows(["name"]);
  await page.getByTestId("search").fill("");
  await shows(["name", "params.lr"]);
  await page.reload();
  await shows(["name", "params.lr"]);
  await page.getByTestId("columns-button").click();
  await page.getByTestId("only-differs").getByRole("checkbox").click();
  await shows(["name", "params.batch", "host"]);
  assert.deepEqual(complaints, []);
  await close();
});

test("a pinned baseline stands first, and every value says how far it is from it", async () => {
  const path = "/?sort=name&col=name&col=loss&col=metrics.accuracy";
  const { page, complaints, close } = await open(browser, home, path);
  await lists(page, kNames);
  await page.getByTestId("runs-table").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("b");
  const pinned = page.getByTestId("baseline-row");
  await pinned.getByText("a-two").waitFor();
  const deltas = (row) => row.getByTestId("delta").allTextContents();
  const row = (i) => page.getByTestId("run-row").nth(i);
  await soon(async () => assert.deepEqual(await deltas(row(0)), ["+25\u2009%", "−17\u2009%"]));
  assert.deepEqual(await deltas(pinned), ["", ""]);
  assert.deepEqual(await deltas(row(1)), ["", ""], "the baseline's own row");
  assert.deepEqual(await deltas(row(4)), ["–", "+50\u2009%"]);
  const cell = row(4).locator('[data-column="loss"]');
  assert.match(await cell.getAttribute("title"), /this run has no value here/);
  assert.equal(await row(0).getByTestId("delta").first().getAttribute("class"), "delta worse");
  assert.equal(await row(0).getByTestId("delta").last().getAttribute("class"), "delta");
  assert.deepEqual(await violations(page), []);
  await page.getByRole("button", { name: "Compare by difference" }).click();
  await soon(async () => assert.deepEqual(await deltas(row(0)), ["+0.1", "−0.1"]));
  // It stays first, whatever is listed, and in a link.
  await page.getByTestId("search").fill("b-one");
  await soon(async () => assert.deepEqual(await names(page), ["a-two", "b-one"]));
  await page.reload();
  await soon(async () => assert.deepEqual(await names(page), ["a-two", "b-one"]));
  await soon(async () => assert.deepEqual(await deltas(row(0)), ["−0.1", "+0.1"]));
  // Another one by the pointer, on a phone by the selection; B lets it go.
  await row(0).hover();
  await row(0).getByTestId("pin").click();
  await soon(async () => assert.deepEqual(await names(page), ["b-one", "b-one"]));
  await page.getByTestId("baseline-remove").click();
  await lists(page, ["b-one"]);
  await page.getByTestId("run-check").click();
  await page.getByTestId("pin-selected").click();
  await soon(async () => assert.deepEqual(await names(page), ["b-one", "b-one"]));
  await fitsPhone(page);
  assert.deepEqual(complaints, []);
  await close();
});

test("a baseline that was removed is said, and takes nothing with it", async () => {
  const { page, complaints, close } = await open(browser, home, `/?col=name&base=${"0".repeat(32)}`);
  await lists(page, kAll);
  await page.getByText("The baseline was removed or is in the trash.").waitFor();
  await page.getByTestId("baseline-remove").click();
  await soon(async () => assert.equal(await page.getByTestId("baseline-bar").count(), 0));
  assert.deepEqual(complaints, []);
  await close();
});

test("groups open and close, with counts and means, by pointer, keyboard and address", async () => {
  const { page, complaints, close } = await open(browser, home, "/?sort=name&col=name&col=loss&col=metrics.accuracy");
  await lists(page, kNames);
  await page.getByTestId("columns-button").click();
  await page.getByTestId("group-by").selectOption("params.lr");
  await page.keyboard.press("Escape");
  const groups = page.getByTestId("run-group");
  const texts = () => groups.allInnerTexts();
  const flat = async () => (await texts()).map((text) => text.replace(/\s+/g, " ").trim());
  await soon(async () =>
    assert.deepEqual(await flat(), ["lr 0.01 3 runs, mean 0.4 0.7", "lr 0.1 2 runs, mean 0.3 0.7"]),
  );
  assert.deepEqual(await names(page), [], "groups are closed at first");
  await page.getByText("5 runs", { exact: true }).waitFor();
  const loss = groups.first().locator('[data-column="loss"]');
  assert.equal(await loss.getAttribute("title"), "loss: mean 0.4 of 2 runs, 0.3 to 0.5");
  await groups.last().click();
  await lists(page, ["a-two", "b-two"]);
  await page.reload();
  await lists(page, ["a-two", "b-two"]);
  assert.deepEqual(await violations(page), []);
  // The keyboard: open the first group, and select from its second run into the next group.
  await page.getByTestId("runs-table").focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowRight");
  await lists(page, ["a-one", "b-one", "plain", "a-two", "b-two"]);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  for (let i = 0; i < 3; i++) await page.keyboard.press("Shift+ArrowDown");
  await soon(async () =>
    assert.equal(await page.getByTestId("basket-count").textContent(), "3 runs"),
  );
  const chosen = await page.getByTestId("basket").textContent();
  for (const name of ["b-one", "plain", "a-two"]) assert.ok(chosen.includes(name), name);
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowLeft");
  await lists(page, ["a-two", "b-two"]);
  // Sorted within the groups, and the groups turned.
  await page.getByTestId("column").first().getByRole("button").click();
  await lists(page, ["b-two", "a-two"]);
  await page.getByTestId("columns-button").click();
  await page.getByTestId("group-by").selectOption("experiment");
  await soon(async () => assert.deepEqual((await flat()).map((text) => text[0]), ["a", "b", "p"]));
  await page.getByTestId("group-by").selectOption("");
  await lists(page, [...kNames].reverse());
  assert.deepEqual(complaints, []);
  await close();
});

test("the keys of the list reach it from anywhere, and the help names them", async () => {
  const { page, complaints, close } = await open(browser, home, "/?sort=name&col=name");
  await lists(page, kNames);
  const active = () =>
    page.evaluate(() => {
      const id = document.activeElement?.getAttribute("aria-activedescendant");
      return id ? document.getElementById(id)?.innerText.trim() : null;
    });
  const at = (name) => soon(async () => assert.equal(await active(), name));
  await page.keyboard.press("j");
  await at("a-one");
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await at("b-one");
  await page.keyboard.press("k");
  await at("a-two");
  await page.keyboard.press("Space");
  await page.keyboard.press("Shift+J");
  const ticked = page.locator('[role=row][aria-selected="true"]');
  await soon(async () => assert.deepEqual(await ticked.allInnerTexts().then((all) => all.map((t) => t.trim())), ["a-two", "b-one"]));
  await page.keyboard.press("?");
  const help = page.getByTestId("help");
  await help.getByText("compare all runs to this one").waitFor();
  assert.deepEqual(await violations(page), []);
  await page.keyboard.press("Escape");
  await page.keyboard.press("/");
  await page.keyboard.type("jk");
  assert.equal(await page.getByTestId("search").inputValue(), "jk");
  await page.keyboard.press("Escape");
  await lists(page, kNames);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/runs\/[0-9a-f]{32}/);
  assert.deepEqual(complaints, []);
  await close();
});

test("a starred metric stands first among columns and on a board, also after a reload", async () => {
  const { page, complaints, close } = await open(browser, home, "/?col=name");
  await lists(page, kAll);
  const offer = (key) => page.locator(`[data-testid=column-offer][data-column="${key}"]`);
  const offers = () =>
    page.getByTestId("column-offer").evaluateAll((all) => all.map((one) => one.dataset.column));
  await page.getByTestId("columns-button").click();
  await offer("metrics.loss").hover();
  await offer("metrics.loss").getByTestId("star").click();
  const first = ["metrics.loss", "metrics.loss.min", "metrics.loss.max", "metrics.loss.mean", "trend.loss"];
  await soon(async () => assert.deepEqual((await offers()).slice(0, 5), first));
  assert.equal(await page.getByTestId("column").count(), 1, "the star chooses no column");
  assert.deepEqual(await violations(page), []);
  const [run] = await home.runs();
  const other = (await home.runs()).find(({ name }) => name === "a-one");
  await page.goto(`${home.url}/board?run=${other.id}&run=${run.id}`);
  const section = page.getByRole("button", { name: /starred/ });
  await section.waitFor();
  await page.reload();
  await section.waitFor();
  const row = page.locator("label.row.item").first();
  assert.match(await row.innerText(), /^loss/);
  await row.getByTestId("star").click();
  await soon(async () => assert.equal(await section.count(), 0));
  assert.deepEqual(complaints, []);
  await close();
});
