// Findings about a run on its page and beside other runs: the bar of its time, the verdict with its evidence, odd
// epochs. Each leads to its place on the board.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { atRest, chartsDrawn, Home, launch, open, soon, until, violations } from "./support.mjs";

// Epochs of ten steps; epoch 8 waits for its data. With a second argument each step logs a loss, and takes twice as
// long, so that what a busy machine adds makes fewer epochs odd.
const kScript = `
import sys, time, corral
part = 0.01 * len(sys.argv[1:])
for epoch in range(int(sys.argv[1])):
    with corral.phase("epoch", kind="control"):
        for step in range(10):
            with corral.phase("step"):
                with corral.phase("data wait", kind="wait"):
                    time.sleep(0.25 if epoch == 8 else part)
                time.sleep(part)
            if len(sys.argv) > 2:
                corral.log({"loss": 10 - step + epoch % 3})
`;
const home = new Home();
let browser;
const id = {};

before(async () => {
  writeFileSync(join(home.folder, "train.py"), kScript);
  [browser] = await Promise.all([launch(), home.serve()]);
  for (const [name, ...command] of [
    ["odd", "train.py", "12"],
    ["short", "train.py", "3"],
    ["logged", "train.py", "32", "loss"],
    ["plain", "true"],
  ]) {
    // Fewer epochs than a band needs have a sample.
    const rarely = name === "logged" ? ["--interval", "5s"] : [];
    const run = home.start("run", "--experiment", "found", "--name", name, ...rarely, ...command);
    assert.equal(await run.ended, 0, run.output());
  }
  for (const run of await home.runs()) id[run.name] = run.id;
});

after(async () => {
  await browser?.close();
  await home.close();
});

async function runPage(name, extra = "", prepare = async () => {}) {
  const opened = await open(browser, home, `/runs/${id[name]}${extra}`);
  await prepare(opened.page);
  await chartsDrawn(opened.page);
  return { ...opened, found: opened.page.getByTestId("found") };
}

const range = (page) => {
  const { searchParams } = new URL(page.url());
  return ["from", "to"].map((key) => Number(searchParams.get(key) ?? Number.NaN));
};

test("a run opens on where its time went, what bounded it and which epochs differ", async () => {
  const { page, found, complaints, close } = await runPage("odd");
  const bar = found.getByRole("list", { name: "Where the time went" });
  await bar.waitFor();
  const titles = await bar.locator("li").evaluateAll((all) => all.map((one) => one.title));
  const shares = titles.join("\n").matchAll(/: ([\d.]+)\u2009%/g);
  const sum = [...shares].reduce((all, [, share]) => all + Number(share), 0);
  assert.ok(Math.abs(sum - 100) < 0.5, titles.join("\n"));
  assert.match(titles.join("\n"), /^data wait: /m);
  assert.match(await found.getByTestId("verdict").textContent(), /data wait/);
  assert.match(await found.getByTestId("alike").textContent(), /of 12 epochs are alike/);
  await found.getByTestId("alike").getByRole("button", { name: "epoch 8" }).click();
  // Ten waits of a quarter of a second.
  await soon(async () => {
    const [from, to] = range(page);
    assert.ok(to - from > 2.5, page.url());
  });
  await page.goBack();
  await soon(async () => assert.ok(Number.isNaN(range(page)[0]), page.url()));
  assert.deepEqual(complaints, []);
  await close();
});

test("a finding is shown on the clock of the board, and on time where the board has another axis", async () => {
  const { page, found, close } = await runPage("odd", "?x=wall");
  const jump = () => found.getByTestId("alike").getByRole("button", { name: "epoch 8" }).click();
  await jump();
  await soon(async () => assert.ok(range(page)[0] > 1e9, page.url()));
  await page.goto(`${home.url}/runs/${id.odd}?x=epoch`);
  await jump();
  await soon(async () => {
    const { searchParams } = new URL(page.url());
    assert.equal(searchParams.get("x"), null);
    assert.ok(range(page)[1] - range(page)[0] > 2.5, page.url());
  });
  await close();
});

test("details have the evidence, which opens its chart, and what could not be judged", async () => {
  const evidence = [{ metric: "run.memory.rss", source: null, mean: 1e8, unit: "B", points: 7 }];
  const unproven = [{ resource: "storage", metric: "host.disk.busy", reason: "no permission" }];
  const { page, found, complaints, close } = await runPage("odd", "?metric=run.cpu.used", (page) =>
    page
      .route("**/explain", async (route) => {
        const answer = await route.fetch();
        const body = await answer.json();
        Object.assign(body.bottleneck, { evidence, unproven });
        body.findings[0].hint = "Try another.";
        body.findings.push({
          ...body.findings[0],
          id: "slow rank 3",
          kind: "slow rank",
          text: "Rank 3 is late: it waits.",
          hint: null,
        });
        body.unseen = [{ part: "capture.torch", reason: "given up: <b>why</b>" }];
        body.lanes.push({ ...body.lanes[0], lane: "host/rank1/9/MainThread" });
        await route.fulfill({ response: answer, json: body });
      })
      .then(() => page.reload()),
  );
  assert.match(await found.getByTestId("verdict").textContent(), /Rank 3 is late/);
  await found.getByTestId("found-details").click();
  await found.getByText("Rank 3 is late").waitFor();
  assert.match(await found.getByTestId("unseen").textContent(), /given up: <b>why<\/b>/);
  await found.getByText("Try another.").waitFor();
  assert.equal(await found.getByTestId("lane-bars").getByRole("list").count(), 2);
  await found.getByText("1 rule that could not be applied").click();
  await found.getByText("storage: host.disk.busy: no permission").waitFor();
  assert.match(await found.textContent(), /Epochs 0 to 11: \d+ of 12 alike/);
  const course = found.getByRole("img", { name: "run.memory.rss over the judged time" });
  await course.waitFor();
  assert.match(await course.locator("path").getAttribute("d"), /^M/);
  await found.getByRole("button", { name: "run.memory.rss" }).click();
  await page.locator('[data-testid=chart][data-metric="run.memory.rss"]').waitFor();
  await soon(async () => assert.ok(range(page)[1] > range(page)[0], page.url()));
  await atRest(page);
  assert.deepEqual(await violations(page), []);
  await found.getByTestId("found-details").click();
  await found.getByText("Try another.").waitFor({ state: "detached" });
  assert.deepEqual(complaints, []);
  await close();
});

test("a finding is dismissed and kept, with a note, and comes back", async () => {
  const { page, found, complaints, close } = await runPage("odd");
  const verdict = found.getByTestId("verdict");
  await verdict.waitFor();
  const text = await verdict.textContent();
  await found.getByTestId("found-details").click();
  const list = found.getByRole("list", { name: "Findings", exact: true });
  const about = (words) => found.getByRole("listitem").filter({ hasText: words });
  const bound = about(text.slice(0, 20));
  await bound.getByRole("button", { name: "Dismiss" }).click();
  await found.getByText("1 dismissed finding").click();
  const note = bound.getByLabel("Note about the finding");
  await note.fill("It is a test");
  await note.press("Enter");
  // Another person's page shows the same.
  const other = await runPage("odd");
  assert.match(await other.found.getByTestId("verdict").textContent(), /1 verdict dismissed/);
  await other.found.getByTestId("found-details").click();
  await other.found.getByText("1 dismissed finding").click();
  await soon(async () =>
    assert.equal(
      await other.found.getByLabel("Note about the finding").inputValue(),
      "It is a test",
    ),
  );
  await other.close();
  await atRest(page);
  assert.deepEqual(await violations(page), []);
  // Kept ones come first.
  const before = await list.getByRole("listitem").count();
  await bound.getByRole("button", { name: "Keep" }).click();
  await soon(async () => assert.equal(await list.getByRole("listitem").count(), before + 1));
  assert.ok((await list.getByRole("listitem").first().textContent()).startsWith(text.slice(0, 20)));
  await bound.getByRole("button", { name: "Keep ✓" }).click();
  await bound.getByLabel("Note about the finding").waitFor({ state: "detached" });
  assert.deepEqual(complaints, []);
  await close();
});

test("regions lead to the metrics that jumped, and can be dismissed", async () => {
  const { page, found, complaints, close } = await runPage("odd", "?metric=run.cpu.used", (page) =>
    page.route("**/interest", async (route) => {
      const answer = await route.fetch();
      const body = await answer.json();
      const [from, to] = [BigInt(body.from_ns), BigInt(body.to_ns)];
      const region = {
        from_ns: String(from + (to - from) / 2n),
        to_ns: String(to),
        to_end: true,
        score: 9,
        text: "From 2 s on, run.memory.rss rose from 10 MiB to 20 MiB.",
        moved: [{ metric: "run.memory.rss", source: null, before: 1e7, after: 2e7, unit: "B" }],
        metrics: 1,
      };
      await route.fulfill({ response: answer, json: { ...body, regions: [region] } });
    }).then(() => page.reload()),
  );
  await page.getByTestId("by-interest").click();
  const names = () =>
    page.getByRole("region", { name: "Metrics" }).locator("label").evaluateAll((all) => all.map((one) => one.title));
  assert.ok((await names()).length > 10);
  assert.equal(await page.getByRole("button", { name: /^cpu/ }).count(), 0);
  await page.getByTestId("by-interest").click();
  await page.getByRole("button", { name: /^cpu/ }).waitFor();
  await found.getByTestId("found-details").click();
  const regions = found.getByTestId("regions");
  await regions.getByRole("button", { name: /run.memory.rss rose/ }).click();
  await page.locator('[data-testid=chart][data-metric="run.memory.rss"]').waitFor();
  await soon(async () => assert.ok(range(page)[0] > 1, page.url()));
  await regions.getByRole("button", { name: "Dismiss" }).click();
  await regions.getByText("1 dismissed finding").waitFor();
  await atRest(page);
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(complaints, []);
  await close();
});

test("alike epochs are condensed to one, and each piece opens", async () => {
  const { page, found, complaints, close } = await runPage("odd", "?metric=run.cpu.used");
  await found.getByRole("button", { name: "Condense" }).click();
  const folds = page.getByTestId("folds");
  // On a busy machine more epochs than the eighth are odd.
  const first = folds.getByText(/^× \d+$/).first();
  await first.waitFor();
  const pieces = await folds.getByRole("button").evaluateAll((all) =>
    all.map((one) => [one.textContent, one.closest("li").getBoundingClientRect().width]),
  );
  const [fold, odd] = [/^× /, /^epoch .*\b8\b/].map((text) => pieces.find(([own]) => text.test(own)));
  // 2.6 s beside 0.2 s.
  assert.ok(odd[1] > 2 * fold[1], JSON.stringify(pieces));
  await chartsDrawn(page);
  const range = await page.getByTestId("range").textContent();
  assert.match(range, /condensed time/);
  await atRest(page);
  assert.deepEqual(await violations(page), []);
  await first.click();
  await soon(async () => {
    const { searchParams } = new URL(page.url());
    assert.equal(searchParams.get("x"), null);
    // An epoch sleeps for 0.2 s.
    const [from, to] = ["from", "to"].map((key) => Number(searchParams.get(key)));
    assert.ok(to - from > 0.19 * Number(fold[0].slice(2)), page.url());
  });
  await folds.waitFor({ state: "detached" });
  await page.goto(`${home.url}/runs/${id.short}?x=condensed`);
  await page.getByText(/No epochs are known to be alike/).waitFor();
  assert.deepEqual(complaints, []);
  await close();
});

test("the lines of a fold show the spread of its epochs, or why there is none", async () => {
  const asked = [];
  const path = "?x=condensed&metric=loss&metric=run.memory.rss";
  const { page, complaints, close } = await runPage("logged", path, async (page) => {
    page.on("request", (request) => {
      if (request.url().endsWith("/lines")) asked.push(request.postDataJSON());
    });
    // A busy machine may make more epochs odd, change their usual length, or pause between two: then too few are
    // alike in a row.
    await page.route("**/explain", async (route) => {
      const response = await route.fetch();
      const json = await response.json();
      for (const lane of json.epochs) {
        const typical = lane.regimes.find((regime) => regime.typical) ?? lane.regimes[0];
        lane.regimes = [{ ...typical, first: 0, last: lane.epochs - 1, epochs: lane.epochs, compared: true }];
        lane.odd = lane.odd.filter(({ epoch }) => epoch === 8);
        lane.odd_epochs = lane.odd.length;
      }
      await route.fulfill({ response, json });
    });
    await page.route("**/epochs", async (route) => {
      const response = await route.fetch();
      const json = await response.json();
      for (const { epochs } of json.runs)
        epochs.forEach((one, i) => (one.end_ns = epochs[i + 1]?.start_ns ?? one.end_ns));
      await route.fulfill({ response, json });
    });
    await page.reload();
  });
  const badge = (metric) => page.locator(`[data-metric="${metric}"] [data-testid=chart-badge]`);
  await badge("loss").getByText(/p10–p90 of \d+ epochs/).waitFor();
  const [, epochs] = /p10–p90 of (\d+) epochs/.exec(await badge("loss").textContent());
  assert.ok(Number(epochs) >= 8, epochs);
  // Each epoch is a line of its own, from its begin on.
  const most = asked.find(({ lines }) => lines.length === Number(epochs));
  assert.equal(new Set(most.lines.map(({ origins_ns }) => origins_ns[0])).size, Number(epochs));
  const told = page.locator('[data-metric="run.memory.rss"] [data-testid=told]');
  await told.getByText("no p10–p90: fewer than 8 epochs have points").waitFor();
  // On another axis there is none.
  const before = asked.length;
  await page.goto(`${home.url}/runs/${id.logged}?metric=loss`);
  await chartsDrawn(page);
  await atRest(page);
  assert.doesNotMatch(await badge("loss").textContent(), /p10/);
  assert.equal(asked.length, before);
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(complaints, []);
  await close();
});

test("without phases there is no place for it; without an answer it says why", async () => {
  const plain = await runPage("plain");
  assert.equal(await plain.found.count(), 0);
  await plain.close();
  const failing = await runPage("odd", "", (page) =>
    page
      .route("**/explain", (route) =>
        route.fulfill({ status: 413, json: { error: { message: "too many phases to explain" } } }),
      )
      .then(() => page.reload()),
  );
  await failing.found.getByText(/too many phases to explain/).waitFor();
  await failing.close();
});

test("a running run is explained again as its data arrive, and stays explained when it ends", async () => {
  const run = home.start("run", "--experiment", "found", "--name", "live", "train.py", "1000");
  await soon(async () => {
    id.live = (await home.runs()).find(({ name }) => name === "live")?.id;
    assert.ok(id.live);
  });
  const { page, complaints, close } = await open(browser, home, `/runs/${id.live}`);
  const found = page.getByTestId("found");
  await found.getByRole("list", { name: "Where the time went" }).waitFor();
  assert.match(await found.textContent(), /so far/);
  run.child.kill("SIGINT");
  await run.ended;
  await soon(async () => assert.doesNotMatch(await found.textContent(), /so far/));
  assert.match(await found.getByTestId("verdict").textContent(), /data wait/);
  assert.deepEqual(complaints, []);
  await close();
});

test("a board shows the bars of its runs below each other", async () => {
  const { page, complaints, close } = await open(
    browser,
    home,
    `/board?run=${id.odd}&run=${id.short}`,
  );
  const bars = page.getByTestId("time-bars");
  await until(page, () => document.querySelectorAll("[data-testid=time-bars] ol").length === 2);
  for (const name of ["odd", "short"])
    assert.match(await bars.getByRole("list", { name }).textContent(), /data wait/);
  assert.deepEqual(complaints, []);
  await close();
});
