import { describe, expect, it } from "vitest";
import { gapThreshold, type LineData, shapeLine, valueAt } from "./line";
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

  const broken = (data: LineData) => [...shapeLine(data, kSame).line].some(Number.isNaN);
  // A step every 20 ms for 10 s, in columns of 25 ms; `pauses`: where, and for how long, nothing came.
  const steps = (pauses: Record<number, number>) => {
    const points: [number, number][] = [];
    for (let i = 0, t = 0; i < 500; i++, t += 0.02 + (pauses[i] ?? 0)) points.push([t * 40, 1]);
    return { ...lineData(pointColumns(points)), to: 10, width: 400, spacing: 0.02 };
  };

  it("does not take jitter for a gap", () => {
    expect(broken(steps({ 100: 0.08, 101: 0.3, 250: 0.9 }))).toBe(false);
    expect(broken({ ...steps({ 100: 0.5 }), to: 1, width: 40 })).toBe(false);
  });

  it("shows that nothing was measured for long, as throughput during an evaluation", () => {
    expect(broken(steps({ 200: 1.5 }))).toBe(true);
    const every = (spacing: number, pause: number) => {
      const points = Array.from({ length: 20 }, (_, i) => [i * spacing, 1] as const);
      const later = points.map(([x]) => [x + 19 * spacing + pause, 2] as const);
      return { ...lineData(pointColumns([...points, ...later]), 1000), spacing };
    };
    expect(broken(every(5, 45))).toBe(false);
    expect(broken(every(5, 55))).toBe(true);
  });

  it("does not change its mind with the zoom", () => {
    const pause = (seconds: number, pixels: number) => {
      const points = [...Array.from({ length: 21 }, (_, i) => i), 20 + seconds];
      const at = points.map((s) => [s * pixels, 1] as const);
      return { ...lineData(pointColumns(at), 40 * pixels), to: 40, spacing: 1 };
    };
    for (const pixels of [1, 10, 100]) {
      expect(broken(pause(9, pixels))).toBe(false);
      expect(broken(pause(11, pixels))).toBe(true);
    }
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
      { x: kSame.x, y: (v: number) => 100 - v },
    );
    const values = (points: Float64Array) => [...points].filter((_, i) => i % 2 === 1);
    expect([...shape.bars]).toEqual([0, 94, 96, 1, 10, 96, 2, 94, 96]);
    expect(shape.barWidth).toBe(1);
    expect(values(shape.line)).toEqual([95, 95, 95]);
  });

  it("has no band where one or two points are drawn exactly", () => {
    const columns = {
      ...pointColumns([
        [0, 5],
        [20, 5],
      ]),
      last: Float64Array.of(5, 0),
      lastX: Float32Array.of(0, 20.5),
    };
    const data = {
      ...lineData({ ...columns, min: columns.last, counts: Uint32Array.of(1, 2) }),
      spacing: 20,
    };
    const shape = shapeLine(data, kSame);
    expect([...shape.line]).toEqual([0, 5, 20, 5, 20.5, 0]);
    expect(shape.bars.length).toBe(0);
  });

  it("joins nothing across a segment or what could not be read", () => {
    const columns = pointColumns([
      [0, 1],
      [1, 2],
      [2, 3],
      [3, 4],
    ]);
    const whole = [0, 1, 1, 2, 2, 3, 3, 4];
    const parted = [0, 1, 1, 2, Number.NaN, Number.NaN, 2, 3, 3, 4];
    const lineOf = (more: object) => [...shapeLine(lineData({ ...columns, ...more }), kSame).line];
    expect(lineOf({})).toEqual(whole);
    expect(lineOf({ segments: Uint32Array.of(0, 2) })).toEqual(parted);
    expect(lineOf({ gaps: [[1.2, 1.8]] })).toEqual(parted);
    expect(lineOf({ gaps: [[3, 9]] })).toEqual(whole);
  });

  it("stays at a value until the next point when stepping", () => {
    const data = {
      ...lineData(
        pointColumns([
          [0, 1],
          [10, 5],
        ]),
      ),
      spacing: 10,
    };
    expect([...shapeLine(data, kSame, "step").line]).toEqual([0, 1, 10, 1, 10, 5]);
  });

  it("lets what a logarithm cannot show run out at the bottom, or interrupt the line", () => {
    const log = { ...kSame, y: (v: number) => (v > 0 ? -v : Number.NaN), floor: 9 };
    const dense = denseColumns([
      [5, -4, 6, 5],
      [-3, -4, -2, -3],
      [5, 4, 6, 5],
    ]);
    const shape = shapeLine(lineData(dense), log);
    expect([...shape.bars]).toEqual([0, -6, 9, 2, -6, -4]);
    expect([...shape.line].filter(Number.isNaN).length).toBe(2);
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

  it("is known all along a line without gap, however long", () => {
    const slow = {
      ...lineData(
        pointColumns([
          [0, 1],
          [50, 2],
          [100, 3],
        ]),
      ),
      spacing: 50,
    };
    expect([10, 30, 60].map((at) => valueAt(slow, at))).toEqual([1, 2, 2]);
  });

  it("searches each segment where steps went back", () => {
    const columns = {
      ...pointColumns([
        [10, 1],
        [20, 2],
        [12, 3],
        [22, 4],
      ]),
      segments: Uint32Array.of(0, 2),
    };
    const back = { ...lineData(columns), spacing: 10 };
    expect([10, 12, 20, 22].map((at) => valueAt(back, at))).toEqual([1, 3, 2, 4]);
  });

  it("has a threshold of several usual spacings", () => {
    expect(gapThreshold(data)).toBe(10);
  });
});
