import { describe, expect, it } from "vitest";
import type { ColumnsQuestion } from "./chartBodies";
import type { Columns } from "./columns";
import { Growing, type GrowingQuestion } from "./growing";

type Point = readonly [number, number];

// The columns of points, as the server makes them.
function columnsOf(points: readonly Point[], at: ColumnsQuestion, since: number): Columns {
  const step = (at.to - at.from) / at.width;
  const inside = points.filter(([x]) => x >= at.from && x < at.to);
  const byColumn = new Map<number, Point[]>();
  for (const point of inside) {
    const column = Math.floor((point[0] - at.from) / step);
    if (column >= since) byColumn.set(column, [...(byColumn.get(column) ?? []), point]);
  }
  const all = [...byColumn].sort(([a], [b]) => a - b).map(([, some]) => some);
  const least = (some: Point[]) => some.reduce((a, b) => (b[1] < a[1] ? b : a));
  const greatest = (some: Point[]) => some.reduce((a, b) => (b[1] > a[1] ? b : a));
  const pick = (of: (some: Point[]) => Point) => all.map((some) => of(some));
  const [first, min, max, last] = [
    pick((some) => some[0] as Point),
    pick(least),
    pick(greatest),
    pick((some) => some.at(-1) as Point),
  ];
  const values = (some: Point[]) => Float64Array.from(some, ([, v]) => v);
  const places = (some: Point[]) => Float32Array.from(some, ([x]) => (x - at.from) / step);
  return {
    series: 1,
    points: inside.length,
    nonFinite: 0,
    exact: true,
    rate: false,
    first: values(first),
    min: values(min),
    max: values(max),
    last: values(last),
    firstX: places(first),
    minX: places(min),
    maxX: places(max),
    lastX: places(last),
    counts: Uint32Array.from(all, (some) => some.length),
    segments: Uint32Array.from(all.length > 0 ? [0] : []),
    gaps: [],
    unknownGap: false,
  };
}

// A server with the points of each series; `sent` counts the columns that travelled.
function server(data: Map<number, Point[]>) {
  const traffic = { sent: 0, asked: 0, questions: [] as ColumnsQuestion[] };
  const ask = async (question: ColumnsQuestion, since: readonly number[] | null) => {
    traffic.asked++;
    traffic.questions.push(question);
    const answer = question.series.map(({ id }, i) => {
      const columns = columnsOf(data.get(id) ?? [], question, since?.[i] ?? 0);
      traffic.sent += columns.firstX.length;
      return [id, columns] as const;
    });
    return new Map(answer);
  };
  return { ask, traffic };
}

const at = (to: number, part: Partial<GrowingQuestion> = {}): GrowingQuestion => ({
  axis: "time",
  series: [{ id: 1, origin: 0n }],
  from: 0,
  to,
  width: 100,
  live: true,
  ...part,
});

const wave = (to: number): Point[] =>
  Array.from({ length: to * 20 }, (_, i) => [i / 20 + 0.001, Math.sin(i / 7) * i] as const);

describe("Growing", () => {
  it("draws the same extremes and points as the whole answer, from a few columns each second", async () => {
    const data = new Map([[1, wave(10)]]);
    const { ask, traffic } = server(data);
    const growing = new Growing();
    await growing.columns(at(10), ask);
    const begun = traffic.sent;
    for (let to = 11; to <= 90; to++) {
      data.set(1, wave(to));
      const { series, moved } = await growing.columns(at(to), ask);
      const grown = series.get(1) as Columns;
      const whole = columnsOf(wave(to), at(to), 0);
      expect(moved).toBe(true);
      expect(grown.exact).toBe(false);
      expect(grown.points).toBe(whole.points);
      expect(grown.counts.reduce((sum, n) => sum + n, 0)).toBe(whole.points);
      expect(Math.max(...grown.max)).toBe(Math.max(...whole.max));
      expect(Math.min(...grown.min)).toBe(Math.min(...whole.min));
      expect(grown.last.at(-1)).toBe(whole.last.at(-1));
      expect(grown.lastX.at(-1)).toBeCloseTo(whole.lastX.at(-1) as number, 3);
      expect(grown.firstX.length).toBeGreaterThan(45);
      expect(grown.firstX.length).toBeLessThanOrEqual(101);
      expect([...grown.segments]).toEqual([0]);
    }
    expect(traffic.asked).toBe(81);
    // The whole answers would have been 8,000.
    expect(traffic.sent - begun).toBeLessThan(800);
  });

  it("asks for a series as a whole where points arrived late, and for others not", async () => {
    const data = new Map([
      [1, wave(10)],
      [2, wave(10)],
    ]);
    const { ask, traffic } = server(data);
    const growing = new Growing();
    const both = { series: [1, 2].map((id) => ({ id, origin: 0n })) };
    await growing.columns(at(10, both), ask);
    data.set(
      1,
      [[2.5001, 1e9] as const, ...wave(11)].sort(([a], [b]) => a - b),
    );
    data.set(2, wave(11));
    const { series } = await growing.columns(at(11, both), ask);
    expect(Math.max(...(series.get(1) as Columns).max)).toBe(1e9);
    expect(traffic.questions.at(-1)?.series.map(({ id }) => id)).toEqual([1]);
  });

  it("keeps the pixels of a range that stands, and asks anew after the end, a zoom or another width", async () => {
    const data = new Map([[1, wave(12)]]);
    const { ask, traffic } = server(data);
    const growing = new Growing();
    await growing.columns(at(20), ask);
    const begun = traffic.sent;
    data.set(1, wave(13));
    const same = await growing.columns(at(20), ask);
    expect(same).toMatchObject({ moved: false });
    expect(same.series.get(1)).toEqual(columnsOf(wave(13), at(20), 0));
    expect(traffic.sent - begun).toBeLessThan(10);
    for (const other of [{ live: false }, { from: 1 }, { width: 99 }, { to: 19 }]) {
      await growing.columns(at(20), ask);
      await growing.columns(at(21), ask);
      const { moved } = await growing.columns({ ...at(22), ...other }, ask);
      expect(moved, JSON.stringify(other)).toBe(false);
    }
  });

  it("takes new points where the range does not grow after it has grown", async () => {
    const data = new Map([[1, wave(10)]]);
    const { ask } = server(data);
    const growing = new Growing();
    await growing.columns(at(20), ask);
    await growing.columns(at(21), ask);
    data.set(1, wave(12));
    const { series } = await growing.columns(at(21), ask);
    expect(series.get(1)?.points).toBe(240);
    const ended = await growing.columns(at(21, { live: false }), ask);
    expect(ended.series.get(1)).toEqual(columnsOf(wave(12), at(21), 0));
  });

  it("starts anew for a series of another origin, and takes one that joins", async () => {
    const data = new Map([[1, wave(10)]]);
    const { ask } = server(data);
    const growing = new Growing();
    await growing.columns(at(10), ask);
    data.set(2, wave(5));
    const series = [
      { id: 1, origin: 5n },
      { id: 2, origin: 0n },
    ];
    const found = await growing.columns(at(11, { series }), ask);
    expect([...found.series.values()].map(({ points }) => points)).toEqual([200, 100]);
  });
});
