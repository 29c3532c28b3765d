// The gallery of images, sound, texts, tables and histograms: of one run, of several side by side, over steps.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { crc32, deflateSync } from "node:zlib";
import { fitsPhone, Home, launch, open, soon, violations } from "./support.mjs";

const home = new Home();
let browser;
const id = {};

before(async () => {
  [browser] = await Promise.all([launch(), home.serve()]);
  for (const name of ["one", "two", "bare"]) {
    const run = home.start("run", "--experiment", "media", "--workload", "pair", "--name", name, "true");
    assert.equal(await run.ended, 0, run.output());
  }
  for (const run of await home.runs()) id[run.name] = run.id;
  for (const step of [0, 10, 20]) {
    await put("one", `media/val=2Fsample@${step}.png`, png(8, 8, step));
    await put("one", `media/weights@${step}.histogram.json`, histogram(step));
  }
  await put("two", "media/val=2Fsample@15.png", png(8, 8, 40));
  await put("two", "media/small@0.png", png(4, 4, 0));
  await put("one", "media/small@0.png", png(8, 8, 0));
  await put("one", "media/said@10.txt", "<script>window.harmed = 1</script> & grüße");
  await put("one", "media/empty@10.txt", "");
  await put("one", "media/scores.table.json", '{"columns":["who","<i>"],"data":[["cat",8],["dog",null]]}');
  await put("one", "media/tone@10.wav", Buffer.concat([Buffer.from("RIFF"), Buffer.alloc(40)]));
  await put(
    "one",
    "plots/harmful.svg",
    '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>window.harmed = 1; parent.harmed = 1</script></svg>',
  );
  await put("one", "media/broken@0.png", "no image");
});

after(async () => {
  await browser?.close();
  await home.close();
});

async function put(run, path, body) {
  const encoded = path.split("/").map(encodeURIComponent).join("/");
  const reply = await fetch(`${home.url}/api/corral/v1/runs/${id[run]}/artifacts/${encoded}`, {
    method: "PUT",
    headers: { "Content-Type": "application/octet-stream" },
    body,
  });
  assert.ok(reply.ok, await reply.text());
}

const histogram = (step) =>
  JSON.stringify({ edges: [0, 1, 2], counts: [3, 1 + step], not_finite: step === 0 ? 2 : 0 });

// A grey image of one level.
const png = (width, height, level) => pngOf(width, height, Buffer.alloc(width * height, level));

// A grey image that does not compress.
const noise = (width, height) => pngOf(width, height, randomBytes(width * height));

function pngOf(width, height, pixels) {
  const chunk = (name, content) => {
    const body = Buffer.concat([Buffer.from(name), content]);
    const ends = [Buffer.alloc(4), Buffer.alloc(4)];
    ends[0].writeUInt32BE(content.length);
    ends[1].writeUInt32BE(crc32(body));
    return Buffer.concat([ends[0], body, ends[1]]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 0, 0, 0, 0], 8);
  const lines = Buffer.concat(
    Array.from({ length: height }, (_, y) =>
      Buffer.concat([Buffer.from([0]), pixels.subarray(y * width, (y + 1) * width)]),
    ),
  );
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk("IHDR", head),
    chunk("IDAT", deflateSync(lines)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

const row = (page, name) => page.getByRole("region", { name, exact: true });
const cells = (page, name) => row(page, name).getByTestId("media-cell");
const drawn = (image) =>
  soon(async () => assert.ok(await image.evaluate((one) => one.complete && one.naturalWidth > 0)));

test("a run shows what it logged, at the step of the slider", async () => {
  const { page, complaints, close } = await open(browser, home, `/runs/${id.one}?with=&tab=media`);
  const sample = row(page, "val/sample, image").getByRole("img");
  await drawn(sample);
  assert.match(await sample.getAttribute("src"), /sample%4020\.png\?v=\d+$/);
  const slider = page.getByRole("slider", { name: "Step" });
  assert.equal(await slider.getAttribute("aria-valuetext"), "step 20, the newest");
  await slider.press("ArrowLeft");
  await soon(async () => assert.match(await sample.getAttribute("src"), /sample%4010\.png\?v=\d+$/));
  await soon(async () => assert.equal(new URL(page.url()).searchParams.get("mstep"), "10"));
  await slider.press("Home");
  await soon(async () => assert.match(await sample.getAttribute("src"), /sample%400\.png\?v=\d+$/));
  assert.match(await cells(page, "said, text").textContent(), /Nothing yet: the first is at step 10\./);
  await soon(async () => assert.equal(new URL(page.url()).searchParams.get("mstep"), "0"));
  await page.reload();
  await soon(async () => assert.match(await sample.getAttribute("src"), /sample%400\.png\?v=\d+$/));
  await slider.press("End");
  await soon(async () => assert.equal(new URL(page.url()).searchParams.get("mstep"), null));
  assert.deepEqual(complaints, []);
  await close();
});

test("texts, tables, sound and histograms are shown, and nothing of a run is executed", async () => {
  const { page, complaints, close } = await open(browser, home, `/runs/${id.one}?with=&tab=media`);
  await soon(async () =>
    assert.match(await cells(page, "said, text").textContent(), /<script>window\.harmed = 1<\/script> & grüße/),
  );
  await soon(async () => assert.match(await cells(page, "empty, text").textContent(), /\(empty\)/));
  const table = row(page, "scores, table").getByRole("table");
  await table.waitFor();
  assert.deepEqual(await table.getByRole("columnheader").allTextContents(), ["who", "<i>"]);
  assert.deepEqual(await table.getByRole("cell").allTextContents(), ["cat", "8", "dog", ""]);
  assert.equal(await row(page, "tone, audio").locator("audio[controls]").count(), 1);
  const weights = cells(page, "weights, histogram");
  await soon(async () => assert.match(await weights.textContent(), /24 values/));
  assert.deepEqual(await weights.locator("rect title").allTextContents(), ["0 to 1: 3", "1 to 2: 21"]);
  await soon(async () =>
    assert.match(await cells(page, "broken, image").textContent(), /Not an image that the browser can show/),
  );
  await drawn(row(page, "plots/harmful.svg, image").getByRole("img"));
  assert.equal(await page.evaluate(() => window.harmed), undefined);
  await page.getByLabel("Histograms over all steps").check();
  await soon(async () => assert.match(await weights.textContent(), /0 to 2.*step 0.*step 20/s));
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(complaints, []);
  await page.goto(`${home.url}/api/corral/v1/runs/${id.one}/artifacts/plots/harmful.svg`);
  assert.equal(await page.evaluate(() => window.harmed), undefined);
  await close();
});

test("a value that another replaces is shown anew", async () => {
  const { page, complaints, close } = await open(browser, home, `/runs/${id.two}?with=&tab=media`);
  const small = row(page, "small, image").getByRole("img");
  await drawn(small);
  const width = () => small.evaluate((image) => image.naturalWidth);
  assert.equal(await width(), 4);
  await put("two", "media/small@0.png", png(12, 12, 0));
  await home.mlflow("runs/set-tag", { run_id: id.two, key: "news", value: "1" });
  await soon(async () => assert.equal(await width(), 12));
  await put("two", "media/small@0.png", png(4, 4, 0));
  assert.deepEqual(complaints, []);
  await close();
});

test("large images are thumbnails, which the server makes, and links to themselves", async () => {
  const { page, complaints, close } = await open(browser, home, `/runs/${id.two}?with=&tab=media`);
  await put("two", "media/large@0.png", noise(900, 600));
  // A JPEG that says it is turned by a quarter: Exif's orientation 6.
  const jpeg = await page.evaluate(async () => {
    const canvas = new OffscreenCanvas(1200, 800);
    const pixels = new ImageData(1200, 800);
    for (let i = 0; i < pixels.data.length; i++) pixels.data[i] = i % 4 === 3 ? 255 : (i * 7919) % 251;
    canvas.getContext("2d").putImageData(pixels, 0, 0);
    const blob = await canvas.convertToBlob({ type: "image/jpeg" });
    return [...new Uint8Array(await blob.arrayBuffer())];
  });
  const exif = Buffer.from("ffe100224578696600004d4d002a00000008000101120003000000010006000000000000", "hex");
  await put("two", "media/photo@0.jpg", Buffer.concat([Buffer.from(jpeg.slice(0, 2)), exif, Buffer.from(jpeg.slice(2))]));
  // Broken behind its beginning: neither the server nor the browser can show it.
  await put("two", "media/torn@0.png", Buffer.concat([noise(900, 600).subarray(0, 40), Buffer.alloc(50_000, 7)]));
  await home.mlflow("runs/set-tag", { run_id: id.two, key: "news", value: "2" });
  for (const [name, width, height] of [
    ["large", 480, 320],
    ["photo", 480, 720],
  ]) {
    const image = row(page, `${name}, image`).getByRole("img");
    await drawn(image);
    const { src, sides, link } = await image.evaluate((one) => ({
      src: one.src,
      sides: [one.naturalWidth, one.naturalHeight],
      link: one.parentElement.href,
    }));
    assert.deepEqual(sides, [width, height], name);
    assert.equal(src, `${link}&width=480`);
    const [small, whole] = await Promise.all([src, link].map(async (url) => (await fetch(url)).arrayBuffer()));
    // Chromium's JPEG has a profile of its colours; it stays.
    assert.equal(Buffer.from(small).includes("ICC_PROFILE"), Buffer.from(whole).includes("ICC_PROFILE"), name);
    assert.ok(small.byteLength < whole.byteLength, `${small.byteLength} of ${whole.byteLength} bytes`);
  }
  await soon(async () =>
    assert.match(await cells(page, "torn, image").textContent(), /Not an image that the browser can show/),
  );
  assert.deepEqual(complaints, []);
  await close();
});

test("a filter and a run without media say what is so", async () => {
  const { page, complaints, close } = await open(browser, home, `/runs/${id.one}?with=&tab=media`);
  const names = page.getByLabel("Filter names");
  await names.fill("SAMPLE");
  await names.press("Enter");
  await soon(async () => assert.equal(await page.getByTestId("media-row").count(), 1));
  await names.fill("absent");
  await names.press("Enter");
  await page.getByText("No name has “absent” in it.").waitFor();
  await page.goto(`${home.url}/runs/${id.bare}?with=&tab=media`);
  await page.getByText("The run logged no images").waitFor();
  await put("bare", "media/late@1.txt", "late");
  await page.getByText("late", { exact: true }).first().waitFor();
  assert.deepEqual(complaints, []);
  await close();
});

test("runs stand side by side on a board, each at its nearest earlier step, with their difference", async () => {
  const { page, complaints, close } = await open(browser, home, `/board?run=${id.one}&run=${id.two}`);
  await page.getByRole("button", { name: "Media" }).click();
  // The steps of both runs are known.
  await cells(page, "val/sample, image").nth(1).getByText("step 15").waitFor();
  await page.getByRole("slider", { name: "Step" }).press("ArrowLeft");
  await soon(async () => assert.equal(new URL(page.url()).searchParams.get("mstep"), "15"));
  const samples = cells(page, "val/sample, image");
  await soon(async () => {
    const words = await samples.allTextContents();
    assert.match(words[0], /one.*step 10/);
    assert.match(words[1], /two.*step 15/);
  });
  await page.getByRole("combobox", { name: "Difference to" }).selectOption({ label: "one" });
  await samples.nth(1).scrollIntoViewIfNeeded();
  await soon(async () =>
    assert.match(
      await samples.nth(1).textContent(),
      /to one, step 10: 100\s*% of the pixels, mean 30 and max 30 of 255, shown 8\.5 × brighter/,
    ),
  );
  assert.equal(await samples.nth(0).locator("canvas").count(), 0);
  const level = await samples.nth(1).locator("canvas").evaluate((canvas) => [
    ...canvas.getContext("2d").getImageData(3, 3, 1, 1).data,
  ]);
  assert.deepEqual(level, [255, 255, 255, 255]);
  await row(page, "small, image").scrollIntoViewIfNeeded();
  await soon(async () =>
    assert.match(
      await cells(page, "small, image").nth(1).textContent(),
      /The sizes differ: 4 × 4 and 8 × 8 pixels\./,
    ),
  );
  await page.getByRole("combobox", { name: "Difference to" }).selectOption({ label: "the previous step" });
  await samples.nth(0).scrollIntoViewIfNeeded();
  await soon(async () =>
    assert.match(await samples.nth(0).textContent(), /to step 0: 100\s*% of the pixels, mean 10 and max 10/),
  );
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(complaints, []);
  await fitsPhone(page);
  await close();
});
