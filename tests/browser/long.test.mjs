// A run of 10^8 points with three spikes of one point each: the whole run shows each in its pixel column, zooming in
// there ends at that very point, and a zoom takes nothing against the making of the points.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { recordLong } from "./frames.mjs";
import { atRest, Home, launch, open, soon } from "./support.mjs";

const kPoints = 100_000_000;
const kStart = Date.parse("2026-11-01T00:00:00Z");
// A wave around 100 from 80 to 120, and what stands out of it: seconds since the start, value.
const kWave = Float64Array.from({ length: 1000 }, (_, i) =>
  Math.round(100 + 20 * Math.sin((i * 2 * Math.PI) / 1000)),
);
const kSpikes = [
  { at: 12_345.679, value: 900 },
  { at: 50_000.002, value: -500 },
  { at: 87_654.322, value: 700 },
];
// The usual maximum for a picture, as a fraction of the time of recording, which reflects the machine's present speed.
const kUsually = 1 / 5;

const home = new Home();
let browser;
let run;
let recorded_ms;

before(async () => {
  [browser] = await Promise.all([launch(), home.serve()]);
  const began = performance.now();
  run = await recordLong(home.url, {
    name: "long",
    metric: "signal",
    points: kPoints,
    pattern: kWave,
    spikes: kSpikes.map(({ at, value }) => [Math.round(at * 1000) - 1, value]),
    start: kStart,
  });
  recorded_ms = performance.now() - began;
});

after(async () => {
  await browser?.close();
  await home.close();
});

const chart = (page) => page.locator('[data-testid=chart][data-metric="signal"]');
const label = (page) => chart(page).locator("canvas").getAttribute("aria-label");

// The column of the plot, 0 to 1 of its width, whose drawing reaches highest (or lowest), and how much further than the
// columns ten pixels beside it, as a part of the plot's height.
const extreme = (page, highest) =>
  page.evaluate((high) => {
    const figure = document.querySelector('[data-testid=chart][data-metric="signal"]');
    const canvas = figure.querySelector("canvas");
    const [box, plot] = [canvas, figure.querySelector(".surface")].map((e) =>
      e.getBoundingClientRect(),
    );
    const scale = canvas.width / box.width;
    const [left, top] = [plot.left - box.left, plot.top - box.top].map((v) =>
      Math.round(v * scale),
    );
    const [width, height] = [plot.width, plot.height].map((v) => Math.round(v * scale));
    // Reads a copy: the page's own canvas is not made to be read.
    const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
    copy.drawImage(canvas, -left, -top);
    const { data } = copy.getImageData(0, 0, width, height);
    // The line is the only thing with a colour; grid and text are grey.
    const coloured = (x, y) => {
      const at = (y * width + x) * 4;
      const rgb = [data[at], data[at + 1], data[at + 2]];
      return data[at + 3] > 60 && Math.max(...rgb) - Math.min(...rgb) > 40;
    };
    const reach = Array.from({ length: width }, (_, x) => {
      for (let i = 0; i < height; i++)
        if (coloured(x, high ? i : height - 1 - i)) return height - i;
      return 0;
    });
    const x = reach.indexOf(Math.max(...reach));
    const beside = Math.max(reach[x - 10] ?? 0, reach[x + 10] ?? 0);
    return { part: (x + 0.5) / width, further: (reach[x] - beside) / height };
  }, highest);

// Milliseconds that the page needs for what `act` does, until the picture is exact and at rest.
async function timed(page, t, what, act) {
  const began = performance.now();
  await act();
  await atRest(page);
  const took = performance.now() - began;
  t.diagnostic(`${what}: exact and at rest after ${Math.round(took)} ms`);
  return took;
}

async function dragAround(page, part) {
  const box = await chart(page).locator(".surface").boundingBox();
  const to = (offset) => [box.x + box.width * part + offset, box.y + 70];
  await page.mouse.move(...to(-6));
  await page.mouse.down();
  await page.mouse.move(...to(6), { steps: 3 });
  await page.mouse.up();
  await page.mouse.move(5, 5);
}

test("a spike of one point among 10^8 is seen from afar and found by zooming", async (t) => {
  t.diagnostic(`recorded in ${(recorded_ms / 1000).toFixed(1)} s`);
  const { page, complaints, close } = await open(browser, home, "/");
  const took = [];
  const whole = await timed(page, t, "the whole run", async () => {
    await page.goto(`${home.url}/board?run=${run}&metric=signal`);
    await chart(page).waitFor();
  });
  assert.match(
    await page.getByTestId("chart-badge").textContent(),
    /100,000,000 points · exact|100 M points · exact/,
  );
  assert.match(await label(page), /between −500 and 900\b/);
  const seconds = kPoints / 1000;
  for (const [high, { at }] of [
    [true, kSpikes[0]],
    [false, kSpikes[1]],
  ]) {
    const { part, further } = await soon(() => extreme(page, high));
    assert.ok(Math.abs(part - at / seconds) < 0.005, `${part} for ${at} s`);
    assert.ok(further > 0.3, `${further} of the plot`);
  }
  // 27 hours, 15 minutes, 10 seconds, …, to some milliseconds around the one point.
  for (let i = 0; i < 6; i++) {
    const { part } = await soon(() => extreme(page, true));
    const before = page.url();
    took.push(
      await timed(page, t, `zoom ${i + 1}`, async () => {
        await dragAround(page, part);
        await page.waitForURL((url) => url.href !== before);
      }),
    );
    assert.match(await label(page), /and 900\b/, `after zoom ${i + 1}`);
    const { from, to } = Object.fromEntries(new URL(page.url()).searchParams);
    assert.ok(from < kSpikes[0].at && kSpikes[0].at < to, `${from} to ${to}`);
    if (to - from < 0.1) break;
  }
  const { from, to } = Object.fromEntries(new URL(page.url()).searchParams);
  assert.ok(to - from < 0.1, `${from} to ${to}`);
  const box = await chart(page).locator(".surface").boundingBox();
  await page.mouse.move(box.x + (box.width * (kSpikes[0].at - from)) / (to - from), box.y + 70);
  await page
    .getByTestId("footer-cursor")
    .getByText(/\b900\b/)
    .waitFor();
  // Others may have the machine now, and had not while it was recorded.
  const least = Math.min(...took);
  assert.ok(least < recorded_ms * kUsually, `${least} ms a zoom, ${recorded_ms} ms the recording`);
  assert.ok(whole < recorded_ms, `${whole} ms the first picture, ${recorded_ms} ms the recording`);
  assert.deepEqual(complaints, []);
  await close();
});
