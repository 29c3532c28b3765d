import { describe, expect, it } from "vitest";
import { gapThreshold, shapeLine, valueAt } from "./line";
import { denseColumns, lineData, pointColumns } from "./testing";

const kSame = { x: (s: number) => s, y: (v: number) => v };
const kGap = [Number.NaN, Number.NaN];

describe("shapeLine", () => {
  it("draws single points exactly and lifts the pen where nothing was measured", () => {
    const before = Array.from({ length: 12 }, (_, i) => [i * 2, i] as const);
    const after = [[60, 5] as const, [62, 6] as const];
    const shape = shapeLine(
      { ...lineData(pointColumns([...before, ...after])), spacing: 2 },
      kSame,
    );
    expect([...shape.line]).toEqual([...before.flat(), ...kGap, 60, 5, 62, 6]);
    expect(shape.dots.length).toBe(0);
  });

  it("does not take jitter for a gap", () => {
    const points = Array.from(
      { length: 30 },
      (_, i) => [i * 3 + (i % 3 === 0 ? 2 : 0), 1] as const,
    );
    expect([...shapeLine(lineData(pointColumns(points)), kSame).line].some(Number.isNaN)).toBe(
      false,
    );
  });

  it("keeps spikes in the band and out of the line", () => {
    const shape = shapeLine(
      lineData(
        denseColumns([
          [5, 4, 6, 5],
          [5, 4, 90, 5],
          [5, 4, 6, 5],
        ]),
      ),
      kSame,
    );
    expect([...shape.upper].filter((_, i) => i % 2 === 1)).toEqual([6, 90, 6]);
    expect([...shape.lower].filter((_, i) => i % 2 === 1)).toEqual([4, 4, 4]);
    expect([...shape.line].filter((_, i) => i % 2 === 1)).toEqual([5, 5, 5]);
  });

  it("marks a point that stands alone", () => {
    const points = [...Array.from({ length: 12 }, (_, i) => [i, 1] as const), [50, 9] as const];
    expect([...shapeLine(lineData(pointColumns(points)), kSame).dots]).toEqual([50, 9]);
  });

  it("projects pixels of another range to where their time is", () => {
    const data = {
      ...lineData(
        pointColumns([
          [0, 1],
          [50, 2],
        ]),
      ),
      from: 10,
      to: 20,
    };
    expect([...shapeLine(data, kSame).line.filter((_, i) => i % 2 === 0)]).toEqual([10, 15]);
  });
});

describe("valueAt", () => {
  const points = Array.from({ length: 20 }, (_, i) => [i, i * 10] as const);
  const data = lineData(pointColumns([...points, [60, 7]]));

  it("is the nearest point's value, null inside gaps and beyond the ends", () => {
    expect(valueAt(data, 4.3)).toBe(40);
    expect(valueAt(data, 4.6)).toBe(50);
    expect(valueAt(data, 60.5)).toBe(7);
    expect(valueAt(data, 40)).toBeNull();
    expect(valueAt(data, 90)).toBeNull();
    expect(valueAt(lineData(pointColumns([])), 4)).toBeNull();
  });

  it("has a threshold of several usual spacings", () => {
    expect(gapThreshold(data)).toBe(5);
  });
});
