// Plans on the page: the list, the matrix of one, live; and who shared which device, below the charts of a run.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  atRest,
  chartsDrawn,
  Home,
  launch,
  open,
  shownCharts,
  soon,
  until,
  violations,
} from "./support.mjs";

const home = new Home();
let browser;
const id = {};
const kPlan = "00112233445566778899aabbccddeeff";
const kMany = "ffeeddccbbaa99887766554433221100";

// Holds on until the file is there, so that both runs of the workload meet.
const kScript = `
import os, sys, time, corral
corral.log("speed", 100.0, step=0)
open(sys.argv[1], "w").close()
while not os.path.exists(sys.argv[2]):
    time.sleep(0.02)
    corral.log("speed", 60.0)
`;

function train(name, ...files) {
  const tags = [
    'corral.devices=[{"device":"0"}]',
    "corral.collocation=mps",
    `corral.plan=${kPlan}`,
  ].flatMap((tag) => ["--tag", tag]);
  const words = ["--experiment", "E", "--workload", "2", "--name", name, ...tags];
  return home.start("run", "--quiet", ...words, "hold.py", ...files);
}

before(async () => {
  [browser] = await Promise.all([launch(), home.serve()]);
  writeFileSync(join(home.folder, "hold.py"), kScript);
  const first = train("left", "left.there", "right.there");
  const second = train("right", "right.there", "left.there");
  for (const run of [first, second]) assert.equal(await run.ended, 0, run.output());
  await soon(async () => {
    const runs = await home.runs();
    assert.equal(runs.filter((run) => run.status === "finished").length, 2);
    for (const run of runs) id[run.name] = run.id;
  });
});

after(async () => {
  await browser?.close();
  await home.close();
});

const row = (workload, state, more = {}) => ({
  key: `k${workload}${more.name ?? ""}`,
  line: 2,
  experiment: "E",
  workload: String(workload),
  repetition: 1,
  name: "a",
  letter: "_A",
  collocation: "-",
  devices: "0",
  model: "train.py",
  state,
  run: "",
  reason: "",
  tail: [],
  ...more,
});

const kRuns = () => [
  row(1, "out-of-memory", {
    name: "greedy",
    reason: "CUDA out of memory",
    tail: ["one <b>", "two", "OutOfMemoryError"],
  }),
  row(2, "finished", { name: "left", collocation: "mps", run: id.left }),
  row(2, "finished", { name: "right", collocation: "mps", run: id.right }),
  row(3, "running"),
  row(4, "waiting"),
];

async function tell(plan, runs, more = {}) {
  const updated_ns = String(BigInt(Date.now()) * 1_000_000n);
  const body = { file: "plan.csv", host: "node7", state: "running", updated_ns, runs, ...more };
  const reply = await fetch(`${home.url}/api/corral/v1/plans/${plan}`, {
    method: "PUT",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  assert.ok(reply.ok, await reply.text());
}

test("without a plan the page says how to get one; then it appears by itself", async () => {
  const { page, complaints, close } = await open(browser, home, "/plans");
  await page.getByText("No plans yet.").waitFor();
  assert.deepEqual(await violations(page), []);
  await tell(kPlan, kRuns());
  await page.getByTestId("plan").waitFor();
  await page.getByText("3 of 5 runs").waitFor();
  await page.getByTestId("plan").getByText("1 failed").waitFor();
  assert.deepEqual(await violations(page), []);
  await page.getByRole("link", { name: "plan.csv" }).click();
  await page.getByTestId("plan-matrix").waitFor();
  assert.ok(page.url().endsWith(`/plans/${kPlan}`));
  assert.deepEqual(complaints, []);
  await close();
});

test("a plan is a matrix that follows its reports", async () => {
  await tell(kPlan, kRuns());
  const { page, complaints, close } = await open(browser, home, `/plans/${kPlan}`);
  await until(page, () => document.querySelectorAll("[data-testid=plan-row]").length === 4);
  assert.equal(await page.getByTestId("plan-progress").innerText(), "3 of 5 runs, 60 %");
  const states = () =>
    page.evaluate(() =>
      [...document.querySelectorAll("[data-testid=plan-cell]")].map((cell) => cell.dataset.state),
    );
  assert.deepEqual(await states(), ["out-of-memory", "finished", "finished", "running", "waiting"]);
  assert.equal(
    (await page.getByTestId("plan-head").innerText()).replace(/\s+/g, " "),
    "experiment workload collocation runs",
  );
  assert.equal(
    await page.getByTestId("to-collocation").getAttribute("href"),
    `/collocation?plan=${kPlan}`,
  );
  // The runs that were recorded give a pace.
  assert.match(await page.getByTestId("plan-estimate").innerText(), /^about [\d:]+ left$/);
  assert.deepEqual(await violations(page), []);
  const next = kRuns().with(3, row(3, "finished")).with(4, row(4, "running"));
  await tell(kPlan, next, { message: "cooling down: GPU 0 is 84 C" });
  await page.getByText("cooling down: GPU 0 is 84 C").waitFor();
  await soon(async () => assert.deepEqual((await states()).slice(3), ["finished", "running"]));
  // A failed run shows its reason, and a click shows its last lines.
  const failure = page.getByTestId("plan-failure");
  assert.match(await failure.innerText(), /greedy\s+CUDA out of memory\s+last lines/);
  await failure.getByRole("button").click();
  assert.equal(await page.getByTestId("plan-tail").innerText(), "one <b>\ntwo\nOutOfMemoryError");
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(complaints, []);
  await close();
});

test("cells show a chosen metric, and what a workload waits for", async () => {
  await tell(kPlan, [...kRuns(), row(5, "waiting")]);
  const { page, complaints, close } = await open(browser, home, `/plans/${kPlan}`);
  const cells = page.getByTestId("plan-cell");
  await cells.nth(5).waitFor();
  const words = async () =>
    (await cells.allInnerTexts()).map((text) => text.replace(/\s+/g, " ").trim());
  const waiting = ["a next", "a 2nd in line"];
  await soon(async () => assert.deepEqual((await words()).slice(4), waiting));
  assert.match(await cells.nth(4).getAttribute("title"), /waits for workload 3$/);
  assert.match(await cells.nth(5).getAttribute("title"), /workload 3 and 1 workload before it$/);
  await page.getByTestId("metric").selectOption("speed");
  await soon(async () => {
    const shown = await words();
    for (const cell of shown.slice(1, 3)) assert.match(cell, /^(left|right) [\d.]+$/);
    assert.deepEqual(shown.slice(4), waiting);
  });
  const { summaries } = await (
    await fetch(`${home.url}/api/corral/v1/summaries`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ runs: [id.left], metrics: ["speed"], of: ["last"] }),
    })
  ).json();
  const shown = Number((await words())[1].split(" ")[1]);
  assert.ok(Math.abs(shown / summaries[0].values.speed.last - 1) < 1e-3);
  assert.equal(new URL(page.url()).searchParams.get("metric"), "speed");
  await page.reload();
  await soon(async () => assert.match((await words())[1], /^left [\d.]+$/));
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(complaints, []);
  await close();
});

test("filters, keys, and the way to a run and back", async () => {
  await tell(kPlan, kRuns());
  const { page, complaints, close } = await open(browser, home, `/plans/${kPlan}`);
  const rows = (count) =>
    until(page, (n) => document.querySelectorAll("[data-testid=plan-row]").length === n, count);
  await rows(4);
  // A plan's "-" has a word of its own, and hovering over a word shows its meaning.
  const word = (facet, value) =>
    page.locator(`[data-testid=filter-${facet}][data-value="${value}"] .name`);
  assert.equal(await word("collocation", "-").innerText(), "as-is");
  assert.match(
    await word("collocation", "-").getAttribute("title"),
    /^as-is: no sharing configured/,
  );
  assert.match(await word("state", "out-of-memory").getAttribute("title"), /: ran out of memory/);
  await page.locator("[data-testid=filter-state][data-value=out-of-memory]").click();
  await rows(1);
  assert.match(page.url(), /state=out-of-memory/);
  await page.goBack();
  await rows(4);
  await page.getByTestId("plan-search").fill("right mps");
  await rows(1);
  assert.match(page.url(), /q=right/);
  await page.getByTestId("plan-search").fill("nothing at all");
  await page.getByRole("button", { name: "Show all workloads" }).click();
  await rows(4);
  assert.equal(await page.getByTestId("plan-search").inputValue(), "");
  await page.getByTestId("plan-matrix").focus();
  for (const key of ["ArrowDown", "ArrowRight"]) await page.keyboard.press(key);
  await until(page, () =>
    document.querySelector(".plan-cell.active")?.innerText.startsWith("right"),
  );
  await page.keyboard.press("Enter");
  await soon(() => assert.ok(page.url().includes(`/runs/${id.right}`)));
  await page.goBack();
  await rows(4);
  // From the last failure on to the first.
  await page.getByTestId("plan-matrix").focus();
  await page.keyboard.press("End");
  await page.keyboard.press(".");
  await page.keyboard.press(" ");
  await page.getByTestId("plan-tail").waitFor();
  await page.getByTestId("plan-cell").getByText("left").click();
  await soon(() => assert.ok(page.url().includes(`/runs/${id.left}`)));
  assert.deepEqual(complaints, []);
  await close();
});

test("of 10,000 runs only those in sight exist", async () => {
  const runs = Array.from({ length: 10_000 }, (_, i) =>
    row(1 + Math.floor(i / 2), i < 6000 ? "finished" : "waiting", { name: `r${i}` }),
  );
  await tell(kMany, runs, { file: "many.csv" });
  const { page, complaints, close } = await open(browser, home, `/plans/${kMany}`);
  await page.getByTestId("plan-row").first().waitFor();
  assert.equal(
    await page.getByTestId("plan-progress").innerText(),
    "6\u2009k of 10\u2009k runs, 60 %",
  );
  await page.getByTestId("plan-matrix").focus();
  await page.keyboard.press("End");
  await page.getByText("r9999").waitFor();
  const exist = await page.evaluate(
    () => document.querySelectorAll("[data-testid=plan-row]").length,
  );
  assert.ok(exist < 100, `${exist} rows exist`);
  await page.getByTestId("plan-search").fill("r7777");
  await until(page, () => document.querySelectorAll("[data-testid=plan-row]").length === 1);
  assert.match(await page.getByTestId("plan-row").innerText(), /r7776[^]*r7777/);
  assert.deepEqual(complaints, []);
  await close();
});

test("an unknown plan is said", async () => {
  const { page, close } = await open(browser, home, `/plans/${"0".repeat(32)}`);
  await page.getByText("No plan with this ID").waitFor();
  await close();
});

test("who shared which device: lanes, a click zooms, figures alone and shared", async () => {
  const { page, complaints, close } = await open(browser, home, `/runs/${id.left}?metric=speed`);
  await page.getByTestId("sharing").waitFor();
  await chartsDrawn(page);
  await atRest(page);
  const slowdowns = page.getByTestId("sharing").getByRole("link", { name: "Slowdowns" });
  assert.equal(await slowdowns.getAttribute("href"), `/collocation?plan=${kPlan}`);
  const lane = page.getByTestId("sharing-lane");
  assert.deepEqual(await lane.evaluateAll((all) => all.map((one) => one.dataset.lane)), ["gpu0"]);
  const rows = page.getByTestId("sharing-row");
  assert.equal(await rows.count(), 2);
  assert.match(await rows.nth(0).innerText(), /mps/);
  assert.match(await rows.nth(0).innerText(), /right/);
  assert.equal(await page.getByTestId("sharing-metric").inputValue(), "speed");
  assert.deepEqual(await violations(page), []);
  const before = (await shownCharts(page)).speed;
  const box = await lane.locator("canvas").boundingBox();
  const answer = await (
    await fetch(`${home.url}/api/corral/v1/workloads/${await workload()}/sharing`)
  ).json();
  // The second run's row, in the middle of its stay.
  const [, stay] = answer.lanes[0].stays;
  const at = (ns) => Number(BigInt(ns) - BigInt(answer.from_ns)) / 1e9;
  const middle = (at(stay.start_ns) + at(stay.end_ns)) / 2;
  const x = box.x + ((middle - before.from) / (before.to - before.from)) * box.width;
  await page.mouse.click(x, box.y + 30);
  await soon(async () => {
    const { from, to } = (await shownCharts(page)).speed;
    assert.ok(Math.abs(from - at(stay.start_ns)) < 0.01, `${from}`);
    assert.ok(Math.abs(to - at(stay.end_ns)) < 0.01, `${to}`);
  });
  assert.deepEqual(complaints, []);
  await close();
});

const workload = async () => (await home.runs())[0].workload_id;
