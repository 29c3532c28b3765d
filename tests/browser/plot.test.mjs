// `corral plot` against the page: the figure of a link, drawn without a browser, is the page's own export.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { atRest, Home, launch, open } from "./support.mjs";

// Epochs of ten steps; the twentieth waits.
const kEpochs = `
import time, corral
for epoch in range(40):
    with corral.phase("epoch", kind="control"):
        for step in range(10):
            with corral.phase("step"):
                time.sleep(0.1 if epoch == 19 else 0.02)
            corral.log("loss", 10 - step + epoch % 3)
`;
const home = new Home();
let browser;
// The recorded trainings, the newest first.
let runs;

before(async () => {
  [browser] = await Promise.all([launch(), home.loadRecorded()]);
  await home.serve();
  writeFileSync(join(home.folder, "train.py"), kEpochs);
  const epochs = home.start("run", "--name", "forty epochs", "train.py");
  assert.equal(await epochs.ended, 0, epochs.output());
  runs = (await home.runs()).filter(({ name }) => /alone|pair/.test(name)).map(({ id }) => id);
  assert.equal(runs.length, 5);
});

after(async () => {
  await browser?.close();
  await home.close();
});

// The bytes of the figure in each format, and where the page shows it.
async function plotted(...words) {
  const files = {};
  for (const format of ["svg", "pdf", "png"]) {
    const file = join(home.folder, `figure.${format}`);
    const plot = home.start("plot", ...words, "--server", home.url, "-o", file);
    assert.equal(await plot.ended, 0, plot.output());
    files[format] = readFileSync(file);
  }
  const [, link] = /<metadata>data sha256:[0-9a-f]{64}; (.*?)<\/metadata>/.exec(files.svg) ?? [];
  return { ...files, path: link.replaceAll("&amp;", "&").replace(home.url, "") };
}

// The export of the only chart at an address, after `look` has set what is to be set in the workshop.
async function exported(path, look, options = {}) {
  const { page, complaints, close } = await open(browser, home, path, options);
  await page.getByTestId("chart").first().waitFor();
  await atRest(page);
  await page.getByTestId("chart-menu").first().click();
  await page.getByTestId("chart-export").click();
  await page.getByTestId("workshop").waitFor();
  await look(page.getByTestId("workshop"));
  const files = {};
  for (const format of ["svg", "pdf", "png"]) {
    const saved = page.waitForEvent("download");
    await page.getByTestId(`export-${format}`).click();
    files[format] = readFileSync(await (await saved).path());
  }
  assert.deepEqual(complaints, []);
  return { ...files, page, close };
}

// The share of pixels that differ by more than a fifth of the range of a colour, and the mean of all differences as a
// share of it.
function difference(page, a, b) {
  return page.evaluate(
    async (pictures) => {
      const pixels = async (picture) => {
        const image = new Image();
        image.src = `data:image/png;base64,${picture}`;
        await image.decode();
        const { width, height } = image;
        const canvas = Object.assign(document.createElement("canvas"), { width, height });
        const context = canvas.getContext("2d");
        context.drawImage(image, 0, 0);
        return { width, height, data: context.getImageData(0, 0, width, height).data };
      };
      const [x, y] = await Promise.all(pictures.map(pixels));
      if (x.width !== y.width || x.height !== y.height) return { far: 1, mean: 1 };
      let [far, sum] = [0, 0];
      for (let i = 0; i < x.data.length; i += 4) {
        let most = 0;
        for (let k = 0; k < 4; k++) {
          const apart = Math.abs(x.data[i + k] - y.data[i + k]);
          sum += apart;
          if (apart > most) most = apart;
        }
        if (most > 51) far++;
      }
      return { far: far / (x.data.length / 4), mean: sum / (x.data.length * 255) };
    },
    [a, b].map((bytes) => bytes.toString("base64")),
  );
}

// The bounds of docs/plot.md.
const kFar = 0.015;
const kMean = 0.005;

async function same(words, look, options) {
  const plot = await plotted(...words);
  const { svg, pdf, png, page, close } = await exported(plot.path, look, options);
  assert.equal(plot.svg.toString(), svg.toString());
  assert.ok(plot.pdf.equals(pdf), "the same PDF");
  const { far, mean } = await difference(page, plot.png, png);
  assert.ok(far <= kFar && mean <= kMean, `${far} of the pixels differ, on average by ${mean}`);
  await close();
}

const style = (key) => (workshop) => workshop.locator("select").first().selectOption(key);

test("a plot of two runs is the page's export, byte for byte", async () => {
  await same(
    [runs[0], runs[1], "--metric", "loss", "--axis", "run", "--style", "acm1"],
    style("acm1"),
  );
});

test("so is one of a run alone, with its jumps, in the dark", { timeout: 120_000 }, async () => {
  await same([runs[0], "--metric", "loss"], async () => {}, { colorScheme: "dark" });
});

test("so is one over steps, smoothed, zoomed in, logarithmic and without colours", async () => {
  await same(
    [
      ...[runs[0], runs[1], "--metric", "loss", "--axis", "step", "--from", "5", "--to", "300"],
      ...["--smooth", "ema:0.9", "--y", "log", "--style", "ieee2", "--title", "Loss <&> é"],
      "--monochrome",
    ],
    async (workshop) => {
      await style("ieee2")(workshop);
      await workshop.locator("input[type=text]").first().fill("Loss <&> é");
      await workshop.getByLabel("Monochrome").check();
    },
  );
});

test("so is one of two metrics with two axes, over a third", async () => {
  await same(
    [runs[0], "--metric", "loss", "--metric", "run.cpu.used", "--right", "zero", "--kind", "step"],
    async () => {},
  );
  await same(
    [runs[0], runs[1], "--metric", "loss", "--axis", "metric", "--x-metric", "run.cpu.used"],
    async () => {},
  );
});

test("so is one of an expression, smoothed and in groups", async () => {
  const expression = ["--metric", "log10(loss) / run.cpu.used"];
  await same([runs[0], runs[1], ...expression, "--smooth", "mean:2"], async () => {});
  await same([...runs, "--metric", "rate(loss)", "--group", "experiment"], async () => {});
});

test("so is one whose colours are those of a param, in the dark too", async () => {
  const coloured = [...runs, "--metric", "loss", "--axis", "step", "--colour"];
  await same([...coloured, "param:width"], async () => {});
  await same([...coloured, "experiment"], async () => {}, { colorScheme: "dark" });
});

test("so is one of groups with their bands, and one compared with a run", async () => {
  await same(
    [...runs, "--metric", "loss", "--axis", "step", "--group", "experiment", "--singles"],
    async () => {},
  );
  const quartiles = ["--group", "experiment~median~quartiles", "--smooth", "gaussian:5"];
  await same([...runs, "--metric", "loss", "--axis", "step", ...quartiles], async () => {});
  await same(
    [runs[0], runs[1], "--metric", "loss", "--axis", "step", "--baseline", runs[1]],
    async () => {},
  );
});

test("so is one over epochs, and one in which alike epochs are one", async () => {
  await same(
    [runs[0], runs[3], "--metric", "loss", "--axis", "epoch", "--from", "1", "--to", "4"],
    async () => {},
  );
  const condensed = ["forty epochs", "--axis", "condensed", "--metric"];
  await same([...condensed, "loss"], async () => {});
  await same([...condensed, "run.cpu.used", "--kind", "heat"], async () => {});
});

test("so is one of heat rows, and one of small plots with signs", async () => {
  const metric = [runs[0], runs[1], runs[2], "--metric", "loss", "--axis", "step"];
  await same([...metric, "--kind", "heat"], async () => {});
  await same([...metric, "--kind", "multiples", "--markers"], (workshop) =>
    workshop.getByLabel("Markers").check(),
  );
});

test("so is one on the wall clock, in the time zone of both", async () => {
  home.environment.TZ = "Asia/Kolkata";
  await same([runs[0], "--metric", "loss", "--axis", "wall", "--style", "slide"], style("slide"), {
    timezoneId: "Asia/Kolkata",
  });
});
