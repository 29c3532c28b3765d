import { describe, expect, it } from "vitest";
import { kFixedFont } from "./font";
import { drawForest, type ForestRow, ratioAxis, ratioText } from "./forest";
import type { DotsMark, LineMark, MarkersMark, RectMark } from "./marks";
import { textsOf } from "./testing";
import { kLight } from "./theme";

const row = (ratio: number | null, low: number | null, high: number | null): ForestRow => ({
  name: "after",
  ratio,
  low,
  high,
  shown: true,
});
const slower = row(1.31, 1.27, 1.35);
const spec = { width: 800, theme: kLight, margin: 0.02, baseline: "before" };
const drawn = (rows: readonly ForestRow[], width = 800) =>
  drawForest(rows, { ...spec, width }, kFixedFont);
const lines = (rows: readonly ForestRow[]) =>
  drawn(rows).marks.filter((mark): mark is LineMark => mark.kind === "line" && mark.width === 1.4);

describe("the axis of ratios", () => {
  it("holds 1, the margin and every interval, with 1 among its ticks", () => {
    for (const [rows, margin] of [
      [[slower], 0.02],
      [[row(0.998, 0.99, 1.004)], 0.02],
      [[row(0.2, 0.1, 0.4), row(30, 20, 40)], 0.05],
      [[row(null, null, null)], 0.1],
      [[], 0.02],
    ] as const) {
      const { from, to, ticks } = ratioAxis(rows, margin);
      for (const inside of [
        1,
        1 / (1 + margin),
        1 + margin,
        ...rows.flatMap((one) => one.ratio ?? []),
      ])
        expect(from < inside && inside < to, `${inside} in ${from} to ${to}`).toBe(true);
      expect(ticks.map(({ value }) => value)).toContain(1);
      expect(ticks.length).toBeLessThanOrEqual(12);
    }
  });

  it("is not stretched by one interval that nothing limits", () => {
    const { from, to } = ratioAxis([slower, row(1.2, 1e-6, 1e6)], 0.02);
    expect(from).toBeGreaterThan(0.2);
    expect(to).toBeLessThan(7);
  });

  it("ends where ratios leave the numbers", () => {
    const row = { name: "b", ratio: 1e306, low: 1e300, high: 1.7e308, shown: true };
    const { from, to, ticks } = ratioAxis([row], 0.02);
    expect(Number.isFinite(to) && from > 0 && ticks.length < 20).toBe(true);
  });

  it("is logarithmic: a half and the double are equally far from 1", () => {
    const [half, twice] = drawn([row(0.5, 0.4, 0.6), row(2, 1.7, 2.5)]).marks.filter(
      (mark): mark is DotsMark => mark.kind === "dots",
    ) as [DotsMark, DotsMark];
    const band = drawn([row(0.5, 0.4, 0.6), row(2, 1.7, 2.5)]).marks.find(
      (mark): mark is RectMark => mark.kind === "rect",
    ) as RectMark;
    const one = band.x + band.width / 2;
    expect(one - (half.points[0] as number)).toBeCloseTo((twice.points[0] as number) - one, 6);
  });
});

describe("a forest plot", () => {
  it("has a row for each ratio: its name, its numbers, its interval from end to end", () => {
    const picture = drawn([slower, { ...row(0.99, null, null), name: "other", shown: false }]);
    expect(textsOf(picture.marks)).toEqual(
      expect.arrayContaining([
        "after",
        "1.31 × (1.27 to 1.35)",
        "other",
        "0.99 ×",
        "ratio to before",
      ]),
    );
    const [interval] = lines([slower]) as [LineMark];
    const dot = picture.marks.find((mark): mark is DotsMark => mark.kind === "dots") as DotsMark;
    expect(interval.points[0]).toBeLessThan(dot.points[0] as number);
    expect(interval.points[2]).toBeGreaterThan(dot.points[0] as number);
    expect(picture.boxes.map(({ words }) => words)[0]).toBe(
      "after against before: 1.31 × (1.27 to 1.35)",
    );
  });

  it("looks neutral where nothing was shown, and is empty where there is no ratio", () => {
    const neutral = drawn([{ ...slower, shown: false }]).marks;
    expect(neutral.some((mark) => mark.kind === "dots")).toBe(false);
    const ring = neutral.find((mark): mark is MarkersMark => mark.kind === "markers");
    expect([ring?.shape, ring?.colour]).toEqual(["ring", kLight.ink2]);
    expect(lines([row(null, null, null)])).toEqual([]);
    expect(ratioText(row(null, null, null))).toBe("no ratio");
    expect(ratioText(row(1.2, 0.9, null))).toBe("1.2 × (0.9 to ∞)");
  });

  it("cuts an interval at the edge, with the tip of an arrow", () => {
    const { plot } = drawn([row(1.2, 1e-6, 1e6)]);
    const [interval, left, right] = lines([row(1.2, 1e-6, 1e6)]) as [LineMark, LineMark, LineMark];
    expect([interval.points[0], interval.points[2]]).toEqual([plot.x, plot.x + plot.width]);
    expect([left.points.length, right.points.length]).toEqual([6, 6]);
  });

  it("stacks its words above the intervals on a phone, inside its width", () => {
    const wide = drawn([slower]);
    const narrow = drawn([slower], 360);
    expect(narrow.height).toBeGreaterThan(wide.height);
    expect(narrow.plot.width).toBeGreaterThan(300);
    const ends = narrow.marks.flatMap((mark) => (mark.kind === "text" ? [mark] : []));
    for (const { x, text, size, anchor } of ends) {
      const width = kFixedFont.width(text, size, 400);
      const left = anchor === "end" ? x - width : anchor === "middle" ? x - width / 2 : x;
      expect(left, text).toBeGreaterThanOrEqual(0);
      expect(left + width, text).toBeLessThanOrEqual(360);
    }
  });
});
