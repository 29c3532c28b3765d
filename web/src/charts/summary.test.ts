// Charts of summaries: bars, boxes, scatter, parallel coordinates.
import { describe, expect, it } from "vitest";
import { quantile } from "../format/quantile";
import { kThin } from "../format/units";
import {
  type BarCell,
  type BarData,
  type BarSpec,
  barTable,
  drawBars,
  ratioOf,
  summariseBars,
} from "./bars";
import { boxStatistics, boxTable, drawBoxes, summariseBoxes } from "./box";
import { kFixedFont } from "./font";
import type { LineMark, RectMark } from "./marks";
import {
  drawParallel,
  type ParallelRow,
  parallelTable,
  rowAt,
  summariseParallel,
} from "./parallel";
import { drawScatter, type ScatterSpec, scatterTable, summariseScatter } from "./scatter";
import { boxAt, commonCount, fillOf, type SummarySpec } from "./summary";
import { toSvg } from "./svg";
import { flat, textsOf } from "./testing";
import { kLight, lineRamp } from "./theme";

const spec: SummarySpec = { width: 420, height: 200, unit: "samples/s", theme: kLight };
const plain = (words: string) => words.replaceAll(kThin, " ");
const golden = async (name: string, picture: Parameters<typeof toSvg>[0]) =>
  expect(toSvg(picture, kLight.background).replaceAll("><", ">\n<")).toMatchFileSnapshot(
    `golden/${name}.svg`,
  );

const cell = (value: number, n = 3): BarCell => ({ value, low: value - 5, high: value + 5, n });
const data: BarData = {
  categories: ["batch 32", "batch 64"],
  groups: ["alone", "MPS"],
  cells: [
    [cell(100), cell(50)],
    [cell(120), null],
  ],
};
const rects = (picture: { marks: Parameters<typeof flat>[0] }, colour: string) =>
  flat(picture.marks).filter(
    (mark): mark is RectMark => mark.kind === "rect" && mark.colour === colour && mark.y > 30,
  );

describe("bars", () => {
  const [blue, orange] = kLight.series as [string, string];

  it("look as they always did", async () => {
    await golden("bars", drawBars(data, { ...spec, baseline: { group: 0 } }, kFixedFont));
    const style = { monochrome: true, title: "Throughput" };
    await golden("bars-mono", drawBars(data, { ...spec, stacked: true, style }, kFixedFont));
  });

  it("are as long as their values, side by side, and none for what is not known", () => {
    const picture = drawBars(data, spec, kFixedFont);
    const [first, third] = rects(picture, blue) as [RectMark, RectMark];
    const [second] = rects(picture, orange) as [RectMark];
    expect(first.height / second.height).toBeCloseTo(2, 1);
    expect(third.height / first.height).toBeCloseTo(1.2, 1);
    expect(second.x).toBeGreaterThanOrEqual(first.x + first.width);
    expect(rects(picture, orange).length).toBe(1);
    expect(first.y + first.height).toBeCloseTo(picture.plot.y + picture.plot.height, 6);
  });

  it("have error bars from end to end", () => {
    const picture = drawBars(data, spec, kFixedFont);
    const [bar] = rects(picture, blue) as [RectMark];
    const error = flat(picture.marks).find(
      (mark): mark is LineMark => mark.kind === "line" && mark.points.length === 16,
    );
    const perUnit = bar.height / 100;
    expect((error?.points[3] as number) - (error?.points[1] as number)).toBeCloseTo(
      10 * perUnit,
      6,
    );
  });

  it("stand on one another, negative ones below zero", () => {
    const mixed: BarData = {
      categories: ["a"],
      groups: ["x", "y", "z"],
      cells: [[{ value: 3 }, { value: 4 }, { value: -2 }]],
    };
    const picture = drawBars(mixed, { ...spec, unit: "", stacked: true }, kFixedFont);
    const [x] = rects(picture, blue) as [RectMark];
    const [y] = rects(picture, orange) as [RectMark];
    const [z] = rects(picture, kLight.series[2] as string) as [RectMark];
    expect(y.y + y.height).toBeCloseTo(x.y, 6);
    expect(z.y).toBeCloseTo(x.y + x.height, 6);
  });

  it("say n once when it is the same, and under each bar when not", () => {
    expect(drawBars(data, spec, kFixedFont).notes).toEqual(["n = 3"]);
    const other = {
      ...data,
      cells: [
        [cell(100, 2), cell(50)],
        [cell(120), null],
      ],
    };
    const picture = drawBars(other, spec, kFixedFont);
    expect(picture.notes).toEqual([]);
    expect(textsOf(picture.marks).filter((t) => /^(n = )?[23]$/.test(t)).length).toBe(3);
    expect(commonCount([undefined, undefined])).toBeNull();
  });

  it("are compared to a group or to a category", () => {
    const at = { category: 0, group: 1 };
    expect(ratioOf(data, at, { group: 0 })).toBe(0.5);
    expect(ratioOf(data, { category: 0, group: 0 }, { group: 0 })).toBeNull();
    expect(ratioOf(data, { category: 1, group: 0 }, { category: 0 })).toBe(1.2);
    expect(ratioOf(data, { category: 1, group: 1 }, { group: 0 })).toBeNull();
    const compared: BarSpec = { ...spec, baseline: { group: 0 } };
    expect(textsOf(drawBars(data, compared, kFixedFont).marks)).toContain("×0.5");
    expect(plain(summariseBars("Throughput", data, compared))).toBe(
      "Throughput. batch 32 · alone: 100 samples/s, 95 samples/s to 105 samples/s, n = 3; batch 32 · MPS: 50 samples/s, 45 samples/s to 55 samples/s, n = 3, ×0.5 of the baseline; batch 64 · alone: 120 samples/s, 115 samples/s to 125 samples/s, n = 3.",
    );
    const table = barTable(data, compared);
    expect(table.head.at(-1)).toBe("ratio");
    expect(table.rows.length).toBe(3);
    expect(table.rows[1]?.map(plain)).toEqual([
      "batch 32",
      "MPS",
      "50 samples/s",
      "45 samples/s",
      "55 samples/s",
      "3",
      "×0.5",
    ]);
  });

  it("can be pointed at", () => {
    const { boxes } = drawBars(data, spec, kFixedFont);
    expect(boxes.map((box) => box.key)).toEqual(["0/0", "0/1", "1/0"]);
    const [first] = boxes as [(typeof boxes)[0]];
    expect(boxAt(boxes, first.x + 1, first.y + 1)).toBe(first);
    expect(boxAt(boxes, 1, 1)).toBeNull();
  });

  it("differ without colour, and beyond eight groups", () => {
    const looks = (mono: boolean, count: number) =>
      new Set(
        Array.from({ length: count }, (_, i) =>
          JSON.stringify(fillOf({ ...spec, style: { monochrome: mono } }, i)),
        ),
      ).size;
    expect(looks(true, 21)).toBe(21);
    expect(looks(false, 24)).toBe(24);
  });

  it("turn long names, and say when there is nothing", () => {
    const long = { ...data, categories: ["a-very-long-workload", "another-long-workload"] };
    const turned = flat(drawBars(long, { ...spec, width: 150 }, kFixedFont).marks);
    expect(turned.filter((mark) => mark.kind === "text" && mark.turned).length).toBe(2);
    const empty = {
      ...data,
      cells: [
        [null, null],
        [null, null],
      ],
    };
    expect(textsOf(drawBars(empty, spec, kFixedFont).marks)).toContain(
      "No run has a value for this.",
    );
    expect(summariseBars("x", empty, spec)).toBe("x. No run has a value for this.");
  });
});

describe("boxes", () => {
  const values = [1, 2, 3, 4, 5, 6, 7, 8, 100];

  it("have the quartiles of numpy and whiskers within 1.5 ranges", () => {
    expect(quantile([1, 2, 3, 4], 0.25)).toBe(1.75);
    const found = boxStatistics([...values].reverse());
    expect(found).toEqual({ n: 9, median: 5, q1: 3, q3: 7, low: 1, high: 8, outliers: [100] });
    expect(boxStatistics([Number.NaN])).toBeNull();
    expect(boxStatistics([4])).toMatchObject({ median: 4, low: 4, high: 4, outliers: [] });
  });

  it("are drawn, counted, said and tabled", async () => {
    const samples = { categories: ["a", "b"], groups: ["g"], samples: [[values], [[2, 4]]] };
    const picture = drawBoxes(samples, { ...spec, unit: "W" }, kFixedFont);
    await golden("boxes", picture);
    expect(picture.boxes.length).toBe(2);
    expect(textsOf(picture.marks)).toContain("n = 9");
    const dots = flat(picture.marks).find((mark) => mark.kind === "dots");
    expect(dots?.kind === "dots" && dots.points.length).toBe(2);
    expect(plain(summariseBoxes("Power", samples, { ...spec, unit: "W" }))).toContain(
      "a · g: median 5 W, quartiles 3 W to 7 W, whiskers 1 W to 8 W, 1 beyond, n = 9",
    );
    expect(boxTable(samples, spec).rows.length).toBe(2);
    expect(drawBoxes({ ...samples, samples: [[[]], [[]]] }, spec, kFixedFont).boxes).toEqual([]);
  });
});

describe("scatter", () => {
  const some: ScatterSpec = { ...spec, unit: "%", xLabel: "learning rate", xLog: true };
  const points = [
    { key: "a", label: "calm-otter", x: 0.001, y: 80 },
    { key: "b", label: "brisk-heron", x: 0.1, y: 90, group: 1 },
    { key: "c", label: "lost", x: 0.01, y: Number.NaN },
  ];

  it("places runs by parameter and metric, and says whom it left out", async () => {
    const picture = drawScatter(points, some, kFixedFont);
    await golden("scatter", picture);
    const [a, b] = picture.boxes as [(typeof picture.boxes)[0], (typeof picture.boxes)[0]];
    expect(a.x).toBeLessThan(b.x);
    expect(a.y).toBeGreaterThan(b.y);
    expect(picture.notes).toEqual(["1 of 3 runs have no value to draw"]);
    expect(textsOf(picture.marks)).toContain("calm-otter");
    expect(plain(summariseScatter("Accuracy", points.slice(0, 1), some))).toBe(
      "Accuracy. calm-otter: learning rate 0.001, 80 %.",
    );
    expect(scatterTable(points, some).rows[1]?.map(plain)).toEqual(["brisk-heron", "0.1", "90 %"]);
  });

  it("has areas and colours by other values, with a key, and small grey points where there is none", () => {
    const values = [
      { ...points[0], size: 10, shade: 1 },
      { ...points[1], size: 30, shade: 2 },
      { ...points[0], key: "d", label: "odd", x: 0.01 },
    ] as Parameters<typeof drawScatter>[0];
    const both = { size: { name: "power", unit: "W" }, shade: { name: "speed", unit: "" } };
    const picture = drawScatter(values, { ...some, ...both }, kFixedFont);
    const dots = picture.marks.flatMap((mark) => (mark.kind === "dots" ? [mark] : []));
    const [large, least, none] = dots;
    // Large points come first, so that small ones are seen.
    expect([large?.radius, least?.radius, none?.radius]).toEqual([12, 3, 3]);
    const ramp = lineRamp(kLight.background);
    expect([large?.colour, least?.colour, none?.colour]).toEqual([
      ramp.at(-1),
      ramp[0],
      kLight.ink3,
    ]);
    const words = textsOf(picture.marks).map(plain);
    for (const word of ["power", "10 W", "30 W", "speed", "(1 without)"])
      expect(words).toContain(word);
    expect(picture.boxes.map(({ words }) => plain(words))[0]).toBe(
      "brisk-heron: learning rate 0.1, 90 %, power 30 W, speed 2",
    );
    const table = scatterTable(values, { ...some, ...both });
    expect(table.head.slice(-2)).toEqual(["power", "speed"]);
    expect(table.rows[0]?.slice(-2).map(plain)).toEqual(["10 W", "1"]);
    const named = drawScatter(points, { ...some, groups: ["alone", "mps"] }, kFixedFont);
    expect(textsOf(named.marks)).toEqual(expect.arrayContaining(["alone", "mps"]));
  });

  it("takes words for numbers", () => {
    const words = points
      .slice(0, 2)
      .map((point, i) => ({ ...point, x: ["sgd", "adam"][i] as string }));
    const picture = drawScatter(words, { ...some, xLabel: "optimizer" }, kFixedFont);
    expect(textsOf(picture.marks)).toEqual(expect.arrayContaining(["sgd", "adam"]));
    expect(picture.boxes[0]?.x).toBeGreaterThan(picture.boxes[1]?.x as number);
  });

  it("writes no name over another", () => {
    const crowd = Array.from({ length: 60 }, (_, i) => ({
      key: `${i}`,
      label: `run-${i}`,
      x: 0.01,
      y: 80 + i / 100,
    }));
    const names = flat(drawScatter(crowd, some, kFixedFont).marks).flatMap((mark) =>
      mark.kind === "text" && mark.text.startsWith("run-") ? [mark] : [],
    );
    expect(names.length).toBeGreaterThan(3);
    expect(names.length).toBeLessThan(30);
    for (const a of names)
      for (const b of names)
        if (a !== b) expect(Math.abs(a.y - b.y) >= 11 || Math.abs(a.x - b.x) >= 30).toBe(true);
  });
});

describe("parallel coordinates", () => {
  const axes = [
    { name: "lr", unit: "", log: true },
    { name: "optimizer", unit: "" },
    { name: "accuracy", unit: "%" },
  ];
  const rows: ParallelRow[] = [
    { key: "a", label: "calm-otter", values: [0.001, "adam", 60] },
    { key: "b", label: "brisk-heron", values: [0.1, "sgd", 90] },
    { key: "c", label: "lost", values: [0.01, null, null] },
  ];
  const picture = drawParallel(axes, rows, { spec: { ...spec, unit: "" }, font: kFixedFont });

  it("draws a line per run through all axes, coloured by the last", async () => {
    await golden("parallel", picture);
    const strokes = flat(picture.marks).filter(
      (mark): mark is LineMark => mark.kind === "line" && mark.points.length === 6,
    );
    expect(strokes.length).toBe(3);
    expect(new Set(strokes.map((mark) => mark.colour)).size).toBe(3);
    expect(strokes[2]?.dash.length).toBeGreaterThan(0);
    expect(textsOf(picture.marks)).toEqual(expect.arrayContaining(["lr", "adam", "none"]));
  });

  it("finds the line under the pointer", () => {
    const [a, b] = picture.paths as [(typeof picture.paths)[0], (typeof picture.paths)[0]];
    const middle = (path: typeof a) => ({
      x: ((path.points[0] as number) + (path.points[2] as number)) / 2,
      y: ((path.points[1] as number) + (path.points[3] as number)) / 2,
    });
    expect(rowAt(picture, middle(a))).toBe("a");
    expect(rowAt(picture, middle(b))).toBe("b");
    expect(rowAt(picture, { x: 5, y: -500 })).toBeNull();
  });

  it("pushes back what is not chosen, and is said and tabled", () => {
    const chosen = drawParallel(axes, rows, { spec, font: kFixedFont, chosen: new Set(["b"]) });
    const alphas = flat(chosen.marks).flatMap((mark) =>
      mark.kind === "line" && mark.points.length === 6 ? [mark.alpha] : [],
    );
    expect(alphas).toEqual([0.12, 0.8, 0.12]);
    expect(plain(summariseParallel("Runs", axes, rows.slice(2)))).toBe(
      "Runs. lost: lr 0.01, optimizer none, accuracy none.",
    );
    expect(parallelTable(axes, rows).rows[0]?.map(plain)).toEqual([
      "calm-otter",
      "0.001",
      "adam",
      "60 %",
    ]);
  });
});

describe("logarithmic axes of summaries", () => {
  it("place equal ratios equally far apart, and say what they leave out", () => {
    const points = [1e-4, 1e-3, 1e-2, 0].map((x, i) => ({
      key: `${i}`,
      label: `${i}`,
      x,
      y: 1 + i,
    }));
    const picture = drawScatter(points, { ...spec, xLabel: "lr", xLog: true }, kFixedFont);
    const [a, b, c] = picture.boxes.map((box) => box.x) as [number, number, number];
    expect(picture.boxes.length).toBe(3);
    expect(b - a).toBeCloseTo(c - b, 6);
    expect(picture.notes).toEqual(["1 of 4 runs have no value to draw"]);
  });

  it("are those of boxes, where every value is above zero", () => {
    const boxes = (values: number[]) =>
      drawBoxes(
        { categories: ["a"], groups: [""], samples: [[values]] },
        { ...spec, unit: "", yLog: true },
        kFixedFont,
      );
    expect(textsOf(boxes([0.001, 1, 1000]).marks)).toContain("0.1");
    expect(boxes([0.001, 1, 1000]).notes).toEqual([]);
    expect(boxes([-1, 1, 1000]).notes).toEqual(["not logarithmic: some values are ≤ 0"]);
  });
});
