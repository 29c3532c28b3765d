// The details of a run: its energy, which is read only there, how much it used of what it was given, what it would
// take without its waits, and the devices of traces.
import assert from "node:assert/strict";
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { atRest, chartsDrawn, fitsPhone, Home, kBuild, launch, open, violations } from "./support.mjs";

const kGpu = "GPU-00000000-1111-2222-3333-444444444444";
const kScript = `
import time, corral
for epoch in range(4):
    with corral.phase("epoch", kind="control"):
        for step in range(10):
            with corral.phase("step"):
                with corral.phase("data wait", kind="wait"):
                    time.sleep(0.03)
                time.sleep(0.03)
`;
const home = new Home();
let browser;
const id = {};

// A driver whose energy counter grows by 360 J a second.
function plantGpu() {
  const timeline = join(home.folder, "driver.timeline");
  const lines = [
    "driver.version 580.95.05",
    "gpus 1",
    `gpu0.uuid ${kGpu}`,
    "gpu0.busy 50",
    "gpu0.memory_busy 1",
    "gpu0.energy 1000000+360000",
  ];
  writeFileSync(timeline, `${lines.join("\n")}\n`);
  home.environment.CORRAL_NVML_LIBRARY = join(kBuild, "fakes/libnvidia-ml.so.1");
  home.environment.CORRAL_FAKE_NVML = timeline;
}

const kPrices = `
[footprint]
pue = 1.25
intensity-g-per-kwh = 400
intensity-source = "grid operator"
intensity-year = 2024
price-per-hour = 3.6
currency = "EUR"
`;

before(async () => {
  writeFileSync(join(home.folder, "train.py"), kScript);
  plantGpu();
  appendFileSync(join(home.folder, "corral.toml"), kPrices);
  [browser] = await Promise.all([launch(), home.serve()]);
  const tag = ["--tag", `corral.devices=${JSON.stringify([{ device: kGpu }])}`];
  for (const [name, ...command] of [
    ["trained", "train.py"],
    ["plain", "sleep", "1.5"],
  ]) {
    const run = home.start("run", "--experiment", "energy", "--name", name, ...tag, ...command);
    assert.equal(await run.ended, 0, run.output());
  }
  for (const run of await home.runs()) id[run.name] = run.id;
});

after(async () => {
  await browser?.close();
  await home.close();
});

const footprintOf = (name) => `/runs/${id[name]}/footprint`;

test("the energy of a run is read when its details are opened, with its units, prices and what is missing", async () => {
  const { page, complaints, close } = await open(browser, home, `/runs/${id.trained}`);
  let asked = 0;
  page.on("request", (request) => {
    if (request.url().endsWith(footprintOf("trained"))) asked += 1;
  });
  await chartsDrawn(page);
  await page.getByTestId("found-details").waitFor();
  assert.equal(asked, 0);
  await page.getByTestId("found-details").click();
  const footprint = page.getByTestId("footprint");
  await footprint.getByText(/per epoch: [\d.]+\u2009J \(4 epochs, from phases\)/).waitFor();
  assert.equal(asked, 1);
  const text = await footprint.textContent();
  assert.match(text, /measured in [\d.]+ % of the time\./);
  assert.match(text, /GPUgpu0counter[\d.]+\u2009%[\d.]+\u2009k?J[\d.]+\u2009k?J/);
  assert.match(text, /per sample: not available: /);
  assert.match(text, /g CO2e: [\d.e−]+\u2009kWh, PUE 1.25, 400\u2009g\/kWh \(grid operator, 2024\)/);
  assert.match(text, / EUR \(time [\d.e−]+\)/);
  assert.match(
    await page.getByTestId("efficiency").textContent(),
    /gpu0: [\d.]+ device hours, 50\u2009% utilization \(how often, not how much\), 0\u2009h idle/,
  );
  await page.getByTestId("efficiency").getByText(/^profile of gpu0: .*not available: /).waitFor();
  await atRest(page);
  assert.deepEqual(await violations(page), []);
  await fitsPhone(page);
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(complaints, []);
  await close();
});

test("a run without phases has its energy among all that is known about it", async () => {
  const { page, complaints, close } = await open(browser, home, `/runs/${id.plain}?tab=about`);
  const footprint = page.getByTestId("footprint");
  await footprint.getByText(/per epoch: not available: /).waitFor();
  await page.getByTestId("efficiency").getByText(/^gpu0: /).waitFor();
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(complaints, []);
  await close();
});

test("a busy server is asked again, and other failures are told", async () => {
  const { page, close } = await open(browser, home, `/runs/${id.trained}`);
  let busy = 1;
  await page.route(`**${footprintOf("trained")}`, (route) =>
    busy-- > 0
      ? route.fulfill({ status: 503, json: { error: { message: "64 answers wait already" } } })
      : route.continue(),
  );
  await page.getByTestId("found-details").click();
  const footprint = page.getByTestId("footprint");
  await footprint.getByText("The server is busy; it is asked again.").waitFor();
  await footprint.getByText(/per epoch: /).waitFor();
  await page.unroute(`**${footprintOf("trained")}`);
  await page.route(`**${footprintOf("trained")}`, (route) =>
    route.fulfill({ status: 500, json: { error: { message: "the store is damaged" } } }),
  );
  await page.reload();
  await page.getByTestId("found-details").click();
  await footprint.getByText(/the store is damaged/).waitFor();
  await close();
});

// An explanation with the bounds of a model and with two devices of a trace.
async function withModel(page, found) {
  await page.route("**/explain", async (route) => {
    const answer = await route.fetch();
    const body = await answer.json();
    Object.assign(body, found(body));
    await route.fulfill({ response: answer, json: body });
  });
  await page.reload();
  await page.getByTestId("found-details").click();
}

const device = (name) => ({
  device: name,
  rank: 0,
  from_ns: "0",
  to_ns: "1",
  streams: 2,
  phases: 36,
  busy_s: 0.06,
  compute_s: 0.05,
  communication_s: 0.02,
  memory_s: 0,
  overlap_s: 0.01,
  idle: { host_wait_s: 0.039, kernel_wait_s: 0, other_s: 0.001, unknown_s: 0 },
  text: `${name} was busy 60.0 % of 100 ms.`,
});

test("details show modelled bounds of a step and the devices of traces", async () => {
  const { page, complaints, close } = await open(browser, home, `/runs/${id.trained}`);
  await withModel(page, ({ what_if, lanes }) => ({
    what_if: {
      ...what_if,
      step_s: 0.036,
      without_waits: {
        lower_s: 0.002,
        upper_s: 0.02,
        lower_ratio: 0.056,
        upper_ratio: 0.56,
        reason: null,
      },
      balanced_ranks: { ...what_if.balanced_ranks, reason: "no calls are seen" },
    },
    lanes: [...lanes, { ...lanes[0], lane: "host/rank1/9/MainThread" }],
    devices: [device("node7/rank0/GPU 0"), device("node7/rank1/GPU 1")],
  }));
  const bounds = page.getByTestId("what-if");
  const text = await bounds.textContent();
  assert.match(text, /What if modelled; length of a step/);
  assert.match(text, /now36\u2009mswithout waits2\u2009ms to 20\u2009ms/);
  assert.match(text, /with balanced ranksnot available: no calls are seen/);
  const width = async (at) => (await bounds.locator(`.bounds-track > ${at}`).nth(1).boundingBox()).width;
  const [solid, range] = [await width(":first-child"), await width(".range")];
  assert.ok(range > 5 * solid, `${solid} ${range}`);
  const devices = page.getByTestId("devices");
  assert.equal(await devices.getByRole("list", { name: /^Time of node7/ }).count(), 2);
  assert.match(await devices.textContent(), /node7\/rank1\/GPU 1 was busy 60.0 % of 100 ms\. Busy with 50\u2009ms of/);
  await atRest(page);
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(complaints, []);
  await close();
});

test("nothing is said where nothing is predicted and no trace was imported", async () => {
  const { page, complaints, close } = await open(browser, home, `/runs/${id.trained}`);
  await withModel(page, () => ({ what_if: null }));
  await page.getByTestId("efficiency").waitFor();
  for (const part of ["what-if", "devices"]) assert.equal(await page.getByTestId(part).count(), 0);
  assert.deepEqual(complaints, []);
  await close();
});
