// Comparisons of groups, histories and runs beside others on the page: what is shown is what the server says, the address
// is the question, points lead to their runs, and each page is reached from where runs are selected.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { atRest, fitsPhone, Home, launch, open, soon, until, violations } from "./support.mjs";

// Sixty steps that wait so many milliseconds for data; a third argument makes it fail at the end.
const kScript = `
import sys, time, corral
corral.param("wait", sys.argv[1])
for step in range(60):
    with corral.phase("step"):
        with corral.phase("data wait", kind="wait"):
            time.sleep(float(sys.argv[1]) / 1000)
        time.sleep(0.001)
    corral.log({"done": step / 60})
sys.exit(len(sys.argv) - 2)
`;
// Waits until its neighbour is there, too.
const kBeside = `
import os, sys, time, corral
corral.param("model", sys.argv[1])
length, mine, other = float(sys.argv[2]), *(sys.argv[3:] or [".", "."])
if mine != ".":
    open(mine, "w").close()
while not os.path.exists(other):
    time.sleep(0.01)
for step in range(60):
    with corral.phase("step"):
        time.sleep(length)
`;
const kDay = 86_400_000;
const kStart = Date.parse("2026-01-01T00:00:00Z");

const home = new Home();
let browser;

async function ask(path, body) {
  const answer = await fetch(`${home.url}/api/corral/v1${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  return answer.json();
}

// A run a day: about 100 s up to the tenth, then 120 s; the fifth takes three times as long, the eighth fails.
async function logNights() {
  const { experiment_id } = await home.mlflow("experiments/create", { name: "nights" });
  for (let i = 0; i < 20; i++) {
    const start_time = kStart + i * kDay;
    const { run } = await home.mlflow("runs/create", { experiment_id, start_time, run_name: "nightly" });
    const seconds = (i === 5 ? 300 : i < 10 ? 100 : 120) + (i % 3) * 0.5;
    const status = i === 8 ? "FAILED" : "FINISHED";
    const end_time = start_time + seconds * 1000;
    await home.mlflow("runs/update", { run_id: run.info.run_id, status, end_time });
  }
}

async function run(words, status = 0) {
  const started = home.start("run", "--quiet", "--no-listeners", ...words);
  assert.equal(await started.ended, status, started.output());
}

before(async () => {
  [browser] = await Promise.all([launch(), home.serve()]);
  writeFileSync(join(home.folder, "train.py"), kScript);
  writeFileSync(join(home.folder, "beside.py"), kBeside);
  await logNights();
  for (const wait of ["2", "2", "2", "8", "8", "8"])
    await run(["--name", wait === "2" ? "before" : "after", "train.py", wait]);
  await run(["--name", "after", "train.py", "8", "fail"], 1);
  const shared = ["--experiment", "shared"];
  for (const model of ["small", "small"]) await run([...shared, "beside.py", model, "0.01"]);
  const pair = [
    ["--workload", "2", "beside.py", "small", "0.02", "small.there", "large.there"],
    ["--workload", "2", "beside.py", "large", "0.02", "large.there", "small.there"],
  ];
  await Promise.all(pair.map((words) => run([...shared, ...words])));
});

after(async () => {
  await browser?.close();
  await home.close();
});

const told = (page) => page.getByTestId("told-text").allTextContents();
const verdicts = (page) => page.getByTestId("told-verdict").allTextContents();

test("times to a target have misses and no ratios, limits of a history are lines", async () => {
  const question = { groups: [{ named: "before" }, { named: "after" }], target: "done >= 0.5" };
  const found = await ask("/compare", question);
  const { page, complaints, close } = await open(
    browser,
    home,
    `/compare?group=before&group=after&target=${encodeURIComponent("done >= 0.5")}`,
  );
  await page.getByTestId("answered").waitFor();
  assert.deepEqual(await told(page), [found.differences[0].text]);
  assert.match(await page.getByTestId("margin-words").innerText(), /^time to done >= 0.5, by ranks$/);
  assert.equal(await page.getByTestId("forest").count(), 0);
  assert.match(await page.getByTestId("command").innerText(), /--target 'done >= 0.5'/);
  await page.getByTestId("target").fill("done > 1");
  await page.getByTestId("target").press("Enter");
  await soon(async () =>
    assert.deepEqual(await told(page), ["No run of before or after reached the target."]),
  );
  assert.match(await page.getByRole("table", { name: "Without a value" }).innerText(), /missed after/);
  await page.goto(`${home.url}/history?group=nightly&metric=duration&at-most=110`);
  await page.getByTestId("answered").waitFor();
  assert.match(await page.getByTestId("history").innerText(), /11 runs beyond the limits\./);
  assert.deepEqual(complaints, []);
  await close();
});

test("the page of a comparison says what the server says: verdict, sentence, warnings, parts", async () => {
  const question = { groups: [{ named: "before" }, { named: "after" }] };
  const found = await ask("/compare", question);
  const { page, complaints, close } = await open(browser, home, "/compare?group=before&group=after");
  await page.getByTestId("answered").waitFor();
  const [difference] = found.differences;
  assert.deepEqual(await told(page), [difference.text]);
  assert.deepEqual(await verdicts(page), [difference.verdict]);
  assert.match(await page.getByTestId("margin-words").innerText(), /^time per step, .*2\u2009% \(post hoc\)$/);
  const warnings = await page.getByTestId("warnings").getByRole("listitem").allTextContents();
  assert.ok(warnings.includes("after: 1 of 4 do not count: it ended as failed."), warnings.join("\n"));
  const forest = await page.getByTestId("forest").getByRole("img").getAttribute("aria-label");
  assert.match(forest, /after against before: [\d.]+ × \([\d.]+ to [\d.]+\)/);
  const parts = page.getByRole("table", { name: /^Parts of the time per step/ });
  assert.match(await parts.innerText(), /data wait/);
  assert.match(await page.getByRole("table", { name: "Groups" }).innerText(), /after\s+3 of 4/);
  assert.match(await page.getByRole("table", { name: /^Set-up/ }).innerText(), /wait\s+2\s+8/);
  assert.match(await page.getByRole("table", { name: "Without a value" }).innerText(), /it ended as failed/);
  await atRest(page);
  assert.deepEqual(await violations(page), []);
  await fitsPhone(page);
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(complaints, []);
  await close();
});

test("one value on a side is too few, and looks neutral", async () => {
  const ids = Object.fromEntries((await home.runs()).map((one) => [one.name, one.id]));
  const path = `/compare?group=${ids.before}&group=${ids.after}`;
  const { page, close } = await open(browser, home, `${path}&metric=duration`);
  await until(page, () => document.querySelector("[data-testid=told-verdict]"));
  assert.deepEqual(await verdicts(page), ["too few"]);
  assert.equal(await page.locator(".verdict.shown").count(), 0);
  await close();
});

test("the side panel changes the question, Back takes it back, and the command asks the same", async () => {
  const { page, close } = await open(browser, home, "/compare?group=before&group=after", {
    permissions: ["clipboard-read", "clipboard-write"],
  });
  await page.getByTestId("answered").waitFor();
  await page.getByTestId("margin").fill("400%");
  await page.getByTestId("margin").press("Enter");
  await page.getByText("The margin is not a share.").waitFor();
  await page.getByTestId("margin").fill("90%");
  await page.getByTestId("margin").press("Enter");
  await until(page, () => /90/.test(document.querySelector("[data-testid=margin-words]")?.textContent));
  await page.getByTestId("value").fill("duration");
  await page.getByTestId("value").press("Enter");
  await page.getByTestId("copy-command").click();
  await page.getByText("Copied.").waitFor();
  const command = "corral compare before after --metric duration --margin 90%";
  await soon(async () => assert.equal(await page.getByTestId("command").innerText(), command));
  await page.goBack();
  await page.getByTestId("copy-command").click();
  const copied = () => page.evaluate(() => navigator.clipboard.readText());
  await soon(async () => assert.equal(await copied(), "corral compare before after --margin 90%"));
  await close();
});

test("a wrong filter shows the server's error, and is corrected in its place", async () => {
  const filter = "params.wait = 2";
  const { error } = await ask("/compare", { groups: [{ filter }, { named: "after" }] });
  const search = new URLSearchParams([["group", filter], ["group", "after"]]);
  const { page, close } = await open(browser, home, `/compare?${search}`);
  const failing = page.getByTestId("failing");
  await failing.waitFor();
  assert.ok((await failing.innerText()).includes(error.message), error.message);
  await page.getByTestId("group").first().fill("params.wait = '2'");
  await page.getByTestId("group").first().press("Enter");
  await page.getByTestId("answered").waitFor();
  assert.equal(new URL(page.url()).searchParams.getAll("group")[0], "params.wait = '2'");
  await close();
});

test("selected runs are compared by their names, and each point leads to its run", async () => {
  const { page, complaints, close } = await open(browser, home, "/?q=attributes.run_name = 'before'");
  await until(page, () => document.querySelectorAll("[data-testid=run-row]").length === 3);
  await page.getByTestId("runs-table").focus();
  await page.keyboard.press("Control+a");
  const bar = page.getByTestId("selection-bar");
  await bar.getByTestId("to-compare").waitFor();
  await bar.getByTestId("to-compare").click();
  // A single name makes a single group.
  await page.getByText("a comparison needs two groups or more").waitFor();
  await page.getByTestId("group-more").fill("after");
  await page.getByTestId("group-more").press("Enter");
  await page.getByTestId("answered").waitFor();
  const groups = page.getByRole("table", { name: "Groups" });
  await until(page, () => document.querySelectorAll(".places a").length === 7);
  assert.match(await groups.innerText(), /before\s+3 of 3[^]*after\s+3 of 4/);
  const points = page.locator(".places a");
  await points.first().focus();
  await page.keyboard.press("End");
  assert.match(
    await page.getByTestId("values-words").innerText(),
    /^after of after: it ended as failed$/,
  );
  await page.keyboard.press("Enter");
  await soon(() => assert.match(page.url(), /\/runs\/[0-9a-f]{32}/));
  await page.goBack();
  await page.getByTestId("answered").waitFor();
  await points.first().click();
  await soon(() => assert.match(page.url(), /\/runs\/[0-9a-f]{32}/));
  assert.deepEqual(
    complaints.filter((one) => !/status of 400/.test(one)),
    [],
  );
  await close();
});

test("a history has its changes as the server tells them, its outliers and its failed runs", async () => {
  const question = { groups: [{ named: "nightly" }], value: "duration" };
  const [history] = (await ask("/history", question)).histories;
  const { page, complaints, close } = await open(browser, home, "/history");
  // Runs of a client have no commit.
  await page.route("**/api/corral/v1/history", async (route) => {
    const response = await route.fetch();
    const json = await response.json();
    json.histories[0].units.forEach((unit, i) => {
      unit.commit = (i < 10 ? "a" : "b").repeat(40);
    });
    await route.fulfill({ response, json });
  });
  await page.getByTestId("group-more").fill("nightly");
  await page.getByTestId("group-more").press("Enter");
  await page.getByTestId("value").fill("duration");
  await page.getByTestId("value").press("Enter");
  await until(page, () => /^duration/.test(document.querySelector("[data-testid=history] .unit")?.textContent));
  const [change] = history.changes;
  assert.deepEqual(await told(page), [change.text]);
  assert.deepEqual(await verdicts(page), [change.confirmed ? "confirmed" : "suspected"]);
  const points = page.locator(".places a");
  assert.equal(await points.count(), 20);
  await points.nth(5).focus();
  const words = page.getByTestId("sequence-words");
  assert.match(await words.innerText(), /^nightly \(commit aaaaaaaa\), .*: 301\u2009s, an outlier/);
  await points.nth(8).hover();
  await words.filter({ hasText: /: it ended as failed$/ }).waitFor();
  const segments = await page.getByRole("table", { name: "Segments of nightly" }).innerText();
  assert.match(segments, /1\.2 × \([\d.]+ to [\d.]+\)/);
  const runs = page.getByRole("table", { name: "Runs of nightly" });
  assert.match(await runs.innerText(), /bbbbbbbb/);
  assert.equal(
    await page.getByTestId("command").innerText(),
    "corral history nightly --metric duration",
  );
  await atRest(page);
  assert.deepEqual(await violations(page), []);
  await fitsPhone(page);
  assert.deepEqual(complaints, []);
  await close();
});

test("runs beside others: slowdowns, who slows down whom, what is missing, cells as CSV", async () => {
  const { experiment_id } = (await home.runs()).find((one) => one.experiment === "shared");
  const answer = await fetch(
    `${home.url}/api/corral/v1/experiments/${experiment_id}/collocation?job=params.model`,
  );
  const found = await answer.json();
  const { page, complaints, close } = await open(browser, home, `/experiments/${experiment_id}`);
  await page.getByRole("link", { name: "Workflow and slowdowns" }).click();
  await page.getByTestId("collocation").waitFor();
  await page.getByTestId("job").fill("params.model");
  await page.getByTestId("job").press("Enter");
  await soon(() => assert.match(page.url(), /job=params\.model/));
  await until(page, () => /1 of 1/.test(document.querySelector("[data-testid=collocation]")?.textContent));
  const workflow = await fetch(`${home.url}/api/corral/v1/experiments/${experiment_id}/workflow`);
  const { summary, path } = await workflow.json();
  const whole = page.getByTestId("workflow");
  assert.ok((await whole.innerText()).includes(summary), summary);
  const links = whole.getByRole("table", { name: "Critical path" }).getByRole("link");
  assert.equal(await links.first().getAttribute("href"), `/runs/${path[0].run}`);
  const missing = await page.getByTestId("missing").innerText();
  for (const text of found.missing) assert.ok(missing.includes(text), text);
  const effects = await page.getByTestId("effect").allTextContents();
  const { slowdown } = found.cells[0].runs.find((one) => one.slowdown !== null);
  assert.ok(effects.includes(String(Number(slowdown.toPrecision(3)))), effects.join());
  assert.ok(effects.some((text) => /^no run of [AB] alone$/.test(text)), effects.join());
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByTestId("collocation-csv").click(),
  ]);
  const csv = readFileSync(await file.path(), "utf8").trim().split("\r\n");
  assert.equal(csv.length, 3);
  assert.ok(csv.some((line) => line.includes(`,${slowdown},`)), csv.join("\n"));
  await atRest(page);
  assert.deepEqual(await violations(page), []);
  await fitsPhone(page);
  assert.deepEqual(complaints, []);
  await close();
});

test("without a question each page says what to do next", async () => {
  for (const [path, words] of [
    ["/compare", "A comparison needs two groups or more"],
    ["/history", "No group is chosen."],
    ["/collocation", "No plan, workload or experiment is chosen."],
  ]) {
    const { page, complaints, close } = await open(browser, home, path);
    await page.getByText(words).waitFor();
    assert.deepEqual(await violations(page), []);
    await fitsPhone(page);
    assert.deepEqual(complaints, []);
    await close();
  }
});
