// Profiles of a run: the findings on its page, and the marked part of the charts, whose step times are not
// representative.
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
  violations,
} from "./support.mjs";

const home = new Home();
let browser;
const id = {};
// Their commands would outlive them.
const running = [];

// Steps 4 and 5 of ten are profiled.
const kScript = `
import sys, time, corral
for step in range(10):
    if step == 4 and sys.argv[1] == "profiled":
        profiled = corral.phase("profiled", tool="torch", steps="4-5")
        profiled.__enter__()
    corral.log({"loss": 1 / (1 + step)}, step=step)
    time.sleep(0.05)
    if step == 5 and sys.argv[1] == "profiled":
        profiled.__exit__(None, None, None)
`;
const kernel = (name, kind, calls, total_ms) => ({
  name,
  kind,
  calls,
  total_ms,
  share: total_ms / 200,
});
// Trains until it is stopped.
const kTraining = `
import time, torch
torch.set_num_threads(1)
data = torch.utils.data.TensorDataset(torch.randn(40, 4), torch.randn(40, 1))
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
while True:
    for x, y in torch.utils.data.DataLoader(data, batch_size=8):
        optimizer.zero_grad()
        ((model(x) - y) ** 2).mean().backward()
        optimizer.step()
        time.sleep(0.01)
`;
const kSummary = {
  tool: "torch",
  steps: { first: 4, last: 5 },
  total_ms: 200,
  by_kind: [
    { kind: "memcpy", ms: 50, share: 0.25 },
    { kind: "gemm", ms: 110, share: 0.55 },
  ],
  top: [
    kernel("void gemm<float, 128>(<b>)", "gemm", 3, 110),
    kernel("Memcpy HtoD", "memcpy", 40, 50),
    ...Array.from({ length: 12 }, (_, i) => kernel(`small_${i}`, "elementwise", 2, 1)),
  ],
};

before(async () => {
  [browser] = await Promise.all([launch(), home.serve()]);
  writeFileSync(join(home.folder, "steps.py"), kScript);
  writeFileSync(join(home.folder, "training.py"), kTraining);
  running.push(home.start("run", "--experiment", "e", "--name", "training", "training.py"));
  running.push(home.start("run", "--experiment", "e", "--name", "other", "sleep", "600"));
  for (const name of ["profiled", "plain"]) {
    const ran = home.start("run", "--experiment", "e", "--name", name, "steps.py", name);
    assert.equal(await ran.ended, 0, ran.output());
  }
  await soon(async () => {
    for (const run of await home.runs()) id[run.name] = run.id;
    assert.ok(id.training && id.other);
    const { phases } = await get(`runs/${id.training}/phases`);
    assert.ok(phases.some(({ lane }) => !lane.endsWith("/supervisor")));
  });
  const phase = (await get(`runs/${id.profiled}/phases`)).phases.filter(({ lane }) => !lane.endsWith("/supervisor"))[0];
  const { start_ns, end_ns } = phase;
  await put("profile/steps-4-5/summary.json", JSON.stringify({ ...kSummary, start_ns, end_ns }));
  await put("profile/steps-4-5/trace.json.gz", "0123456789");
  await put("profile/steps-9-9/summary.json", '{"tool":"nsys","top":[{"name":"x"}]}');
  await put("profile/steps-9-9/report.nsys-rep", "?");
});

after(async () => {
  await browser?.close();
  for (const { child } of running) child.kill("SIGTERM");
  await Promise.all(running.map(({ ended }) => ended));
  await home.close();
});

const get = async (path) => (await fetch(`${home.url}/api/corral/v1/${path}`)).json();

async function put(path, body) {
  const reply = await fetch(`${home.url}/api/corral/v1/runs/${id.profiled}/artifacts/${path}`, {
    method: "PUT",
    body,
  });
  assert.ok(reply.ok, await reply.text());
}

test("a profile: time by kind, a table that sorts, its files; a broken one is said and breaks nothing", async () => {
  const { page, complaints, close } = await open(browser, home, `/runs/${id.profiled}`);
  const profile = page.getByRole("article", { name: "profile/steps-4-5" });
  await profile.getByText("steps 4–5").waitFor();
  await atRest(page);
  const kinds = profile.getByRole("list", { name: "Time by kind" }).getByRole("listitem");
  const said = (await kinds.allTextContents()).map((text) => text.replaceAll(/\s+/g, " "));
  assert.deepEqual(said, ["gemm 55 %110 ms", "memcpy 25 %50 ms", "other 20 %40 ms"]);
  const names = () => profile.locator("tbody td:first-child").allTextContents();
  assert.equal((await names())[0], "void gemm<float, 128>(<b>)");
  assert.equal((await names()).length, 10);
  await profile.getByRole("button", { name: "calls" }).click();
  await soon(async () => assert.equal((await names())[0], "Memcpy HtoD"));
  const head = profile.getByRole("columnheader", { name: "calls" });
  assert.equal(await head.getAttribute("aria-sort"), "descending");
  await profile.getByRole("button", { name: "all 14" }).click();
  await soon(async () => assert.equal((await names()).length, 14));
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    profile.getByRole("link", { name: /^trace\.json\.gz/ }).click(),
  ]);
  assert.equal(file.suggestedFilename(), "trace.json.gz");
  const broken = page.getByRole("article", { name: "profile/steps-9-9" });
  await broken.getByRole("alert").getByText("total_ms of top[0] is not a valid number").waitFor();
  await broken.getByRole("link", { name: /^report\.nsys-rep/ }).waitFor();
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    assert.deepEqual(await violations(page), [], colorScheme);
  }
  assert.deepEqual(complaints, []);
  await close();
});

test("its moment is marked in charts and lanes, and a link away from any axis", async () => {
  const { page, complaints, close } = await open(browser, home, `/runs/${id.profiled}?x=epoch`);
  const link = page.getByTestId("profile-moment");
  await link.click();
  const address = () => new URL(page.url()).searchParams;
  await soon(() => assert.ok(address().has("from")));
  await chartsDrawn(page);
  await atRest(page);
  const [from, to] = ["from", "to"].map((key) => Number(address().get(key)));
  const { start_ns } = await get(`runs/${id.profiled}`);
  const phase = (await get(`runs/${id.profiled}/phases`)).phases.filter(({ lane }) => !lane.endsWith("/supervisor"))[0];
  const at = (ns) => Number(BigInt(ns) - BigInt(start_ns)) / 1e9;
  assert.ok(from < at(phase.start_ns) && at(phase.end_ns) < to, `${from} ${to}`);
  assert.ok(to - from < 1.3 * (at(phase.end_ns) - at(phase.start_ns)), `${from} ${to}`);
  assert.equal((await shownCharts(page)).loss.from, from);
  const chart = page.locator("[data-metric=loss] canvas");
  const summary = () => chart.getAttribute("aria-label");
  assert.match(await summary(), /Part of it was profiled/);
  await page.locator(".phases").getByText("crossed = profiled").waitFor();
  await page.goto(`${home.url}/runs/${id.profiled}?x=step`);
  await soon(async () => assert.match(await summary(), /Part of it was profiled/));
  // A run that nobody profiled says nothing of it.
  await page.goto(`${home.url}/runs/${id.plain}`);
  await chartsDrawn(page);
  await atRest(page);
  assert.doesNotMatch(await summary(), /profiled/);
  assert.equal(await page.getByTestId("profiles").count(), 0);
  assert.deepEqual(complaints, []);
  await close();
});

test("a running run is asked for a profile, and the page says how far it is and shows it", async () => {
  const { page, complaints, close } = await open(browser, home, `/runs/${id.training}?tab=about`);
  const state = page.getByTestId("profile-state");
  const steps = page.getByLabel("Steps to profile");
  await steps.fill("2");
  await steps.press("Enter");
  const done = state.getByRole("button", { name: /^steps \d+–\d+ profiled$/ });
  await done.waitFor();
  const [first, last] = (await done.textContent()).match(/\d+/g).map(Number);
  assert.equal(last - first, 1);
  await done.click();
  const { artifact } = (await get(`runs/${id.training}/profile`)).profile;
  const found = page.getByRole("article", { name: artifact });
  await found.getByText(`steps ${first}–${last}`).waitFor();
  // The page tries for some seconds to show it.
  await soon(async () => {
    if (await found.evaluate((one) => one === document.activeElement)) return;
    await done.click();
    assert.fail("it has no focus");
  });
  await steps.fill("0");
  assert.ok(await page.getByRole("button", { name: "Profile 3 steps" }).isDisabled());
  await steps.fill("1");
  await page.keyboard.press("Control+K");
  await page.getByRole("combobox").fill("profile 1 step");
  await page.getByRole("option", { name: "profile 1 step" }).waitFor();
  await page.keyboard.press("Enter");
  await state.getByRole("button", { name: /^step \d+ profiled$/ }).waitFor();
  assert.deepEqual(complaints, []);
  await close();
});

test("why there is no profile stands beside the button", async () => {
  const { page, complaints, close } = await open(browser, home, `/runs/${id.other}`);
  await page.getByRole("button", { name: "Profile 3 steps" }).click();
  await page.getByTestId("profile-reason").click();
  await page.getByText(/none of its processes has loaded Corral's Python package/).waitFor();
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    assert.deepEqual(await violations(page), [], colorScheme);
  }
  assert.deepEqual(complaints, []);
  await close();
});
