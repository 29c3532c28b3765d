// The page of one run beside its charts: everything recorded, the output with its search, files with previews, notes,
// and the differences to another run.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { atRest, chartsDrawn, Home, launch, open, soon, until, violations } from "./support.mjs";

const kLines = 30_000;
const home = new Home();
let browser;
const id = {};

before(async () => {
  [browser] = await Promise.all([launch(), home.serve()]);
  const script = `i=0; while [ $i -lt ${kLines} ]; do i=$((i+1)); echo "line $i of the story"; done; echo needle 12; echo oops >&2`;
  const chatty = home.start(
    "run",
    "--experiment",
    "talk",
    "--name",
    "chatty",
    "--tag",
    "mood=loud",
    "sh",
    "-c",
    script,
  );
  assert.equal(await chatty.ended, 0, chatty.output());
  const greedy = 'i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo "step $i"; [ $i -ne 200 ] || echo "MemoryError: <b>too much</b>"; done; exit 1';
  const failing = home.start("run", "--experiment", "talk", "--name", "greedy", "sh", "-c", greedy);
  assert.equal(await failing.ended, 1, failing.output());
  const one = home.train("one", "pair", { epochs: 3, width: 8 });
  assert.equal(await one.ended, 0, one.output());
  const two = home.train("two", "pair", { epochs: 3, width: 16 });
  assert.equal(await two.ended, 0, two.output());
  for (const run of await home.runs()) id[run.name] = run.id;
  await put("notes/<b>table.csv", 'name,value\r\n"a, ""quoted""",1\r\nb,2\r\n');
  await put("story.txt", "once upon a time\n");
  await put("config.json", '{"lr":0.1,"layers":[1,2]}');
  await put("scores.json", '{"columns":["who","score"],"data":[["x",1],["y",2]]}');
  await put("model.bin", Buffer.from([0, 1, 2, 255, 0, 7]));
  await put(
    "dot.png",
    Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
      "base64",
    ),
  );
});

after(async () => {
  await browser?.close();
  await home.close();
});

async function put(path, body) {
  const encoded = path.split("/").map(encodeURIComponent).join("/");
  const reply = await fetch(`${home.url}/api/corral/v1/runs/${id.one}/artifacts/${encoded}`, {
    method: "PUT",
    headers: { "Content-Type": "application/octet-stream" },
    body,
  });
  assert.ok(reply.ok, await reply.text());
}

const tab = (page, name) => page.getByTestId(`tab-${name}`).click();

test("everything recorded about a run stands on one page", async () => {
  const { page, complaints, close } = await open(browser, home, `/runs/${id.one}`);
  await chartsDrawn(page);
  await tab(page, "about");
  const about = page.getByTestId("about");
  await about.waitFor();
  await about
    .getByRole("button", { name: /^all \d+/ })
    .first()
    .click();
  await soon(async () => {
    const text = await about.textContent();
    for (const word of ["width", "Environment", "run.memory.rss", "loss", "evaluation"])
      assert.ok(text.includes(word), word);
  });
  const phases = about.getByRole("table", { name: "Phases" });
  // "epoch 1" to "epoch 3" are one kind of phase.
  const row = phases.locator("tr").filter({ hasText: "epoch" }).first();
  assert.match(await row.textContent(), /epoch.*3/);
  await page.reload();
  await about.waitFor();
  assert.equal(new URL(page.url()).searchParams.get("tab"), "about");
  assert.deepEqual(complaints, []);
  await close();
});

test("notes are written, seen on the charts of the moment, and deleted", async () => {
  const { page, complaints, close } = await open(browser, home, `/runs/${id.one}?tab=about`);
  await page.getByLabel("A note about this run").fill("<i>warm</i> cache");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  const note = page.locator(".note").filter({ hasText: "<i>warm</i> cache" });
  await note.waitFor();
  // One that could not be stored is not lost.
  const field = page.getByLabel("A note about this run");
  await soon(async () => assert.equal(await field.inputValue(), ""));
  await page.route("**/notes", (route) => (route.request().method() === "POST" ? route.abort() : route.continue()));
  await field.fill("kept");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("alert").waitFor();
  assert.equal(await field.inputValue(), "kept");
  await page.unroute("**/notes");
  complaints.splice(0);
  await tab(page, "charts");
  await page.mouse.move(5, 5);
  await atRest(page);
  const canvas = page.locator('[data-metric="loss"] canvas');
  const before = await canvas.screenshot();
  const box = await page.locator('[data-metric="loss"] .surface').boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 40);
  await page.keyboard.press("n");
  await page.getByTestId("note-dialog").getByLabel("Text of the note").fill("here it turns");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByTestId("note-dialog").waitFor({ state: "detached" });
  await tab(page, "about");
  await page.locator(".note").filter({ hasText: "here it turns" }).waitFor();
  await tab(page, "charts");
  await page.mouse.move(5, 5);
  await atRest(page);
  await soon(async () =>
    assert.ok(!before.equals(await canvas.screenshot()), "the chart shows the mark"),
  );
  await tab(page, "about");
  await note.getByLabel("Delete the note").click();
  await note.waitFor({ state: "detached" });
  await soon(async () => assert.equal(await page.locator(".note").count(), 1));
  assert.deepEqual(complaints, []);
  await close();
});

test("a note marks a span: written on a region, seen on the charts, and deleted", async () => {
  const { page, complaints, close } = await open(browser, home, `/runs/${id.one}?tab=charts`);
  const surface = page.locator('[data-metric="loss"] .surface');
  const canvas = page.locator('[data-metric="loss"] canvas');
  await surface.waitFor();
  await atRest(page);
  const box = await surface.boundingBox();
  await page.keyboard.down("Alt");
  await page.mouse.move(box.x + box.width * 0.3, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.6, box.y + 40, { steps: 5 });
  await page.mouse.up();
  await page.keyboard.up("Alt");
  const dialog = page.getByTestId("note-dialog");
  const about = /^Note from \S+.* to \S+/;
  await page.getByTestId("inspect").getByRole("button", { name: "Note" }).click();
  assert.match(await dialog.getByRole("heading").textContent(), about);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.keyboard.press("n");
  assert.match(await dialog.getByRole("heading").textContent(), about);
  await dialog.getByLabel("Text of the note").fill("the cache was cold\nuntil here");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
  const told = /Note about a part of it: the cache was cold\./;
  await soon(async () => assert.match(await canvas.getAttribute("aria-label"), told));
  await page.reload();
  await soon(async () => assert.match(await canvas.getAttribute("aria-label"), told));
  const answer = await fetch(`${home.url}/api/corral/v1/runs/${id.one}/notes`);
  const [note] = (await answer.json()).notes.filter(({ end_ns }) => end_ns !== null);
  const shown = await canvas.evaluate(({ dataset }) => dataset.to - dataset.from);
  const share = Number(BigInt(note.end_ns) - BigInt(note.time_ns)) / 1e9 / shown;
  assert.ok(Math.abs(share - 0.3) < 0.02, `${share} of ${shown} s`);
  // From the middle, where a focus begins, the key of the event before leads to its begin.
  await surface.focus();
  await page.mouse.move(5, 5);
  await page.keyboard.press("0");
  await page.keyboard.press(",");
  await page.keyboard.press("1");
  await page.waitForURL(/[?&]a=/);
  const begin = await canvas.evaluate(({ dataset }, at) => Number(dataset.from) + at * (dataset.to - dataset.from), 0.3);
  const a = Number(new URL(page.url()).searchParams.get("a"));
  assert.ok(Math.abs(a - begin) < 0.02 * shown, `${a}, not ${begin}`);
  // Not on an axis on which it has no place.
  await page.getByTestId("axis-step").click();
  await soon(async () => assert.doesNotMatch(await canvas.getAttribute("aria-label"), told));
  await tab(page, "about");
  const line = page.locator(".note").filter({ hasText: "the cache was cold" });
  assert.match(await line.textContent(), /^\S+ – \S+/);
  // It leads to the span, on the axis of time.
  await line.getByTitle("Show it on the charts").click();
  await page.waitForURL(/[?&]from=/);
  await soon(async () => assert.match(await canvas.getAttribute("aria-label"), told));
  const span = await canvas.evaluate(({ dataset }) => dataset.to - dataset.from);
  assert.ok(Math.abs(span - share * shown) < 0.02 * shown, `${span} s`);
  await tab(page, "about");
  await line.getByLabel("Delete the note").click();
  await line.waitFor({ state: "detached" });
  assert.deepEqual(complaints, []);
  await close();
});

test("the output: its end first, earlier parts as one scrolls up, found lines by a search", async () => {
  const { page, complaints, close } = await open(browser, home, `/runs/${id.chatty}?tab=output`);
  const output = page.getByTestId("output");
  await output.getByText("needle 12").waitFor();
  await output.getByText("oops").waitFor();
  const box = output.getByRole("log");
  assert.equal(await box.getByText("line 1 of the story", { exact: true }).count(), 0);
  await atRest(page);
  const first = () =>
    box.evaluate((element) => Number(/line (\d+) of/.exec(element.textContent)?.[1] ?? 0));
  const before = await first();
  assert.ok(before > 1, String(before));
  await box.evaluate((element) => element.scrollTo(0, 0));
  await soon(async () => assert.ok((await first()) < before));
  await page.getByLabel("Find in the output").fill("line 123 of");
  await page.getByRole("button", { name: "Find" }).click();
  const matches = page.getByTestId("log-matches");
  await matches.waitFor();
  await soon(async () => assert.equal(await matches.getByRole("button").count(), 1));
  await matches.getByRole("button").click();
  await box.getByText("line 123 of the story", { exact: true }).waitFor();
  await page.getByLabel("Find in the output").fill("/^needle \\d+$/");
  await page.getByRole("button", { name: "Find" }).click();
  await matches.getByText("needle 12").waitFor();
  await page.getByLabel("Find in the output").fill("/(unclosed/");
  await page.getByRole("button", { name: "Find" }).click();
  await page.getByText(/The server answered 400/).waitFor();
  // The browser itself reports the refused search.
  assert.deepEqual(
    complaints.filter((text) => !text.includes("400")),
    [],
  );
  await close();
});

test("lines that come one by one are all there when they fill no page", async () => {
  const script = 'i=0; while [ $i -lt 9 ]; do i=$((i+1)); echo "slow $i"; until [ -e "$0$i" ]; do sleep 0.01; done; done';
  const seen = join(home.folder, "seen");
  const slow = home.start("run", "--name", "slow", "sh", "-c", script, seen);
  const read = async () => {
    const run = (await home.runs()).find(({ name }) => name === "slow");
    return (await fetch(`${home.url}/api/corral/v1/runs/${run?.id}/logs`)).text();
  };
  for (let line = 1; line <= 9; line++) {
    await soon(async () => assert.ok((await read()).includes(`slow ${line}`)));
    writeFileSync(`${seen}${line}`, "");
  }
  assert.equal(await slow.ended, 0, slow.output());
  const run = (await home.runs()).find(({ name }) => name === "slow");
  const { page, complaints, close } = await open(browser, home, `/runs/${run.id}?tab=output`);
  const box = page.getByTestId("output").getByRole("log");
  await box.getByText("slow 1", { exact: true }).waitFor();
  await box.getByText("slow 9", { exact: true }).waitFor();
  assert.deepEqual(complaints, []);
  await close();
});

test("a run of many processes: each with its outcome and its output", async () => {
  const { environment } = home;
  for (const RANK of ["0", "1"]) {
    home.environment = { ...environment, RANK, WORLD_SIZE: "2" };
    const script = 'echo "I am rank $RANK"; exit $RANK';
    const rank = home.start("run", "--job", "pair", "--name", "ranks", "sh", "-c", script);
    assert.equal(String(await rank.ended), RANK, rank.output());
  }
  home.environment = environment;
  const run = (await home.runs()).find(({ name }) => name === "ranks");
  assert.equal(run.outcome, "failed");
  const { page, complaints, close } = await open(browser, home, `/runs/${run.id}?tab=output`);
  const box = page.getByTestId("output").getByRole("log");
  await box.getByText("I am rank 0", { exact: true }).waitFor();
  await page.getByLabel("Output of").selectOption({ index: 1 });
  await box.getByText("I am rank 1", { exact: true }).waitFor();
  assert.equal(await box.getByText("I am rank 0").count(), 0);
  assert.equal(new URL(page.url()).searchParams.get("member"), "1");
  assert.deepEqual(await violations(page), []);
  await page.getByRole("button", { name: "About", exact: true }).click();
  const processes = page.getByRole("table", { name: "Processes" });
  await processes.getByRole("row").filter({ hasText: "rank 1 on" }).getByText("failed").waitFor();
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(complaints, []);
  await close();
});

test("why a run failed leads to that line of its output", async () => {
  const { page, complaints, close } = await open(browser, home, `/runs/${id.greedy}`);
  await page.getByTestId("run-end").getByText("out of memory").waitFor();
  await page.getByTestId("run-end-reason").click();
  const box = page.getByTestId("output").getByRole("log");
  const line = box.locator(".found").getByText("MemoryError: <b>too much</b>");
  const inSight = () =>
    soon(async () => {
      const [outer, inner] = [await box.boundingBox(), await line.boundingBox()];
      const down = inner.y - outer.y;
      assert.ok(down > 0 && down < outer.height, `${down} of ${outer.height}`);
    });
  await line.waitFor();
  await inSight();
  await page.getByTestId("log-matches").getByText("MemoryError").waitFor();
  assert.equal(await box.locator(".found").count(), 1);
  // The link holds it.
  assert.equal(new URL(page.url()).searchParams.get("find"), "MemoryError: <b>too much</b>");
  await page.reload();
  await line.waitFor();
  await inSight();
  assert.deepEqual(complaints, []);
  await close();
});

test("files: a tree, and previews of text, JSON, tables and pictures; nothing in them runs", async () => {
  const { page, complaints, close } = await open(browser, home, `/runs/${id.one}?tab=files`);
  await page.getByRole("button", { name: "notes" }).click();
  await page.getByRole("button", { name: "<b>table.csv" }).click();
  const preview = page.getByTestId("file-preview");
  const cells = async () =>
    assert.deepEqual(await preview.locator("tbody td").allTextContents(), [
      'a, "quoted"',
      "1",
      "b",
      "2",
    ]);
  await soon(cells);
  await page.reload();
  await soon(cells);
  await page.getByRole("button", { name: /^story\.txt/ }).click();
  await preview.getByText("once upon a time").waitFor();
  await page.getByRole("button", { name: /^config\.json/ }).click();
  await preview.getByText('"layers": [').waitFor();
  await page.getByRole("button", { name: /^scores\.json/ }).click();
  await preview.getByRole("columnheader", { name: "score" }).waitFor();
  await page.getByRole("button", { name: /^model\.bin/ }).click();
  await preview.getByText("A binary file").waitFor();
  await page.getByRole("button", { name: /^dot\.png/ }).click();
  await until(
    page,
    () => document.querySelector("[data-testid=file-preview] img")?.naturalWidth === 1,
  );
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: "Download" }).click(),
  ]);
  assert.equal(file.suggestedFilename(), "dot.png");
  assert.deepEqual(complaints, []);
  await close();
});

test("the difference to another run: only what differs, all on demand", async () => {
  const { page, complaints, close } = await open(browser, home, `/runs/${id.one}?tab=diff`);
  await page.getByLabel("Another run").fill("two");
  await page.getByRole("button", { name: "Compare" }).click();
  const params = page.getByRole("region", { name: "Params" });
  await params.getByRole("rowheader", { name: "width" }).waitFor();
  await soon(async () =>
    assert.deepEqual(await params.locator("tbody td").allTextContents(), ["8", "16", ""]),
  );
  await params.getByRole("button", { name: "3 equal" }).click();
  await soon(async () => assert.equal(await params.locator("tbody tr").count(), 4));
  await page.getByLabel("Another run").fill("no such run");
  await page.getByRole("button", { name: "Compare" }).click();
  await page.getByTestId("failing").waitFor();
  assert.deepEqual(
    complaints.filter((text) => !text.includes("404")),
    [],
  );
  await close();
});

test("no serious accessibility violation on any part of a run", async () => {
  const { page, complaints, close } = await open(browser, home, `/runs/${id.one}`);
  await chartsDrawn(page);
  for (const name of ["about", "output", "files", "diff"]) {
    await tab(page, name);
    await atRest(page);
    assert.deepEqual(await violations(page), [], name);
  }
  assert.deepEqual(complaints, []);
  await close();
});
