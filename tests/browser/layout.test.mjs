// The arrangement of charts, in a real Chromium: one fills the window and comes back, all get another height, and a chart
// goes to another place, by pointer and by keys. The address and saved boards keep all of it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { atRest, Home, launch, open, shownCharts, soon, until, violations } from "./support.mjs";

const home = new Home();
let browser;
let run;

before(async () => {
  [browser] = await Promise.all([launch(), home.serve()]);
  const training = home.train("one", "single", { epochs: 4, width: 8 });
  assert.equal(await training.ended, 0, training.output());
  [run] = await home.runs();
});

after(async () => {
  await browser?.close();
  await home.close();
});

const kThree = ["loss", "accuracy", "host.cpu.busy"];

async function board(metrics = kThree, extra = "") {
  const words = metrics.map((metric) => `&metric=${metric}`).join("");
  const opened = await open(browser, home, `/board?run=${run.id}${words}${extra}`);
  await opened.page.getByTestId("chart").first().waitFor();
  await atRest(opened.page);
  return opened;
}

const chart = (page, metric) => page.locator(`[data-testid=chart][data-metric="${metric}"]`);
const plot = (page, metric) => chart(page, metric).locator(".plot");
const heightOf = async (page, metric) => (await plot(page, metric).boundingBox()).height;
const order = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll("[data-testid=chart]")].map((one) => one.dataset.metric),
  );
const search = (page) => new URL(page.url()).searchParams;

// The only chart, as large as the window save for its head and the footer.
async function fillsWindow(page, metric) {
  await soon(async () => {
    assert.deepEqual(await order(page), [metric]);
    const box = await plot(page, metric).boundingBox();
    assert.ok(box.width > 1390 && box.height > 800, JSON.stringify(box));
    assert.ok(box.y + box.height <= 900 - 34, JSON.stringify(box));
    assert.equal(await page.locator(".panel").isVisible(), false);
  });
}

// Drags a chart by its menu into the left half of another.
async function dropBefore(page, metric, other) {
  const from = await chart(page, metric).getByTestId("chart-menu").boundingBox();
  const to = await plot(page, other).boundingBox();
  await page.mouse.move(from.x + 8, from.y + 8);
  await page.mouse.down();
  await page.mouse.move(to.x + 60, to.y + 60, { steps: 8 });
  await page.locator('[data-drop="before"]').waitFor();
  await page.mouse.up();
}

const isBack = (page) => soon(async () => assert.deepEqual(await order(page), kThree));

test("a chart fills the window by its button and by E, and Esc, E, the button and Back end it", async () => {
  const { page, complaints, close } = await board();
  await chart(page, "accuracy").getByTestId("enlarge").click();
  await fillsWindow(page, "accuracy");
  await atRest(page);
  assert.ok((await shownCharts(page)).accuracy.points > 0);
  // Dialogs of hidden parts still open over it.
  await page.keyboard.press("Control+k");
  await page.getByTestId("palette").getByRole("combobox").waitFor();
  await page.keyboard.press("Escape");
  await page.getByTestId("palette").waitFor({ state: "detached" });
  assert.equal(search(page).get("enlarged"), "accuracy");
  assert.deepEqual(await violations(page), []);
  await page.reload();
  await fillsWindow(page, "accuracy");
  await page.keyboard.press("Escape");
  await isBack(page);
  await atRest(page);
  await plot(page, "loss").hover();
  await page.keyboard.press("e");
  await fillsWindow(page, "loss");
  await page.keyboard.press("e");
  await isBack(page);
  await chart(page, "loss").getByTestId("enlarge").click();
  await fillsWindow(page, "loss");
  await page.getByRole("button", { name: "Back to all charts" }).click();
  await isBack(page);
  await page.goBack();
  await fillsWindow(page, "loss");
  await page.goBack();
  await isBack(page);
  assert.deepEqual(complaints, []);
  await close();
});

test("a drag below a chart makes all higher, a double-click makes them as they were", async () => {
  const { page, complaints, close } = await board();
  const before = await heightOf(page, "loss");
  const grip = await chart(page, "loss").getByTestId("height-grip").boundingBox();
  await page.mouse.move(grip.x + grip.width / 2, grip.y + 4);
  await page.mouse.down();
  await page.mouse.move(grip.x + grip.width / 2, grip.y + 104, { steps: 5 });
  await page.mouse.up();
  for (const metric of kThree)
    await soon(async () => assert.equal(await heightOf(page, metric), before + 100));
  assert.equal(search(page).get("height"), String(before + 100));
  await atRest(page);
  await page.reload();
  await soon(async () => assert.equal(await heightOf(page, "accuracy"), before + 100));
  await atRest(page);
  await chart(page, "accuracy").getByTestId("height-grip").dblclick();
  await soon(async () => assert.equal(await heightOf(page, "loss"), before));
  // By the keyboard: the number in the menu.
  await chart(page, "loss").getByTestId("chart-menu").click();
  await page.getByLabel("Height of all charts").fill("240");
  await page.keyboard.press("Enter");
  await soon(async () => assert.equal(await heightOf(page, "accuracy"), 240));
  assert.deepEqual(complaints, []);
  await close();
});

test("a pinned chart stands first, also among sections, until it is put back", async () => {
  const { page, complaints, close } = await board();
  const pinned = ["host.cpu.busy", "loss", "accuracy"];
  await plot(page, "host.cpu.busy").hover();
  await page.keyboard.press("p");
  await soon(async () => assert.deepEqual(await order(page), pinned));
  // Its place among the others is kept for later.
  assert.deepEqual(search(page).getAll("metric"), ["loss", "accuracy", "host.cpu.busy~pinned"]);
  await atRest(page);
  assert.deepEqual(await violations(page), []);
  await page.reload();
  await soon(async () => assert.deepEqual(await order(page), pinned));
  await page.goto(`${page.url()}&sections=on`);
  await page.getByTestId("chart-section").first().waitFor();
  assert.deepEqual(
    (await page.getByTestId("chart-section").allTextContents())[0].replace(/\d+$/, ""),
    "pinned",
  );
  // By the menu as well; a chart dropped beside a pinned one is pinned, too.
  await chart(page, "loss").getByTestId("chart-menu").click();
  await page.getByTestId("pin-chart").click();
  await page.keyboard.press("Escape");
  await soon(async () => assert.deepEqual(await order(page), ["loss", "host.cpu.busy", "accuracy"]));
  // The focus goes with a chart, also to another section.
  await atRest(page);
  const surface = chart(page, "accuracy").locator(".surface");
  await surface.focus();
  for (const place of [1, 2]) {
    await page.keyboard.press("p");
    await soon(async () => assert.equal((await order(page)).indexOf("accuracy"), place));
    await soon(async () => assert.ok(await surface.evaluate((one) => one === document.activeElement)));
  }
  await page.goto(page.url().replace("&sections=on", ""));
  await chart(page, "accuracy").waitFor();
  await atRest(page);
  await dropBefore(page, "accuracy", "loss");
  await soon(async () => assert.equal(await page.getByTestId("unpin").count(), 3));
  for (const metric of ["accuracy", "host.cpu.busy"])
    await chart(page, metric).getByTestId("unpin").click();
  await soon(async () => assert.equal(await page.getByTestId("unpin").count(), 1));
  assert.equal((await order(page))[0], "loss");
  assert.deepEqual(complaints, []);
  await close();
});

test("charts are reordered by dragging, by keys and in the menu, and a saved board keeps it", async () => {
  const { page, complaints, close } = await board();
  await dropBefore(page, "host.cpu.busy", "loss");
  const first = ["host.cpu.busy", "loss", "accuracy"];
  await soon(async () => assert.deepEqual(await order(page), first));
  assert.equal(await page.locator("[data-drop], .dragged, :popover-open").count(), 0);
  assert.deepEqual(search(page).getAll("metric"), first);
  await atRest(page);
  // With the keyboard on the plot, which keeps the focus.
  await chart(page, "loss").getByTestId("chart-menu").focus();
  const reached = () => page.evaluate(() => document.activeElement.matches(".surface"));
  while (!(await reached())) await page.keyboard.press("Tab");
  await page.keyboard.press("]");
  await soon(async () => assert.deepEqual(await order(page), ["host.cpu.busy", "accuracy", "loss"]));
  await page.keyboard.press("[");
  await soon(async () => assert.deepEqual(await order(page), first));
  assert.equal(
    await page.evaluate(() => document.activeElement.closest("figure")?.dataset.metric),
    "loss",
  );
  await chart(page, "accuracy").getByTestId("chart-menu").click();
  await page.getByRole("button", { name: "Move earlier" }).click();
  const last = ["host.cpu.busy", "accuracy", "loss"];
  await soon(async () => assert.deepEqual(await order(page), last));
  await page.keyboard.press("Escape");
  // A press without a drag opens the menu, as before.
  await page.getByTestId("boards").click();
  await page.getByLabel("Board name").fill("mine");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("button", { name: "mine", exact: true }).waitFor();
  await page.goto(`${home.url}/board?run=${run.id}`);
  await page.getByTestId("chart").first().waitFor();
  await page.getByTestId("boards").click();
  await page.getByRole("button", { name: "mine", exact: true }).click();
  await soon(async () => assert.deepEqual(await order(page), last));
  assert.deepEqual(complaints, []);
  await close();
});

test("a chart that is alone takes the height that the window leaves", async () => {
  const { page, close } = await board(["loss"], "&x=step");
  await soon(async () => assert.ok((await heightOf(page, "loss")) > 600));
  await page.setViewportSize({ width: 1440, height: 600 });
  await soon(async () => {
    const box = await plot(page, "loss").boundingBox();
    assert.ok(box.height > 300 && box.y + box.height < 600 - 34, JSON.stringify(box));
  });
  await page.locator('input[data-metric="accuracy"]').check();
  await until(page, () => document.querySelectorAll("[data-testid=chart]").length === 2);
  await soon(async () => assert.equal(await heightOf(page, "loss"), 180));
  await close();
});
