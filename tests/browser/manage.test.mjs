// Changing runs in a real Chromium: rename, tag, archive, trash and undo in the list, and on a run's page.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Home, launch, open, soon, until, violations } from "./support.mjs";

const home = new Home();
const ids = {};
let browser;

before(async () => {
  [browser] = await Promise.all([launch(), home.serve()]);
  const { experiment_id } = await home.mlflow("experiments/create", { name: "sweep" });
  for (const [i, run_name] of ["one", "two", "three", "goes-on"].entries()) {
    const start_time = Date.parse("2026-01-01T00:00:00Z") + i * 60_000;
    const tags = [{ key: "team", value: "vision" }];
    const { run } = await home.mlflow("runs/create", { experiment_id, start_time, run_name, tags });
    ids[run_name] = run.info.run_id;
    const end = { run_id: run.info.run_id, status: "FINISHED", end_time: start_time + 1000 };
    if (run_name !== "goes-on") await home.mlflow("runs/update", end);
  }
});

after(async () => {
  await browser?.close();
  await home.close();
});

const api = async (path, body) => {
  const answer = await fetch(`${home.url}/api/corral/v1${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { "Content-Type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  assert.equal(answer.status, 200, path);
  return answer.json();
};
const change = (name, to) =>
  api("/runs/changes", { changes: [{ runs: [ids[name]], ...to }], force: true });
const names = (page) => page.locator('[role=gridcell][data-column="name"]').allTextContents();
const lists = (page, wanted) => soon(async () => assert.deepEqual(await names(page), wanted));
const kAll = ["goes-on", "three", "two", "one"];

test("the keyboard selects runs and moves them to the trash, and undo brings them back", async () => {
  const { page, complaints, close } = await open(browser, home, "/");
  await lists(page, kAll);
  await page.getByTestId("runs-table").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Space");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Space");
  await page.getByTestId("to-trash").focus();
  await page.keyboard.press("Enter");
  await lists(page, ["goes-on", "one"]);
  await page.getByText("2 runs moved to the trash").waitFor();
  assert.equal(await page.getByTestId("basket-count").textContent(), "0 runs");
  await page.getByTestId("board-undo").focus();
  await page.keyboard.press("Enter");
  await lists(page, kAll);
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(complaints, []);
  await close();
});

test("the trash and the archive show their runs and give them back", async () => {
  await change("one", { state: "trashed" });
  await change("two", { state: "archived" });
  const { page, complaints, close } = await open(browser, home, "/");
  await lists(page, ["goes-on", "three"]);
  await page.getByTestId("tree-trashed").click();
  await lists(page, ["one"]);
  await page.getByText("1 run in the trash").waitFor();
  await page.getByTestId("run-check").click();
  assert.equal(await page.getByTestId("to-trash").count(), 0);
  await page.getByTestId("restore").click();
  await page.getByText("The trash is empty.").waitFor();
  await page.getByTestId("tree-archived").click();
  await lists(page, ["two"]);
  await page.getByTestId("run-check").click();
  await page.getByTestId("restore").click();
  await page.getByText("The archive is empty.").waitFor();
  await page.getByRole("link", { name: "Show all runs" }).click();
  await lists(page, kAll);
  assert.deepEqual(complaints, []);
  await close();
});

test("a running run goes to the trash only when that is confirmed", async () => {
  const { page, complaints, close } = await open(browser, home, "/");
  await lists(page, kAll);
  await page.getByTestId("run-check").first().click();
  await page.getByTestId("to-trash").click();
  await page.getByTestId("change-failed").getByText("still running").waitFor();
  assert.deepEqual(await names(page), kAll);
  await page.getByRole("button", { name: "Move anyway" }).click();
  await lists(page, kAll.slice(1));
  await page.getByTestId("board-undo").click();
  await lists(page, kAll);
  assert.deepEqual(
    complaints.filter((words) => !words.includes("409")),
    [],
  );
  await close();
});

test("one run is renamed, several are tagged, and undo takes it back", async () => {
  const { page, complaints, close } = await open(browser, home, "/");
  await lists(page, kAll);
  await page.getByTestId("run-check").nth(3).click();
  await page.getByTestId("rename").click();
  await page.getByTestId("new-name").fill("best of all");
  await page.getByTestId("new-name").press("Enter");
  await lists(page, ["goes-on", "three", "two", "best of all"]);
  await page.getByTestId("basket").filter({ hasText: "best of all" }).waitFor();
  await page.getByTestId("board-undo").click();
  await lists(page, kAll);
  await page.getByTestId("run-check").nth(2).click();
  assert.equal(await page.getByTestId("rename").count(), 0, "two runs have no one name");
  await page.getByTestId("tag").click();
  await page.getByTestId("new-tags").fill("team=\nstage=final");
  await page.getByRole("button", { name: "Change 2 runs" }).click();
  await page.getByText("2 runs tagged").waitFor();
  assert.equal((await api(`/runs/${ids.one}`)).tags.stage, "final");
  assert.equal((await api(`/runs/${ids.two}`)).tags.team, undefined);
  await page.getByTestId("board-undo").click();
  await soon(async () => assert.equal((await api(`/runs/${ids.two}`)).tags.team, "vision"));
  assert.equal((await api(`/runs/${ids.one}`)).tags.stage, undefined);
  assert.deepEqual(complaints, []);
  await close();
});

test("a run's page says what happens to it elsewhere, and changes its name and tags in place", async () => {
  const { page, complaints, close } = await open(browser, home, `/runs/${ids.one}?tab=about`);
  const head = (words) =>
    until(page, (w) => document.querySelector("h1")?.textContent === w, words);
  await head("one");
  await change("one", { name: "renamed elsewhere", state: "trashed" });
  await head("renamed elsewhere");
  await page.getByTestId("hidden-run").getByText("This run is in the trash").waitFor();
  await page.getByTestId("restore-run").click();
  await page.getByTestId("hidden-run").waitFor({ state: "detached" });
  assert.equal((await api(`/runs/${ids.one}`)).state, "active");
  await page.getByTestId("run-name").fill("one");
  await page.getByTestId("run-name").press("Enter");
  await head("one");
  await page.getByTestId("new-tag").fill("stage=final");
  await page.getByTestId("new-tag").press("Enter");
  await page.getByRole("button", { name: "Remove the tag stage" }).waitFor();
  assert.equal((await api(`/runs/${ids.one}`)).tags.stage, "final");
  await page.getByRole("button", { name: "Remove the tag stage" }).click();
  await page.getByRole("button", { name: "Remove the tag stage" }).waitFor({ state: "detached" });
  assert.deepEqual(await violations(page), []);
  await change("one", { state: "archived" });
  await page.getByTestId("hidden-run").getByText("archive").waitFor();
  await change("one", { state: "active" });
  await page.getByTestId("hidden-run").waitFor({ state: "detached" });
  assert.deepEqual(complaints, []);
  await close();
});

test("the trash is emptied after a question that says what goes; running runs stay", async () => {
  for (const name of ["one", "two", "goes-on"]) await change(name, { state: "trashed" });
  const { page, complaints, close } = await open(browser, home, "/");
  await page.getByTestId("tree-trashed").click();
  await lists(page, ["goes-on", "two", "one"]);
  const dialog = page.getByTestId("empty-trash-dialog");
  const ask = async () => {
    await page.getByTestId("empty-trash").click();
    await dialog.getByText("This cannot be undone. 2 runs with all metrics").waitFor();
  };
  await ask();
  await dialog.getByText("1 run is still running and stays in the trash.").waitFor();
  assert.deepEqual(await violations(page), []);
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await lists(page, ["goes-on", "two", "one"]);
  await ask();
  await page.getByTestId("empty-trash-confirm").click();
  await lists(page, ["goes-on"]);
  await until(page, () => document.querySelector("dialog[open]") === null);
  const gone = await fetch(`${home.url}/api/corral/v1/runs/${ids.two}`);
  assert.equal(gone.status, 404);
  assert.deepEqual(complaints, []);
  await close();
});
