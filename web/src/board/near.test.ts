import { describe, expect, it } from "vitest";
import { splitCharts } from "./near";
import type { BoardChart } from "./useBoard";

const charts = (n: number) =>
  Array.from({ length: n }, (_, i) => ({ key: `m${i}` }) as unknown as BoardChart);
const keys = (some: readonly BoardChart[]) => some.map(({ key }) => key);

describe("which charts are asked for first", () => {
  it("are all of a few", () => {
    const few = charts(8);
    expect(splitCharts(few, new Map([["m0", false]]))).toEqual({ near: few, far: [] });
  });

  it("are the first ones before anything is known, then those in sight", () => {
    const many = charts(12);
    const { near, far } = splitCharts(many, new Map());
    expect([keys(near), keys(far)]).toEqual([
      ["m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7"],
      ["m8", "m9", "m10", "m11"],
    ]);
    const seen = new Map(many.map(({ key }, i) => [key, i > 9]));
    expect(keys(splitCharts(many, seen).near)).toEqual(["m10", "m11"]);
    expect(splitCharts(many, seen).far.length).toBe(10);
  });

  it("are all where none is in sight: the phases below them may be", () => {
    const many = charts(12);
    const unseen = new Map(many.map(({ key }) => [key, false]));
    expect(splitCharts(many, unseen)).toEqual({ near: many, far: [] });
  });
});
