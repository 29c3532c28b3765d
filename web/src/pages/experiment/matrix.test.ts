import { describe, expect, it } from "vitest";
import type { Overview, OverviewRun } from "../../api/runSearch";
import { matrixOf, statisticsOf } from "./matrix";
import { experimentSearch } from "./search";

const run = (
  id: string,
  value: number | string | null,
  more: Partial<OverviewRun> = {},
): OverviewRun => ({
  id,
  name: id,
  status: "finished",
  model: "resnet",
  value,
  duration_s: 1,
  start_ns: "0",
  ...more,
});
const overview = {
  experiment: { id: "1", name: "e", created_ns: "0", runs: 5, running: 0 },
  workloads: [
    { id: "own", name: null, collocation: "alone", runs: [run("o", 9, { model: "" })] },
    { id: "w1", name: "one", collocation: "alone", runs: [run("a", 1)] },
    {
      id: "w2",
      name: "two",
      collocation: "mps",
      runs: [run("b", 2), run("c", 4, { model: "bert", status: "running" })],
    },
    { id: "w3", name: "three", collocation: "late", runs: [run("d", "NaN", { status: "failed" })] },
  ],
  collocations: ["alone", "mps"],
  unit: "",
} satisfies Overview;

describe("the matrix of an experiment", () => {
  it("has a row per workload, what has no name last, and a column per collocation", () => {
    const matrix = matrixOf(overview, "workload");
    expect(matrix.columns).toEqual(["alone", "mps", "late"]);
    expect(matrix.rows.map((row) => row.name)).toEqual(["one", "two", "three", null]);
    expect(matrix.rows.map((row) => row.cells.map((cell) => cell?.value.mean ?? null))).toEqual([
      [1, null, null],
      [null, 3, null],
      [null, null, null],
      [9, null, null],
    ]);
    expect([matrix.low, matrix.high]).toEqual([1, 9]);
    expect(matrix.rows[1]?.cells[1]?.share).toBe(0.25);
  });

  it("says what failed or runs, and what a board of a cell shows", () => {
    const cells = matrixOf(overview, "workload").rows.map((row) =>
      row.cells.find((cell) => cell !== null),
    );
    expect(cells.map((cell) => cell?.board)).toEqual([
      { workload: ["w1"] },
      { workload: ["w2"] },
      { workload: ["w3"] },
      { run: ["o"] },
    ]);
    expect(cells[1]?.statuses).toEqual([["running", 1]]);
    expect(cells[2]).toMatchObject({
      statuses: [["failed", 1]],
      share: null,
      value: { n: 0, mean: null },
    });
  });

  it("by model splits a workload", () => {
    const matrix = matrixOf(overview, "model");
    expect(matrix.rows.map((row) => row.name)).toEqual(["resnet", "bert", null]);
    expect(matrix.rows[0]?.cells.map((cell) => cell?.board ?? null)).toEqual([
      { workload: ["w1"] },
      { run: ["b"] },
      { workload: ["w3"] },
    ]);
  });

  it("counts only what was measured", () => {
    expect(statisticsOf([run("a", 1), run("b", null), run("c", "NaN"), run("d", 3)])).toEqual({
      n: 2,
      mean: 2,
      low: 1,
      high: 3,
    });
  });
});

it("an address says metric, summary and rows, defaults left out", () => {
  expect(experimentSearch({ metric: "gpu.power", of: "max", rows: "model" })).toEqual({
    metric: "gpu.power",
    of: "max",
    rows: "model",
  });
  expect(experimentSearch({ metric: "", of: "last", rows: "workload", x: 1 })).toEqual({});
});
