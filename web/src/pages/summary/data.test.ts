import { describe, expect, it } from "vitest";
import type { FoundRun } from "../../api/runSearch";
import {
  barsOf,
  captionOf,
  cellsOf,
  meanInterval,
  parallelOf,
  pointsOf,
  type Sample,
  studentT,
} from "./data";
import { summarySearch } from "./search";

const sample = (id: string, value: number, values: Record<string, string>): Sample => ({
  run: { id, name: id, workload: null, values } as unknown as FoundRun,
  value,
});
const samples = [
  sample("a", 10, { "params.batch": "32", collocation: "alone" }),
  sample("b", 14, { "params.batch": "32", collocation: "alone" }),
  sample("c", 20, { "params.batch": "128", collocation: "alone" }),
  sample("d", 30, { "params.batch": "128", collocation: "mps" }),
];

describe("a summary", () => {
  it("has a bar per category and group, sorted as numbers, empty where nothing was run", () => {
    const bars = barsOf(cellsOf(samples, { by: "params.batch", group: "collocation" }));
    expect(bars.categories).toEqual(["batch 32", "batch 128"]);
    expect(bars.groups).toEqual(["alone", "mps"]);
    expect(bars.cells[0]?.[1]).toBeNull();
    expect(bars.cells[0]?.[0]).toMatchObject({ value: 12, n: 2 });
    // One run says nothing of the spread.
    expect(bars.cells[1]?.[0]).toEqual({ value: 20, n: 1 });
  });

  it("uses Student's t: scipy.stats.t.interval(0.95, 2, 2, scipy.stats.sem([1, 2, 3]))", () => {
    const { mean, half } = meanInterval([1, 2, 3]);
    expect(mean).toBe(2);
    expect(half).toBeCloseTo(2.484138, 4);
    // scipy.stats.t.ppf(0.975, df)
    for (const [df, t] of [
      [1, 12.7062],
      [10, 2.22814],
      [31, 2.03951],
      [60, 2.0003],
      [200, 1.9719],
    ] as const)
      expect(studentT(df)).toBeCloseTo(t, 3);
  });

  it("draws params against the metric, text as text", () => {
    const { points, groups } = pointsOf(samples, { by: "params.batch", group: "collocation" });
    expect(points.map(({ x, y, group }) => [x, y, group])).toEqual([
      [32, 10, 0],
      [32, 14, 0],
      [128, 20, 0],
      [128, 30, 1],
    ]);
    expect(groups).toEqual(["alone", "mps"]);
    const { axes, rows } = parallelOf(samples, {
      keys: ["params.batch", "params.none", "collocation"],
      metric: "loss",
      unit: "",
    });
    expect(axes.map(({ name }) => name)).toEqual(["batch", "collocation", "loss"]);
    expect(rows[3]?.values).toEqual([128, "mps", 30]);
  });

  it("counts a host's series once per workload, and keeps workloads of one name apart", () => {
    const on = (id: string, workload_id: string, experiment: string): Sample => ({
      run: { id, name: id, workload: "pair", workload_id, experiment, values: {} } as never,
      value: 10,
      shared: true,
    });
    const some = [on("a", "w1", "x"), on("b", "w1", "x"), on("c", "w2", "x"), on("d", "w3", "y")];
    const cells = cellsOf(some, { by: "workload", group: "" });
    expect(cells.categories).toEqual(["x › pair", "y › pair"]);
    expect(cells.samples).toEqual([[[10, 10]], [[10]]]);
  });

  it("is kept in the address", () => {
    const search = {
      run: ["a"],
      metric: "loss",
      of: "mean",
      kind: "box",
      by: "params.lr",
    } as const;
    expect(summarySearch({ ...search, run: "a" })).toEqual(search);
    expect(summarySearch({ kind: "cake", of: "worst", stacked: "maybe" })).toEqual({});
  });
});

it("sorts the values of a numeric parameter by size", () => {
  const some = ["0.1", "0.01", "1e-3", "0.03"].map((lr, i) =>
    sample(`${i}`, i, { "params.lr": lr }),
  );
  const { categories } = cellsOf(some, { by: "params.lr", group: "" });
  expect(categories).toEqual(["lr 1e-3", "lr 0.01", "lr 0.03", "lr 0.1"]);
});

describe("the caption", () => {
  const cells = [[{ value: 1, n: 2 }, null], [{ value: 2, n: 1 }]];
  const at = { metric: "loss", stacked: false, cells };

  it("speaks of an interval only under bars that have one", () => {
    expect(captionOf("bars", at)).toMatch(/95 % interval/);
    for (const [kind, part] of [
      ["bars", { stacked: true }],
      ["bars", { cells: [[{ value: 1, n: 1 }]] }],
      ["box", {}],
      ["scatter", {}],
      ["parallel", {}],
    ] as const)
      expect(captionOf(kind, { ...at, ...part }), kind).not.toMatch(/95 %|mean of runs, bars/);
    expect(captionOf("box", at)).toMatch(/median, quartiles/);
    expect(captionOf("scatter", at)).toBe("a point per run");
    expect(captionOf("parallel", at)).toMatch(/loss/);
  });
});
