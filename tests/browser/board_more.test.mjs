// A board's second helpings, in a real Chromium over real trainings: charts zoomed alone, a phase and its numbers,
// marks and pins in the address, colours of groups, the right axis, the baseline from a name, words for limits, undo.
import assert from "node:assert/strict";
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
let all;

before(async () => {
  [browser] = await Promise.all([launch(), home.serve()]);
  const together = [
    home.train("one", "pair", { epochs: 4, width: 8 }),
    home.train("two", "pair", { epochs: 4, width: 16 }),
  ];
  for (const training of together) assert.equal(await training.ended, 0, training.output());
  for (const run of await home.runs()) id[run.name] = run.id;
  all = `/board?run=${id.one}&run=${id.two}`;
});

after(async () => {
  await browser?.close();
  await home.close();
});

async function board(extra = "", options = {}) {
  const opened = await open(browser, home, all + extra, options);
  await opened.page.getByTestId("chart").first().waitFor();
  await atRest(opened.page);
  return opened;
}

const chart = (page, metric) =>
  page.locator(`[data-testid=chart][data-metric="${metric}"]`).first();
const search = (page) => new URL(page.url()).searchParams;
const addressed = (page, pattern) =>
  until(page, (source) => new RegExp(source).test(decodeURIComponent(location.search)), pattern);

// Until the chart's columns are of a range that the address names for it, or for all.
const settled = (page, metric, [from, to]) =>
  until(
    page,
    ([name, from, to]) => {
      const dataset = document.querySelector(`[data-metric="${name}"] canvas`)?.dataset ?? {};
      const slack = (to - from) * 0.01;
      return Math.abs(dataset.from - from) <= slack && Math.abs(dataset.to - to) <= slack;
    },
    [metric, from, to],
  );

async function dragOver(page, metric, parts = [0.3, 0.6]) {
  await atRest(page);
  const box = await chart(page, metric).locator(".surface").boundingBox();
  await page.mouse.move(box.x + box.width * parts[0], box.y + 60);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * parts[1], box.y + 70, { steps: 5 });
  await page.mouse.up();
}

async function rangeOf(page, metric) {
  const words = search(page)
    .getAll("metric")
    .find((word) => word.split("~")[0] === metric);
  const [, from, to] = /range:([^~]*)\.\.([^~]*)/.exec(words);
  return [Number(from), Number(to)];
}

test("out of sync a drag zooms its own chart alone, which says so, and a double-click brings it back", async () => {
  const { page, complaints, close } = await board("&metric=loss&metric=accuracy");
  const before = await shownCharts(page);
  await page.keyboard.press("l");
  await addressed(page, "sync=off");
  await dragOver(page, "loss");
  await addressed(page, "range:");
  const own = await rangeOf(page, "loss");
  await settled(page, "loss", own);
  assert.equal(search(page).get("from"), null);
  await atRest(page);
  const { accuracy } = await shownCharts(page);
  assert.deepEqual(accuracy, before.accuracy);
  await chart(page, "loss").getByTestId("together").getByText("independent zoom").waitFor();
  assert.equal(await chart(page, "accuracy").getByTestId("together").count(), 0);
  assert.deepEqual(await violations(page), []);
  // The link shows the same.
  await page.reload();
  await settled(page, "loss", own);
  await atRest(page);
  await chart(page, "loss")
    .locator(".surface")
    .dblclick({ position: { x: 40, y: 20 } });
  await until(page, () => !location.search.includes("range"));
  await settled(page, "loss", [before.loss.from, before.loss.to]);
  assert.deepEqual(complaints, []);
  await close();
});

test("a chart is taken out of sync in its menu, and the switch brings all to one range", async () => {
  const { page, complaints, close } = await board("&metric=loss&metric=accuracy");
  const before = await shownCharts(page);
  await chart(page, "accuracy").getByTestId("chart-menu").click();
  await page.getByTestId("alone").check();
  await addressed(page, "accuracy~range:");
  await page.keyboard.press("Escape");
  await dragOver(page, "accuracy", [0.2, 0.8]);
  const whole = before.accuracy.to - before.accuracy.from;
  await until(
    page,
    (most) => {
      const { dataset } = document.querySelector('[data-metric="accuracy"] canvas');
      return dataset.to - dataset.from < most;
    },
    whole * 0.7,
  );
  await atRest(page);
  const { loss } = await shownCharts(page);
  assert.equal(loss.to, before.loss.to);
  // The others are zoomed together without it.
  const own = await rangeOf(page, "accuracy");
  await dragOver(page, "loss");
  await addressed(page, "from=");
  assert.deepEqual(await rangeOf(page, "accuracy"), own);
  for (const state of ["false", "true"]) {
    await page.getByTestId("sync").click();
    await until(
      page,
      (state) => document.querySelector("[data-testid=sync]").ariaPressed !== state,
      state === "false" ? "true" : "false",
    );
  }
  await until(page, () => !location.search.includes("range"));
  const [from, to] = [search(page).get("from"), search(page).get("to")].map(Number);
  await settled(page, "accuracy", [from, to]);
  assert.deepEqual(complaints, []);
  await close();
});

test("a click on a phase shows how long all of its name lasted; . and , go to the next and back", async () => {
  const { page, complaints, close } = await board("&metric=loss");
  const lane = page.locator(`[data-testid=phases-lane][data-run="${id.one}"]`).first();
  await lane.waitFor();
  await atRest(page);
  const { phases } = await (await fetch(`${home.url}/api/corral/v1/runs/${id.one}/phases`)).json();
  const epochs = phases.filter((phase) => phase.name === "epoch");
  const length = ({ start_ns, end_ns }) => Number(BigInt(end_ns) - BigInt(start_ns)) / 1e9;
  const canvas = lane.locator("canvas");
  const { from, to } = await canvas.evaluate(({ dataset }) => ({ ...dataset }));
  const { workload_start_ns } = await (
    await fetch(`${home.url}/api/corral/v1/runs/${id.one}`)
  ).json();
  const middle =
    Number(BigInt(epochs[1].start_ns) - BigInt(workload_start_ns)) / 1e9 + length(epochs[1]) / 2;
  const box = await canvas.boundingBox();
  await page.mouse.click(box.x + (box.width * (middle - from)) / (to - from), box.y + 8);
  const panel = page.getByTestId("phase-panel");
  await panel.getByTestId("phase-statistics").waitFor();
  await soon(async () => {
    assert.match(await panel.locator("h2").textContent(), /^epoch 2/);
    const cells = await panel.locator("td").allTextContents();
    assert.equal(cells[0], String(epochs.length));
    assert.equal(cells.length, 8);
    assert.ok(
      cells.slice(1).every((cell) => /\d/.test(cell)),
      cells.join(" | "),
    );
    assert.match(await panel.locator("dl").textContent(), /index\s*2/);
  });
  await atRest(page);
  assert.deepEqual(await violations(page), []);
  const named = (name) =>
    until(
      page,
      (name) => document.querySelector("[data-testid=phase-panel] h2")?.textContent === name,
      name,
    );
  await page.keyboard.press(".");
  await named("evaluation 2");
  await page.keyboard.press(",");
  await named("epoch 2");
  await soon(() =>
    assert.equal(search(page).get("phase"), `${id.one.slice(0, 12)}:${epochs[1].id}`),
  );
  // The link opens it again.
  await page.reload();
  await named("epoch 2");
  await panel.getByText("Close", { exact: true }).click();
  await until(page, () => !location.search.includes("phase="));
  assert.deepEqual(complaints, []);
  await close();
});

test("marks and the pinned values are in the address: a reload shows them, 0 lets go", async () => {
  const { page, complaints, close } = await board("&metric=loss&metric=accuracy");
  const surface = chart(page, "accuracy").locator(".surface");
  const box = await surface.boundingBox();
  await page.mouse.move(box.x + box.width * 0.4, box.y + 30);
  await page.keyboard.press("1");
  await addressed(page, "[?&]a=");
  await page.mouse.move(box.x + box.width * 0.7, box.y + 30);
  await page.keyboard.press("2");
  await addressed(page, "[?&]b=");
  // This moves the charts down.
  await page.getByTestId("region-table").waitFor();
  await atRest(page);
  await surface.click({ position: { x: box.width / 2, y: 30 } });
  await page.getByTestId("pinned").waitFor();
  await addressed(page, "pin=.*:accuracy");
  const shown = () =>
    page.evaluate(() => ({
      pinned: document.querySelector("[data-testid=pinned] dl").textContent,
      region: document.querySelector("[data-testid=inspect] h2").textContent,
      marks: [...document.querySelectorAll('[data-metric="loss"] .mark')].map(
        (mark) => mark.style.visibility,
      ),
    }));
  await atRest(page);
  const before = await soon(async () => {
    const now = await shown();
    assert.deepEqual(now.marks, ["visible", "visible"]);
    assert.match(now.pinned, /^accuracy/);
    return now;
  });
  await page.reload();
  await chartsDrawn(page);
  await until(
    page,
    (text) => document.querySelector("[data-testid=pinned] dl")?.textContent === text,
    before.pinned,
  );
  await page.getByTestId("inspect").waitFor();
  await soon(async () => assert.deepEqual(await shown(), before));
  await page.keyboard.press("0");
  await until(page, () => !/[?&](a|b|pin)=/.test(location.search));
  await until(page, () => document.querySelector("[data-testid=pinned]") === null);
  assert.deepEqual(complaints, []);
  await close();
});

test("a group keeps its colour when another goes", async () => {
  const colours = async (address) => {
    const { page, close } = await open(browser, home, address);
    await chartsDrawn(page);
    await page.getByTestId("pinned").locator("dd").first().waitFor();
    await atRest(page);
    const found = await page.evaluate(() =>
      Object.fromEntries(
        [...document.querySelectorAll("[data-testid=pinned] dd > :first-child")].map((name) => [
          name.textContent,
          name.style.color,
        ]),
      ),
    );
    await close();
    return found;
  };
  const extra = "&metric=loss&group=param:width&pin=1";
  const both = await colours(all + extra);
  assert.deepEqual(Object.keys(both).sort(), ["width 16", "width 8"]);
  assert.notEqual(both["width 8"], both["width 16"]);
  const alone = await colours(`/board?run=${id.two}${extra}`);
  assert.deepEqual(alone, { "width 16": both["width 16"] });
});

test("the right axis has its own mode, which the address keeps", async () => {
  const { page, complaints, close } = await board("&metric=loss~with:accuracy");
  await chart(page, "loss").getByTestId("chart-menu").click();
  await page.getByLabel("Right scale").selectOption("fixed");
  await addressed(page, "right:y:0\\.\\.1");
  await page.getByLabel("Right scale").selectOption("zero");
  await addressed(page, "right:zero");
  await page.reload();
  await chartsDrawn(page);
  await chart(page, "loss").getByTestId("chart-menu").click();
  await soon(async () => assert.equal(await page.getByLabel("Right scale").inputValue(), "zero"));
  assert.deepEqual(complaints, []);
  await close();
});

const name = (page, metric, label) =>
  chart(page, metric).getByRole("button", { name: new RegExp(`^${label}, `) });

test("the menu of a name makes its run the baseline, and so does B", async () => {
  const { page, complaints, close } = await board("&metric=loss");
  const compared = (what) =>
    until(
      page,
      (what) => document.querySelector('[data-metric="loss"] .unit')?.textContent === what,
      what,
    );
  await name(page, "loss", "one").click({ button: "right" });
  const menu = page.getByTestId("line-menu");
  await menu.waitFor();
  assert.deepEqual(await violations(page), []);
  await menu.getByText("Compare to this").click();
  await compared("÷ one");
  await soon(() => assert.equal(search(page).get("base"), id.one));
  await atRest(page);
  await name(page, "loss", "two").hover();
  await page.keyboard.press("b");
  await compared("÷ two");
  await atRest(page);
  // Its name is at another end by now.
  await page.mouse.move(0, 0);
  await name(page, "loss", "two").hover();
  await page.keyboard.press("b");
  await until(page, () => !location.search.includes("base="));
  assert.deepEqual(complaints, []);
  await close();
});

test("a double-click shows a line alone, and on the only one brings the others back", async () => {
  const { page, complaints, close } = await board("&metric=loss");
  const pressed = (states) =>
    until(
      page,
      (states) =>
        ["one", "two"].every((label, i) => {
          const button = document.querySelector(`.line-name[aria-label^="${label}, "]`);
          return button?.ariaPressed === String(states[i]);
        }),
      states,
    );
  await pressed([true, true]);
  await name(page, "loss", "one").dblclick();
  await pressed([true, false]);
  await name(page, "loss", "one").dblclick();
  await pressed([true, true]);
  await name(page, "loss", "two").click();
  await pressed([true, false]);
  assert.deepEqual(complaints, []);
  await close();
});

test("what the limits leave out is said", async () => {
  const opened = await open(browser, home, "/health");
  const { page, complaints, close } = opened;
  // Twelve of the run's series as the devices of one metric.
  await page.route(`**/runs/${id.one}/metrics`, async (route) => {
    const answer = await (await route.fetch()).json();
    const lively = answer.metrics.filter(
      ({ min, max, owner }) => owner === "host" && min !== max && min !== null,
    );
    const devices = lively
      .slice(0, 12)
      .map((metric, i) => ({ ...metric, name: "many.devices", source: `device ${i}` }));
    assert.equal(devices.length, 12);
    await route.fulfill({ json: { metrics: devices } });
  });
  await page.goto(`${home.url}/board?run=${id.one}&metric=many.devices&sel=1..2`);
  await chartsDrawn(page);
  await chart(page, "many.devices").getByText("the busiest 8 of 12").waitFor();
  const said = page.getByTestId("changes-limit");
  await said.getByText(/^4 series of less busy devices not compared/).waitFor();
  assert.deepEqual(complaints, []);
  await close();
});

test("a deleted board comes back, and so does a replaced one", async () => {
  const { page, complaints, close } = await board("&metric=loss&x=step");
  const stored = async () =>
    (await (await fetch(`${home.url}/api/corral/v1/boards`)).json()).boards.map(
      ({ name, state }) => [name, state],
    );
  const becomes = (wanted) => soon(async () => assert.deepEqual(await stored(), wanted));
  await page.getByTestId("boards").click();
  await page.getByLabel("Board name").fill("mine");
  await page.keyboard.press("Enter");
  await page.getByLabel("Delete mine").waitFor();
  const first = await stored();
  assert.equal(first.length, 1);
  await page.getByLabel("Delete mine").click();
  const undo = page.getByTestId("board-undo");
  await undo.waitFor();
  await becomes([]);
  await undo.click();
  await becomes(first);
  await page.keyboard.press("Escape");
  await page.getByTestId("axis-run").click();
  await addressed(page, "x=run");
  await page.getByTestId("boards").click();
  await page.getByText("replace", { exact: true }).click();
  await page.getByTestId("board-toast").getByText("Board mine replaced").waitFor();
  await soon(async () => assert.match((await stored())[0][1], /x=run/));
  await undo.click();
  await becomes(first);
  assert.deepEqual(complaints, []);
  await close();
});

test("a note is posted once, however often Save is pressed", async () => {
  const { page, complaints, close } = await board("&metric=loss");
  await chart(page, "loss")
    .locator(".surface")
    .hover({ position: { x: 200, y: 40 } });
  await page.keyboard.press("n");
  await page.getByLabel("Text of the note").fill("once");
  await page.getByTestId("note-dialog").getByText("Save", { exact: true }).dblclick();
  await page.getByTestId("note-dialog").waitFor({ state: "detached" });
  const { notes } = await (await fetch(`${home.url}/api/corral/v1/runs/${id.one}/notes`)).json();
  assert.deepEqual(
    notes.map(({ text }) => text),
    ["once"],
  );
  assert.deepEqual(complaints, []);
  await close();
});

test("nothing moves when a part is zoomed to", async () => {
  const { page, complaints, close } = await board("&metric=loss&metric=accuracy");
  const top = async () => (await chart(page, "loss").boundingBox()).y;
  const before = await top();
  await dragOver(page, "loss");
  await page.getByTestId("minimap").waitFor();
  await atRest(page);
  assert.equal(await top(), before);
  assert.deepEqual(complaints, []);
  await close();
});

// Runs of one workload each with a few points, so that they can be removed.
async function logged(names) {
  const { experiment_id } = await home.mlflow("experiments/create", { name: names.join(" ") });
  const start_time = Date.parse("2026-11-23T09:00:00Z");
  const made = [];
  for (const [i, run_name] of names.entries()) {
    const { run } = await home.mlflow("runs/create", { experiment_id, run_name, start_time });
    const { run_id } = run.info;
    const metrics = Array.from({ length: 50 }, (_, step) => ({
      ...{ key: "loss", value: i + 1 / (1 + step), timestamp: start_time + step * 100, step },
    }));
    await home.mlflow("runs/log-batch", { run_id, metrics });
    await home.mlflow("runs/update", { run_id, status: "FINISHED", end_time: start_time + 5000 });
    made.push(run_id);
  }
  return made;
}

const swatches = (page) =>
  page.evaluate(() =>
    Object.fromEntries(
      [...document.querySelectorAll("[data-run]")].map((row) => [
        row.querySelector("a").textContent,
        row.querySelector("svg").outerHTML,
      ]),
    ),
  );

test("colours stay when a run is taken out or removed, and what is removed is drawn no more", async () => {
  const runs = await logged(["first", "second", "third", "fourth"]);
  const address = `/board?${runs.map((run) => `run=${run}`).join("&")}&metric=loss`;
  const { page, complaints, close } = await open(browser, home, address);
  await chartsDrawn(page);
  await atRest(page);
  const { second, third, fourth } = await swatches(page);
  await page.getByRole("button", { name: "Remove first" }).click();
  await page.locator(`[data-run="${runs[0]}"]`).waitFor({ state: "detached" });
  assert.deepEqual(await swatches(page), { second, third, fourth });
  await page.reload();
  await chartsDrawn(page);
  await atRest(page);
  assert.deepEqual(await swatches(page), { second, third, fourth });

  const answer = await fetch(`${home.url}/api/corral/v1/runs/${runs[1]}`, { method: "DELETE" });
  assert.equal(answer.status, 200, await answer.clone().text());
  await page.getByTestId("missing-runs").getByText(runs[1]).waitFor();
  await page.locator(`[data-run="${runs[1]}"]`).waitFor({ state: "detached" });
  assert.deepEqual(await swatches(page), { third, fourth });
  await until(page, () => {
    const words = document.querySelector("[data-metric=loss] canvas")?.ariaLabel ?? "";
    return words.includes("fourth: last") && !words.includes("second");
  });
  assert.equal(await page.getByText("there is no series").count(), 0);
  assert.deepEqual(
    complaints.filter((text) => !text.includes("404")),
    [],
  );
  await close();
});

test("the keyboard reaches a plot, whose board is named by its heading", async () => {
  const { page, complaints, close } = await board("&metric=loss&metric=accuracy");
  await page.getByRole("heading", { level: 1, name: "Board of 2 runs" }).waitFor({ state: "attached" });
  const plot = chart(page, "accuracy").getByRole("group", { name: /^Plot of accuracy/ });
  const focused = () => plot.evaluate((element) => element === document.activeElement);
  for (let i = 0; i < 200 && !(await focused()); i++) await page.keyboard.press("Tab");
  assert.ok(await focused());
  // The values stand in the footer and can be pinned.
  await page.keyboard.press("ArrowRight");
  await until(page, () => /accuracy/.test(document.querySelector("[data-testid=footer-cursor]").textContent));
  await page.keyboard.press("Enter");
  await page.getByTestId("pinned").getByText("accuracy").waitFor();
  await addressed(page, "pin=[^&]*:accuracy");
  assert.deepEqual(complaints, []);
  await close();
});

test("no target of a board on a phone is smaller than 24 px, save names in charts and links in text", async () => {
  const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
  const { page, close } = await board("&metric=loss&metric=accuracy", phone);
  const small = () =>
    page.evaluate(() =>
      [...document.querySelectorAll("button, a, select, input, [role=button], summary")]
        .filter((one) => one.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
        .filter((one) => !one.matches(".line-name, p a, p .link, .quiet .link"))
        .map((one) => [one.closest("label") ?? one, one])
        .filter(([target]) => {
          const { width, height } = target.getBoundingClientRect();
          return width > 0 && height > 0 && (width < 24 || height < 24);
        })
        .map(([, one]) => one.outerHTML.slice(0, 160)),
    );
  assert.deepEqual(await small(), []);
  await close();
});

test("values stand at the pointer, inside the plot, and go when it leaves or they are pinned", async () => {
  const { page, complaints, close } = await board("&metric=loss&metric=accuracy&x=step");
  const box = await chart(page, "loss").locator(".surface").boundingBox();
  const tip = chart(page, "loss").getByTestId("pointer-values");
  const y = box.y + box.height / 2;
  const readAt = (part) => page.mouse.move(box.x + box.width * part, y);
  for (const part of [0.3, 0.7]) {
    await readAt(part);
    await soon(async () => {
      const { x, width, ...mine } = await tip.boundingBox();
      const cursor = box.x + box.width * part;
      assert.ok(part < 0.5 ? x > cursor : x + width < cursor);
      assert.ok(mine.y >= box.y && mine.y + mine.height <= box.y + box.height);
    });
    // The same values as at the foot.
    await soon(async () => {
      const values = await tip.locator(".number").allTextContents();
      assert.equal(values.length, 2);
      const foot = await page.getByTestId("footer-cursor").textContent();
      for (const value of values) assert.ok(foot.includes(value), `${value} in ${foot}`);
    });
  }
  assert.equal(await chart(page, "accuracy").getByTestId("pointer-values").isVisible(), false);
  await page.mouse.click(box.x + box.width * 0.7, y);
  await page.getByTestId("pinned").waitFor();
  await tip.waitFor({ state: "hidden" });
  await page.keyboard.press("0");
  await page.getByTestId("pinned").waitFor({ state: "detached" });
  await readAt(0.4);
  await tip.waitFor({ state: "visible" });
  await page.mouse.move(2, 2);
  await tip.waitFor({ state: "hidden" });
  assert.deepEqual(complaints, []);
  await close();
});

test("what a host with another clock recorded is moved, unless one asks for it as recorded", async () => {
  const opened = await open(browser, home, "/health");
  const { page, charts, complaints, close } = opened;
  // Its host becomes the second of the run, with a clock that is 250 ms ahead of the first one's.
  let host;
  let times;
  await page.route(`**/runs/${id.one}`, async (route) => {
    const response = await route.fetch();
    const run = await response.json();
    host = run.host;
    times = [run.start_ns, run.end_ns];
    const process = { attempt: 0, start_ns: run.start_ns, end_ns: run.end_ns, status: run.status };
    const members = ["node1", host].map((name, i) => ({
      ...process,
      member: i,
      rank: i,
      host: name,
      outcome: "finished",
      reason: null,
    }));
    await route.fulfill({ response, json: { ...run, host: "node1", members } });
  });
  await page.route(`**/runs/${id.one}/clocks`, async (route) => {
    const clock = (name, rank, offset_s) => ({
      host: name,
      ranks: [rank],
      points: times.map((time_ns) => ({ time_ns, offset_s, error_s: 2e-4 })),
    });
    await route.fulfill({
      json: { first: "node1", clocks: [clock("node1", 0, 1), clock(host, 1, 0.75)] },
    });
  });
  const board = `/board?run=${id.one}&metric=host.cpu.busy&metric=loss`;
  await page.goto(home.url + board);
  await chartsDrawn(page);
  const said = page.getByTestId("clocks");
  await said.getByText(/^Times of hosts are corrected: \S+ 250\sms ahead \(±/).waitFor();
  await atRest(page);
  const corrected = new Set(charts.flatMap(({ origins_ns = [] }) => origins_ns));
  await said.getByRole("button", { name: "Show them as recorded" }).click();
  await said.getByText(/^Times of hosts are as recorded/).waitFor();
  await addressed(page, "clocks=raw");
  charts.length = 0;
  await page.reload();
  await chartsDrawn(page);
  await atRest(page);
  const raw = new Set(charts.flatMap(({ origins_ns = [] }) => origins_ns));
  assert.equal(raw.size, 1, "all stand on one axis");
  const [zero] = raw;
  const moved = [...corrected].map((ns) => Number(BigInt(ns) - BigInt(zero)));
  assert.ok(moved.some((ns) => Math.abs(ns - 250e6) < 1e6), `${moved}`);
  assert.deepEqual(complaints, []);
  assert.deepEqual(await violations(page), []);
  await close();
});
