import { describe, expect, it } from "vitest";
import { reduced } from "../charts/testing";
import { radtBoard } from "../viewer/radt";
import { average, columnsOf, curveOf } from "../viewer/reduce";
import file from "./fixtures/data_2026-11-21T10_00_00.000Z.json";
import { RadtError, readRadt } from "./radt";

const [power, loss] = readRadt(file) as [
  ReturnType<typeof readRadt>[number],
  ReturnType<typeof readRadt>[number],
];

describe("a share file of radT's page", () => {
  it("gives its charts, the newest first, without those that were still loading", () => {
    expect(readRadt(file).map(({ metric }) => metric)).toEqual(["system/SMI - Power Draw", "loss"]);
  });

  it("gives every run a line of its own on the workload's time", () => {
    expect(power.runs.map(({ label }) => label)).toEqual(["7-1 0_A", "7-1 0_B", "7 (c1b2c)"]);
    expect([...(power.runs[0]?.x ?? [])]).toEqual([0, 0.5, 1, 1.5, 2, 2.5]);
    expect([...(power.runs[0]?.y ?? [])]).toEqual([100, 110, 120, 130, 140, 150]);
    // It began 1.5 s after its workload's other run; the run without a workload begins at its own zero.
    expect(power.runs[1]?.x[0]).toBe(1.5);
    expect(power.runs[2]?.x[0]).toBe(0);
  });

  it("keeps smoothing, range, hidden lines", () => {
    expect(power).toMatchObject({ smoothing: 0, range: { from: 0.5, to: 2.5 } });
    expect(loss).toMatchObject({ smoothing: 0.4, range: null, left: 1 });
    expect(loss.runs.map(({ label }) => label)).toEqual(["7-1"]);
    const [first, second] = radtBoard([power, loss]).charts;
    expect(first?.hidden).toEqual(["1"]);
    expect(first?.range).toEqual({ from: 0.5, to: 2.5 });
    expect(second?.range).toEqual(second?.full);
  });

  it("hides all runs of a workload that is hidden", () => {
    const hidden = structuredClone(file) as { context?: object }[];
    (hidden[1] as { context: object }).context = { shownRuns: [], hiddenSeries: ["7-1"] };
    const [chart] = readRadt(hidden);
    expect(radtBoard(chart ? [chart] : []).charts[0]?.hidden).toEqual(["0", "1"]);
  });

  it("takes whole numbers as text, and a chart of several metrics as one of each", () => {
    const run = { name: "a", workload: "1-2", letter: "A" };
    const data = [{ timestamp: "1700000000500", value: "2.5", step: "0" }];
    const runs = ["loss", "power"].map((metric) => ({ ...run, metric, data }));
    const charts = readRadt([{ id: 1, metric: "multi-axis", data: runs }]);
    expect(charts.map(({ metric, runs }) => [metric, runs[0]?.y[0], runs[0]?.label])).toEqual([
      ["loss", 2.5, "1-2"],
      ["power", 2.5, "1-2"],
    ]);
  });

  it("says what is wrong and where", () => {
    const broken = (change: (chart: Record<string, never>) => void) => {
      const copy = structuredClone(file) as unknown as Record<string, never>[];
      change(copy[1] as Record<string, never>);
      return () => readRadt(copy);
    };
    type Any = never;
    const at = (chart: Record<string, never>) => (chart.data as unknown as Any[])[0] as Any;
    expect(broken((chart) => Object.assign(chart, { metric: 3 }))).toThrow(
      "chart[1].metric is not a text",
    );
    expect(broken((chart) => Object.assign(chart, { data: {} }))).toThrow(
      "chart[1].data is not a list",
    );
    expect(broken((chart) => Object.assign(at(chart), { data: [{ value: 1 }] }))).toThrow(
      "chart[1].data[0].data[0].timestamp is not a number",
    );
    expect(broken((chart) => Object.assign(chart, { context: { smoothing: 100 } }))).toThrow(
      "chart[1].context.smoothing is 100, not 0 to 99",
    );
    expect(() => readRadt([3])).toThrow(RadtError);
    expect(() => readRadt([])).toThrow("contains no chart");
  });
});

describe("points reduced in the page", () => {
  const x = Float64Array.from({ length: 5000 }, (_, i) => i * 0.01 + (i % 7) * 0.001);
  const y = Float64Array.from(x, (at, i) => Math.sin(at) * 10 + (i % 13));

  it("are the columns that the server would give", () => {
    const at = { from: 3, to: 17, width: 111 };
    const { columns } = columnsOf({ x, y }, at, at.width);
    const wanted = reduced(x, y, at);
    // Beyond each end one point more.
    expect(columns.points).toBe(wanted.points + 2);
    for (const part of ["first", "min", "max", "last", "firstX", "minX", "maxX", "lastX"] as const)
      expect([...columns[part]].slice(1, -1)).toEqual([...wanted[part]]);
    expect([...columns.counts].slice(1, -1)).toEqual([...wanted.counts]);
  });

  it("are smoothed as radT does it", () => {
    expect([...average(Float64Array.of(1, 3, 5), 0.5)]).toEqual([1, 2, 3.5]);
    const { value } = curveOf(
      { x: Float64Array.of(0, 0.4, 2), y: Float64Array.of(1, 3, 7) },
      { from: 0, to: 3 },
      3,
    );
    expect([...value]).toEqual([2, Number.NaN, 7]);
  });
});
