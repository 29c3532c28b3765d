import { describe, expect, it } from "vitest";
import { pairDots, shapeCurve, shapePairs } from "./curve";
import { valuesOf } from "./range";
import { drawSeries } from "./series";
import type { ChartLine } from "./spec";
import { curve } from "./testing";

const same = { x: (v: number) => v, y: (v: number) => v };
const kLift = [Number.NaN, Number.NaN];

describe("shapeCurve", () => {
  it("goes through the middles of columns and lifts the pen where nothing was for long", () => {
    const at = new Map([
      [0, 1],
      [1, 2],
      [2, 3],
      [30, 4],
    ]);
    const four = { ...curve((i) => at.get(i) ?? Number.NaN, { count: 31 }), to: 31 };
    const shape = shapeCurve(four, same, "straight");
    expect([...shape.line]).toEqual([0.5, 1, 1.5, 2, 2.5, 3, ...kLift, 30.5, 4]);
    expect([...shape.dots]).toEqual([30.5, 4]);
  });

  it("is no row of dots when the series is slower than the pixels", () => {
    const slow = { ...curve((i) => (i % 7 === 0 ? i : Number.NaN), { count: 22 }), to: 22 };
    const shape = shapeCurve(slow, same, "straight");
    expect([...shape.line].map((v) => Math.round(v * 2) / 2)).toEqual([
      0.5, 0, 7.5, 7, 14.5, 14, 21.5, 21,
    ]);
    expect(shape.dots.length).toBe(0);
  });

  it("leads nowhere across a value that the axis has no place for", () => {
    const log = { ...same, y: (v: number) => (v > 0 ? v : Number.NaN) };
    const three = { ...curve((i) => [1, -2, 3][i] as number, { count: 3 }), to: 3 };
    expect([...shapeCurve(three, log, "straight").line]).toEqual([0.5, 1, ...kLift, 2.5, 3]);
  });

  it("stays at a value until the next when stepping", () => {
    const two = { ...curve((i) => i, { count: 2 }), to: 2 };
    expect([...shapeCurve(two, same, "step").line]).toEqual([0.5, 0, 1.5, 0, 1.5, 1]);
  });

  it("parts its band where either end is missing", () => {
    const all = { ...curve(() => 5, { count: 3, band: 1 }), to: 3 };
    (all.low as Float64Array)[1] = Number.NaN;
    const { upper, lower } = shapeCurve(all, same, "straight");
    expect([...upper]).toEqual([0.5, 6, ...kLift, 2.5, 6]);
    expect([...lower]).toEqual([0.5, 4, ...kLift, 2.5, 4]);
  });

  it("lets a band run out at the bottom of a logarithm", () => {
    const log = { ...same, y: (v: number) => (v > 0 ? -Math.log10(v) : Number.NaN), floor: 99 };
    const one = { ...curve(() => 1, { count: 1, band: 3 }), to: 1 };
    expect(shapeCurve(one, log, "straight").lower[1]).toBe(99);
  });
});

describe("pairs", () => {
  const pairs = { x: Float64Array.of(3, 1, 2), y: Float64Array.of(1, Number.NaN, 5) };

  it("are joined in order of time and interrupted at what is not a number", () => {
    const whole = { x: Float64Array.of(3, 1), y: Float64Array.of(1, 2) };
    expect([...shapePairs(whole, same, "straight")]).toEqual([3, 1, 1, 2]);
    expect([...shapePairs(pairs, same, "straight")]).toEqual([3, 1, ...kLift, 2, 5]);
    expect([...pairDots(pairs, same)]).toEqual([3, 1, 2, 5]);
  });
});

describe("the spread of a line", () => {
  const spread = { ...curve((i) => 10 + i, { count: 2 }), from: 4, to: 6 };
  const line: ChartLine = {
    key: "a",
    label: "a",
    colour: "#000",
    dash: [],
    hidden: false,
    data: null,
    spreads: [
      { ...spread, low: spread.value.map((v) => v - 2), high: spread.value.map((v) => v + 2) },
    ],
  };
  const style = { kind: "line", width: 1, background: "#fff", shift: 0 } as const;

  it("is a band with a dashed median at its own place, and nothing on a faint line", () => {
    const marks = drawSeries(line, same, style);
    expect(marks.map(({ kind }) => kind)).toEqual(["band", "line"]);
    expect(marks).toMatchObject([
      { upper: Float64Array.of(4.5, 12, 5.5, 13), lower: Float64Array.of(4.5, 8, 5.5, 9) },
      { points: Float64Array.of(4.5, 10, 5.5, 11), dash: [2, 3] },
    ]);
    expect(drawSeries({ ...line, faint: true }, same, style)).toEqual([]);
  });

  it("counts for the axis only where it is in sight", () => {
    expect(valuesOf([line], { from: 0, to: 9 })).toMatchObject({ low: 8, high: 13 });
    expect(valuesOf([line], { from: 0, to: 4.9 })).toMatchObject({ low: 8, high: 12 });
    expect(valuesOf([line], { from: 7, to: 9 })).toBeNull();
  });
});
