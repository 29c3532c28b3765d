// The page in a real Chromium over real data: the digits example, trained twice at once as one workload.
// The tests tell one story and run in order: an empty store, two trainings that begin, run and end, a look
// around afterwards, and a server that goes away and comes back.
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

const kEpochs = 40;
const kNames = ["width-16", "width-24"];
const kBackground = { light: "rgb(252, 252, 251)", dark: "rgb(18, 19, 21)" };

const home = new Home();
let browser;
let trainings = [];
const id = {};
// The trainings start their work when the file `go` is there, and one run logs until the file `enough` is: whatever
// the machine's pace, the page sees them before and while.
const kWait = 'until [ -e go ]; do sleep 0.05; done; exec "$@"';
const kGrowing = `
import os, time, corral
step = 0
while not os.path.exists("enough"):
    corral.log("loss", 1 / (1 + step), step=step)
    step += 1
    time.sleep(0.02)
`;

const train = (name, width) => {
  const options = ["--epochs", String(kEpochs), "--width", String(width)];
  const command = [home.environment.CORRAL_PYTHON, home.example, ...options];
  const names = ["--experiment", "digits", "--workload", "demo", "--name", name];
  return home.start("run", ...names, "sh", "-c", kWait, "sh", ...command);
};

before(async () => {
  [browser] = await Promise.all([launch(), home.serve()]);
});

after(async () => {
  await browser?.close();
  await home.close();
});

const background = (page, colour) =>
  until(page, (wanted) => getComputedStyle(document.body).backgroundColor === wanted, colour);

// A drag over the middle of a chart, from 30 % to 60 % of its plot.
async function drag(page, metric) {
  const surface = page.locator(`[data-testid=chart][data-metric="${metric}"] .surface`);
  await atRest(page);
  const box = await surface.boundingBox();
  await page.mouse.move(box.x + box.width * 0.3, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.6, box.y + 60, { steps: 4 });
  await page.mouse.up();
  return { box, surface };
}

// Runs in the page: the run's row has this status, a duration to the second, and the last loss to a percent.
function rowSays({ id, status, loss, seconds }) {
  const [shownStatus, duration, shownLoss] = ["status", "duration", "loss"].map((column) =>
    document
      .querySelector(`[data-testid=run-row][data-run="${id}"] [data-column=${column}]`)
      ?.textContent.replaceAll("\u2009", " ")
      .replaceAll("−", "-"),
  );
  if (shownLoss === undefined) return false;
  const [, minutes = "0", rest] = /^(?:(\d+):)?([\d.]+)( s)?$/.exec(duration) ?? [];
  const [, value] = /^(\S+) at step \d/.exec(shownLoss) ?? [];
  const near = (a, b, slack) => Math.abs(Number(a) - b) <= slack;
  return (
    shownStatus === status &&
    near(Number(minutes) * 60 + Number(rest), seconds, 1) &&
    near(value, loss, 0.01 * loss)
  );
}

const allChartsShow = (page, range) =>
  until(
    page,
    ({ from, to }) => {
      const drawn = [...document.querySelectorAll("[data-testid=chart] canvas")];
      return (
        drawn.length > 0 &&
        drawn.every(
          (c) => Math.abs(c.dataset.from - from) < 1e-6 && Math.abs(c.dataset.to - to) < 1e-6,
        )
      );
    },
    range,
  );

const rangeInAddress = (page) => {
  const { searchParams } = new URL(page.url());
  return { from: Number(searchParams.get("from")), to: Number(searchParams.get("to")) };
};

test("an empty store says what to do, and the first runs appear by themselves", async () => {
  const { page, complaints, close } = await open(browser, home, "/");
  await page.getByText("No runs yet.").waitFor();
  await page.getByText("corral run train.py").waitFor();
  trainings = [train(kNames[0], 16), train(kNames[1], 24)];
  for (const name of kNames) {
    const row = page.getByTestId("run-row").filter({ hasText: name });
    await row.getByTestId("run-status").getByText("running").waitFor();
    id[name] = await row.getAttribute("data-run");
  }
  await page.getByTestId("live").getByText("live", { exact: true }).waitFor();
  assert.deepEqual(complaints, []);
  await close();
  writeFileSync(join(home.folder, "go"), "");
});

test("while it trains, the loss chart grows without a reload", async (t) => {
  const program = join(home.folder, "growing.py");
  writeFileSync(program, kGrowing);
  const words = ["run", "--no-listeners", "--experiment", "digits", "--name", "growing"];
  const growing = home.start(...words, home.environment.CORRAL_PYTHON, program);
  const run = await soon(async () => {
    const found = (await home.runs()).find(({ name, loss }) => name === "growing" && loss !== null);
    assert.ok(found, growing.output());
    return found;
  });
  const { page, complaints, charts, close } = await open(browser, home, `/runs/${run.id}`);
  await page.evaluate(() => {
    window.sameDocument = true;
  });
  // The count above `least`, and what the run's status is at that moment.
  const growth = (least) =>
    until(
      page,
      (above) => {
        const chart = document.querySelector('[data-testid=chart][data-metric="loss"] canvas');
        const count = Number(chart?.dataset.points ?? 0);
        return count > above && [count, document.querySelector(".toolbar .status").textContent];
      },
      least,
    );
  const seen = [];
  for (let i = 0; i < 4; i++) {
    const [count, status] = await growth(seen.at(-1) ?? 0);
    assert.equal(status, "running");
    seen.push(count);
  }
  assert.ok(await page.evaluate(() => window.sameDocument));
  assert.deepEqual(complaints, []);
  t.diagnostic(`points of the loss chart: ${seen.join(", ")}`);
  // Only columns that changed travel.
  const grown = () => charts.filter(({ since }) => since?.some((column) => column > 0)).length;
  await soon(async () => assert.ok(grown() >= 2, JSON.stringify(charts.map(({ since }) => since))));
  writeFileSync(join(home.folder, "enough"), "");
  assert.equal(await growing.ended, 0, growing.output());
  await page.locator(".toolbar .status").getByText("finished").waitFor();
  // All of the ended run is drawn anew, at the pixels.
  await atRest(page);
  const { loss } = await shownCharts(page);
  const { metrics } = await (
    await fetch(`${home.url}/api/corral/v1/runs/${run.id}/metrics`)
  ).json();
  assert.equal(loss.points, metrics.find(({ name }) => name === "loss").points);
  await close();
});

test("the list shows status, duration and last loss of both runs, and a failure as one", async () => {
  const failing = home.start(
    "run",
    "--experiment",
    "digits",
    "--name",
    "broken",
    "sh",
    "-c",
    "exit 3",
  );
  assert.equal(await failing.ended, 3);
  const { page, complaints, close } = await open(browser, home, "/");
  for (const training of trainings) assert.equal(await training.ended, 0, training.output());
  const known = Object.fromEntries((await home.runs()).map((run) => [run.name, run]));
  for (const name of kNames) {
    const { loss, duration_s } = known[name];
    assert.ok(loss.value < 2 && loss.step > 0, JSON.stringify(loss));
    await until(page, rowSays, {
      id: id[name],
      status: "finished",
      loss: loss.value,
      seconds: duration_s,
    });
  }
  const broken = page.getByTestId("run-row").filter({ hasText: "broken" });
  await broken.getByTestId("run-status").getByText("failed").waitFor();
  await broken.getByRole("link", { name: "broken" }).click();
  await page.locator(".toolbar").getByText("exit status 3").waitFor();
  await soon(async () => assert.equal(await page.title(), "broken · Corral"));
  assert.deepEqual(complaints, []);
  await close();
});

test("first load: one origin, a policy, compressed, at most 200 KB of JavaScript", async (t) => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const scripts = [];
  page.on("requestfinished", (request) => {
    if (request.resourceType() === "script") scripts.push(request);
  });
  const response = await page.goto(`${home.url}/`);
  await page.getByTestId("run-row").first().waitFor();
  const policy = response.headers()["content-security-policy"];
  assert.match(policy, /default-src 'self'/);
  assert.doesNotMatch(policy, /script-src|https?:|unsafe-eval|\*/);
  let bytes = 0;
  for (const request of scripts) {
    const [answer, { responseBodySize }] = await Promise.all([request.response(), request.sizes()]);
    // A file of a few bytes would only grow.
    const expected = responseBodySize > 1024 ? ["gzip"] : ["gzip", undefined];
    assert.ok(expected.includes(answer.headers()["content-encoding"]), answer.url());
    bytes += responseBodySize;
  }
  assert.ok(scripts.length > 0 && bytes > 10_000, `${bytes} bytes`);
  assert.ok(bytes <= 200 * 1024, `${bytes} bytes of JavaScript`);
  t.diagnostic(`JavaScript at first load: ${(bytes / 1024).toFixed(1)} KB gzip`);
  await context.close();
});

test("software and hardware share one time axis, both runs are drawn, phases have their epochs", async (t) => {
  const { page, complaints, close } = await open(browser, home, `/runs/${id[kNames[0]]}`);
  const first = await until(page, () => window.firstChart);
  t.diagnostic(`time to first chart: ${Math.round(first)} ms`);
  await atRest(page);
  assert.equal(await page.title(), `${kNames[0]} · Corral`);
  const charts = await shownCharts(page);
  const ranges = new Set(Object.values(charts).map(({ from, to }) => `${from} ${to}`));
  assert.equal(ranges.size, 1, JSON.stringify(charts));
  for (const metric of [
    "loss",
    "samples_per_second",
    "run.cpu.used",
    "host.cpu.busy",
    "data_wait_share",
  ]) {
    assert.ok(charts[metric]?.points > 0, `${metric} in ${JSON.stringify(charts)}`);
  }
  const edges = await page.locator("[data-testid=chart] .surface").evaluateAll((all) =>
    all.map((surface) => {
      const { left, right } = surface.getBoundingClientRect();
      return `${left} ${right}`;
    }),
  );
  assert.equal(new Set(edges).size, 2, `two columns: ${edges.join(", ")}`);
  // Two runs share the workload: without being asked the page draws both.
  const labels = await page.locator('[data-metric="loss"] canvas').getAttribute("aria-label");
  for (const name of kNames) assert.ok(labels.includes(`${name}: last `), labels);
  for (const name of kNames) {
    const row = page.locator(`[data-testid=phases-lane][data-run="${id[name]}"]`).first();
    await row.getByText(`run ${name}`).waitFor();
    const lane = row.locator("canvas");
    await soon(async () => {
      const words = await lane.getAttribute("aria-label");
      // The script's own, and the steps and waits that were captured.
      assert.match(words, /\d\sk\sphases.*epoch 1 .*evaluation 1 .*epoch 2 /);
    });
  }
  // Right under the lanes.
  const times = page.locator('[aria-label="Phases"] + [data-testid="phase-table"]');
  await soon(async () => {
    const rows = await times.locator("tr").allTextContents();
    for (const name of kNames) assert.ok(rows[0].includes(name), rows[0]);
    const epoch = rows.find((row) => row.startsWith("epoch"));
    // The number of times in each run, its share, and the second's total by the first's.
    const each = `${kEpochs} × .*%`;
    assert.match(epoch, new RegExp(`${each}.*\\(.* ×\\) ${each}`));
  });
  await page.getByTestId("log-tail").getByText(`epoch ${kEpochs}: accuracy`).waitFor();
  assert.deepEqual(complaints, []);
  await close();
});

test("which runs are drawn is kept in the address", async () => {
  const { page, complaints, close } = await open(browser, home, `/runs/${id[kNames[0]]}`);
  await chartsDrawn(page);
  const other = page.getByLabel(`Draw ${kNames[1]} too`);
  await soon(async () => assert.ok(await other.isChecked()));
  await other.uncheck();
  const alone = () =>
    !document.querySelector('[data-metric="loss"] canvas')?.ariaLabel.includes("width-24");
  await until(page, alone);
  await page.reload();
  await atRest(page);
  await until(page, alone);
  await soon(async () => assert.ok(!(await other.isChecked())));
  await other.check();
  await until(page, () =>
    document.querySelector('[data-metric="loss"] canvas')?.ariaLabel.includes("width-24"),
  );
  assert.deepEqual(complaints, []);
  await close();
});

test("a drag zooms every chart with new data, the address keeps it, a double-click ends it", async () => {
  const {
    page,
    complaints,
    charts: asked,
    close,
  } = await open(browser, home, `/runs/${id[kNames[0]]}`);
  await chartsDrawn(page);
  await atRest(page);
  const whole = await shownCharts(page);
  const { from, to } = whole.loss;
  const before = asked.length;
  const { surface } = await drag(page, "loss");
  await page.waitForURL(/from=/);
  const zoomed = rangeInAddress(page);
  const near = (value, part) => Math.abs(value - (from + (to - from) * part)) < (to - from) * 0.01;
  assert.ok(near(zoomed.from, 0.3) && near(zoomed.to, 0.6), JSON.stringify({ from, to, zoomed }));
  await allChartsShow(page, zoomed);
  // The minimap asks for the whole length.
  const spans = asked
    .slice(before)
    .map((question) => Number(BigInt(question.to_ns) - BigInt(question.from_ns)) / 1e9);
  const wanted = zoomed.to - zoomed.from;
  assert.ok(
    spans.some((span) => Math.abs(span - wanted) < 1e-5),
    `${spans} s were asked for`,
  );
  await atRest(page);
  const inside = await shownCharts(page);
  assert.ok(
    inside.loss.points > 0 && inside.loss.points < whole.loss.points,
    JSON.stringify(inside.loss),
  );

  await page.reload();
  await allChartsShow(page, zoomed);
  assert.deepEqual(rangeInAddress(page), zoomed);
  await atRest(page);
  await surface.dblclick();
  await allChartsShow(page, { from, to });
  await page.waitForURL((url) => !url.searchParams.has("from"));
  await page.goBack();
  await allChartsShow(page, zoomed);
  await atRest(page);
  await page.keyboard.press("Escape");
  await allChartsShow(page, { from, to });
  assert.deepEqual(complaints, []);
  await close();
});

// A moment at which both runs were logging, as a part of the drawn range: how long each trains depends on the machine.
async function sharedMoment(page) {
  const get = async (path) => (await fetch(`${home.url}/api/corral/v1/runs/${path}`)).json();
  const spans = await Promise.all(
    kNames.map(async (name) => {
      const { metrics } = await get(`${id[name]}/metrics`);
      const loss = metrics.find((metric) => metric.name === "loss");
      return [BigInt(loss.first_ns), BigInt(loss.last_ns)];
    }),
  );
  const begin = spans.map(([first]) => first).reduce((a, b) => (a > b ? a : b));
  const end = spans.map(([, last]) => last).reduce((a, b) => (a < b ? a : b));
  assert.ok(begin < end, "the two runs trained at the same time");
  const { workload_start_ns: start } = await get(id[kNames[0]]);
  const seconds = Number((begin + end) / 2n - BigInt(start)) / 1e9;
  const { from, to } = await page
    .locator('[data-metric="loss"] canvas')
    .first()
    .evaluate((canvas) => ({
      from: Number(canvas.dataset.from),
      to: Number(canvas.dataset.to),
    }));
  return (seconds - from) / (to - from);
}

test("one crosshair goes through every chart and the lanes, the footer has the values", async () => {
  const { page, complaints, close } = await open(browser, home, `/runs/${id[kNames[0]]}`);
  await chartsDrawn(page);
  await atRest(page);
  const surface = page.locator('[data-metric="loss"] .surface');
  const box = await surface.boundingBox();
  const part = await sharedMoment(page);
  await page.mouse.move(box.x + box.width * part, box.y + 50);
  const cursors = await until(page, () => {
    const all = [...document.querySelectorAll(".surface .cursor")];
    if (all.some((cursor) => getComputedStyle(cursor).visibility !== "visible")) return null;
    return all.map((cursor) => {
      const plot = cursor.parentElement.getBoundingClientRect();
      return (cursor.getBoundingClientRect().left - plot.left) / plot.width;
    });
  });
  const shown = await page.getByTestId("chart").count();
  assert.equal(cursors.length, shown + 1, "each chart and the lanes");
  for (const at of cursors) assert.ok(Math.abs(at - part) < 0.01, cursors.join(", "));
  const footer = page.getByTestId("footer-cursor");
  await footer.getByText("cursor").waitFor();
  await soon(async () => {
    const text = (await footer.textContent()).replaceAll("\u2009", " ");
    for (const name of kNames) assert.match(text, new RegExp(`${name} \\d`));
    assert.match(text, /loss.*host\.cpu\.busy ?\d[\d.]* cores/);
  });
  await page.keyboard.press("ArrowRight");
  await until(
    page,
    (old) => {
      const plot = document.querySelector('[data-metric="loss"] .surface').getBoundingClientRect();
      const now = document.querySelector('[data-metric="loss"] .cursor').getBoundingClientRect();
      return (now.left - plot.left) / plot.width > old + 0.003;
    },
    cursors[0],
  );
  assert.deepEqual(complaints, []);
  await close();
});

test("light and dark: the system's choice, the reader's choice, and it stays", async () => {
  const { page, complaints, close } = await open(browser, home, "/", { colorScheme: "dark" });
  await background(page, kBackground.dark);
  await page.getByTestId("theme-toggle").click();
  await background(page, kBackground.light);
  await page.reload();
  await background(page, kBackground.light);
  await page.getByTestId("theme-toggle").click();
  await background(page, kBackground.dark);
  // The same as the system again, so it follows the system.
  await page.emulateMedia({ colorScheme: "light" });
  await background(page, kBackground.light);
  assert.deepEqual(complaints, []);
  await close();
});

for (const colorScheme of ["light", "dark"]) {
  test(`no serious accessibility violation, ${colorScheme}`, async () => {
    const { page, complaints, close } = await open(browser, home, "/", { colorScheme });
    await page.getByTestId("run-row").first().waitFor();
    await atRest(page);
    assert.deepEqual(await violations(page), []);
    await page.goto(`${home.url}/runs/${id[kNames[0]]}`);
    await chartsDrawn(page);
    await page.getByTestId("log-tail").getByText("accuracy").first().waitFor();
    await atRest(page);
    assert.deepEqual(await violations(page), []);
    assert.deepEqual(complaints, []);
    await close();
  });
}

test("a server that goes away is said, and the page goes on when it is back", async () => {
  const { page, complaints, close } = await open(browser, home, `/runs/${id[kNames[0]]}`);
  await chartsDrawn(page);
  await until(page, () => document.querySelector("[data-testid=live]").textContent === "live");
  const { port } = new URL(home.url);
  await home.stop();
  await page.getByText(`The server at 127.0.0.1:${port} has not answered since`).waitFor();
  await page.getByTestId("live").getByText("offline").waitFor();
  // The picture stays.
  assert.ok((await shownCharts(page)).loss.points > 0);
  await home.serve(port);
  await until(page, () => document.querySelector("[data-testid=live]").textContent === "live");
  await page.locator(".banner").waitFor({ state: "detached" });
  // The browser itself reports the connections it could not make.
  assert.deepEqual(
    complaints.filter(
      (text) => !/Failed to load resource|ERR_(CONNECTION|INCOMPLETE|EMPTY)/.test(text),
    ),
    [],
  );
  await close();
});
