// Labels of axes are whole: inside the picture and beside the plot, whatever numbers they are.
import { describe, expect, it } from "vitest";
import { drawBars } from "./bars";
import { drawBoxes } from "./box";
import { drawChart } from "./chart";
import { type FontMetrics, kFixedFont } from "./font";
import type { Mark, TextMark } from "./marks";
import { drawParallel } from "./parallel";
import { drawScatter } from "./scatter";
import type { ChartKind, ChartLine, ChartSpec, ChartStyle } from "./spec";
import { chartLine, flat, lineData, pointColumns } from "./testing";
import { kLight } from "./theme";

const spec: ChartSpec = {
  ...{ width: 360, height: 188, from: 0, to: 100, unit: "", zoomed: false, theme: kLight },
};

const lineOf = (key: string, values: readonly number[], part: Partial<ChartLine> = {}) =>
  chartLine(key, {
    data: { ...lineData(pointColumns(values.map((v, i) => [i * 50, v]))), spacing: 50 },
    ...part,
  });

const texts = (marks: readonly Mark[]) =>
  flat(marks).filter((mark): mark is TextMark => mark.kind === "text");

// From–to in pixels across the picture.
function extent(mark: TextMark, font: FontMetrics = kFixedFont): [number, number] {
  if (mark.turned) return [mark.x - mark.size, mark.x + 0.3 * mark.size];
  const width = font.width(mark.text, mark.size, mark.weight);
  const left = mark.anchor === "end" ? width : mark.anchor === "middle" ? width / 2 : 0;
  return [mark.x - left, mark.x - left + width];
}

function expectInside(picture: { width: number; marks: readonly Mark[] }) {
  for (const mark of texts(picture.marks)) {
    const [from, to] = extent(mark);
    expect(from, mark.text).toBeGreaterThanOrEqual(0);
    expect(to, mark.text).toBeLessThanOrEqual(picture.width + 1e-9);
  }
}

const kHard: readonly (readonly [string, readonly number[]])[] = [
  ["far from zero", [123_456_789, 123_456_790, 123_456_791]],
  ["small", [0.00105, 0.0011, 0.00115]],
  ["below zero", [-123_456.7, -123_456.8, -123_456.9]],
  ["tiny", [1.0000001e-7, 1.0000002e-7, 1.0000003e-7]],
];

describe.each(kHard)("labels of values %s", (_, values) => {
  const kKinds: readonly ChartKind[] = ["line", "step", "band", "scatter", "heat", "multiples"];
  it.each(kKinds)("are whole in %s", (kind) => {
    for (const textSize of [7, 11, 20]) {
      for (const legend of ["ends", "top", "none"] as const) {
        const style: ChartStyle = { textSize, legend };
        const width = 40 * textSize;
        expectInside(drawChart([lineOf("a", values)], { ...spec, width, kind, style }, kFixedFont));
      }
    }
  });

  it("are whole on a second axis, before the names", () => {
    const lines = [lineOf("a", [1, 2, 3]), lineOf("b", values, { axis: 1 })];
    for (const legend of ["ends", "top", "none"] as const) {
      const picture = drawChart(lines, { ...spec, unit2: "", style: { legend } }, kFixedFont);
      expectInside(picture);
      const right = picture.plot.x + picture.plot.width;
      const ticks = texts(picture.marks).filter((mark) =>
        picture.axis2?.ticks.some(({ text }) => text === mark.text && mark.x === right + 6),
      );
      expect(ticks.length).toBeGreaterThan(2);
      const end = Math.max(...ticks.map((mark) => extent(mark)[1]));
      for (const { x } of picture.labels) if (legend === "ends") expect(x).toBeGreaterThan(end);
    }
  });

  it("are whole in summaries", () => {
    const summary = { width: 360, height: 200, unit: "", theme: kLight };
    const cells = values.map((value) => [{ value, low: value, high: value, n: 2 }]);
    const categories = ["a", "b", "c"];
    expectInside(drawBars({ categories, groups: [""], cells }, summary, kFixedFont));
    const samples = values.map((value) => [[value, value * (1 + 1e-9)]]);
    expectInside(drawBoxes({ categories, groups: [""], samples }, summary, kFixedFont));
    const points = values.map((y, i) => ({ key: `${i}`, label: `${i}`, x: y, y }));
    expectInside(drawScatter(points, { ...summary, xLabel: "x" }, kFixedFont));
    const axes = ["a long name of a parameter", "a long name of a metric"];
    const rows = values.map((v, i) => ({ key: `${i}`, label: `${i}`, values: [v, v] }));
    const at = { spec: summary, font: kFixedFont };
    expectInside(
      drawParallel(
        axes.map((name) => ({ name, unit: "" })),
        rows,
        at,
      ),
    );
  });
});

it("keeps charts below each other aligned: each takes the margins of the widest", () => {
  const wide = drawChart([lineOf("a", [123_456_789, 123_456_791])], spec, kFixedFont);
  const plain = drawChart([lineOf("a", [1, 2])], spec, kFixedFont);
  expect(wide.margins.left).toBeGreaterThan(plain.margins.left);
  const shared = drawChart([lineOf("a", [1, 2])], { ...spec, margins: wide.margins }, kFixedFont);
  expect(shared.plot).toEqual(wide.plot);
  expect(shared.margins).toEqual(plain.margins);
});

it("cuts names in a legend on top that are wider than the picture, their common part first", () => {
  const long = (end: string) => `${"resnet50-imagenet-".repeat(5)}lr-${end}`;
  const lines = ["0.1", "0.01"].map((end) => lineOf(end, [1, 2], { label: long(end) }));
  const picture = drawChart(lines, { ...spec, style: { legend: "top" } }, kFixedFont);
  expectInside(picture);
  const said = texts(picture.marks).map(({ text }) => text);
  expect(said).toEqual(expect.arrayContaining(["…0.1", "…0.01"]));
});

it("moves labels of the x axis at an edge inside", () => {
  for (const kind of ["time", "wall", "step", "number"] as const) {
    const [from, to] = [1_790_000_000, 1_790_086_400];
    const x = { kind, from, to };
    for (const legend of ["ends", "top", "none"] as const)
      expectInside(drawChart([], { ...spec, from, to, x, style: { legend } }, kFixedFont));
  }
});

describe("titles of axes", () => {
  const axes = { x: "workload time", y: "loss", y2: "power" };
  const lines = [lineOf("a", [1, 2, 3]), lineOf("b", [10, 20, 30], { axis: 1 })];

  it("stand beside their axes with the units, in nobody's way", () => {
    for (const legend of ["ends", "top", "none"] as const) {
      const at = { ...spec, unit: "s", unit2: "W", style: { legend, axes } };
      const picture = drawChart(lines, at, kFixedFont);
      expectInside(picture);
      const { plot } = picture;
      const find = (words: string) => texts(picture.marks).find((mark) => mark.text === words);
      const [x, y, y2] = [find("workload time (min:s)"), find("loss (s)"), find("power (W)")];
      expect([y?.turned, y2?.turned]).toEqual([true, true]);
      expect(x?.y).toBeLessThanOrEqual(spec.height);
      const ticks = texts(picture.marks).filter((mark) => mark.anchor === "end");
      const left = Math.min(...ticks.map((mark) => extent(mark)[0]));
      expect(extent(y as TextMark)[1]).toBeLessThanOrEqual(left);
      expect(extent(y2 as TextMark)[0]).toBeGreaterThan(plot.x + plot.width + 30);
      for (const label of picture.labels)
        if (legend === "ends") expect(label.x).toBeGreaterThan((y2 as TextMark).x);
    }
  });

  it("are written in every kind of chart, and nowhere without being asked for", () => {
    for (const kind of ["line", "heat", "multiples"] as const) {
      const style = { axes: { x: "step", y: "loss" } };
      const x = { kind: "step" as const, from: spec.from, to: spec.to };
      const picture = drawChart([lineOf("a", [1, 2])], { ...spec, kind, style, x }, kFixedFont);
      expectInside(picture);
      expect(texts(picture.marks).map(({ text }) => text)).toEqual(
        expect.arrayContaining(["step", "loss"]),
      );
      const plain = drawChart([lineOf("a", [1, 2])], { ...spec, kind }, kFixedFont);
      expect(texts(plain.marks).map(({ text }) => text)).not.toContain("loss");
    }
  });
});
