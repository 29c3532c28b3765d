import { expect, test } from "vitest";
import type { HostClock } from "../api/clocks";
import { clocksOf, movedWords, shiftOfLane, shiftOfSeries, unsureWords } from "./clocks";

const clock = (
  host: string,
  ranks: number[],
  ...points: [number, number, number][]
): HostClock => ({
  host,
  ranks,
  points: points.map(([at, offset, error]) => ({ at, offset, error })),
});
const of = (...clocks: HostClock[]) => ({ first: "node1", clocks });
const at = (second: number, pixel = 1e-3) => ({ at: second, pixel, raw: false });

test("hosts are moved by the difference of their clocks to the first one's, within a quarter pixel", () => {
  const clocks = of(
    clock("node1", [0], [0, 1, 1e-4], [40, 1, 1e-4]),
    clock("node2", [1, 2], [0, 0.9085, 2e-4], [40, 0.9115, 3e-4]),
  );
  const found = clocksOf(clocks, at(20, 1e-6));
  expect(found?.moved).toEqual([
    {
      host: "node2",
      behind: expect.closeTo(-0.09, 9),
      // The worse ones'; both may have drifted for 20 s, and the line between is not flat.
      error: expect.closeTo(1e-4 + 3e-4 + 2 * 20 * 100e-6 + 0.0015, 9),
    },
  ]);
  expect(shiftOfLane(found?.shifts, "node2/rank1/7/MainThread")).toBeCloseTo(-90e6, -3);
  expect(shiftOfLane(found?.shifts, "node1/rank0/7/MainThread")).toBe(0);
  expect(shiftOfLane(found?.shifts, "constructor/rank0/7/MainThread")).toBe(0);
  expect(shiftOfSeries(found?.shifts, { source: "rank2/GPU 0" })).toBeCloseTo(-90e6, -3);
  expect(shiftOfSeries(found?.shifts, { source: "rank0" })).toBe(0);
  expect(shiftOfSeries(found?.shifts, { source: "eth0", host: "node2" })).toBeCloseTo(-90e6, -3);
  const coarse = clocksOf(clocks, at(20, 0.1))?.shifts.node2 as number;
  expect(Math.abs(coarse + 90e6)).toBeLessThanOrEqual(0.1e9 / 8);
  const later = clocksOf(clocks, at(21, 0.1))?.shifts.node2;
  expect(later, "a small drift is no new question").toBe(coarse);
  const after = clocksOf(clocks, at(140, 1e-6))?.moved[0];
  expect(after?.behind).toBeCloseTo(-0.0885, 9);
  expect(after?.error, "nothing was measured for 100 s").toBeCloseTo(4e-4 + 2 * 100 * 100e-6, 9);
});

test("clocks that agree within their errors are left alone, and none is moved without the first one's", () => {
  const near = of(clock("node1", [0], [0, 1, 1e-4]), clock("node2", [1], [0, 1.00025, 2e-4]));
  expect(clocksOf(near, at(0))).toMatchObject({ shifts: {}, moved: [], unsure: [] });
  expect(clocksOf(near, at(0, 5e-4))?.unsure[0]?.error).toBeCloseTo(5.5e-4, 9);
  expect(clocksOf(of(clock("node2", [1], [0, 1, 1e-4])), at(5))).toBeNull();
  expect(clocksOf({ first: null, clocks: [] }, at(5))).toBeNull();
});

test("as recorded, times may be wrong by the whole difference", () => {
  const clocks = of(clock("node1", [0], [0, 1, 1e-4]), clock("node2", [1], [0, 1.25, 1e-4]));
  const found = clocksOf(clocks, { ...at(0), raw: true });
  expect(found?.shifts).toEqual({});
  expect(found?.moved).toHaveLength(1);
  expect(found?.unsure[0]?.error).toBeCloseTo(0.2502, 9);
});

test("a clock that was set may be wrong by the whole change", () => {
  const set = clock("node2", [1], [0, 0, 1e-4], [16, 0.3, 1e-4]);
  const found = clocksOf(of(clock("node1", [0], [8, 0, 1e-4]), set), at(8));
  expect(found?.moved).toEqual([]);
  expect(found?.unsure[0]?.error).toBeGreaterThan(0.3);
});

test("a rank that started again by another clock stays as it was recorded", () => {
  const clocks = of(clock("node1", [0, 1], [0, 0, 0]), clock("node2", [1, 2], [0, 5, 0]));
  const found = clocksOf(clocks, at(0));
  expect(
    ["rank0", "rank1", "rank2"].map((source) => shiftOfSeries(found?.shifts, { source })),
  ).toEqual([0, 0, expect.closeTo(5e9, -6)]);
});

test("the greatest differences are named", () => {
  const host = (name: string, behind: number) => ({ host: name, behind, error: 3e-4 });
  expect(movedWords([host("a", 0.25), host("b", -1)])).toBe(
    "b 1\u2009s ahead (± 300\u2009µs), a 250\u2009ms behind (± 300\u2009µs)",
  );
  expect(movedWords(["a", "b", "c", "d", "e"].map((name) => host(name, 1)))).toMatch(
    / and 2 more$/,
  );
  expect(unsureWords([host("a", 0), { ...host("b", 0), error: 0.04 }])).toContain("± 40\u2009ms");
});
