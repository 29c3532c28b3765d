import { expect, it } from "vitest";
import type { Cell, Collocation, Configuration, Slowdown } from "../../api/collocation";
import { collocationSearch } from "./search";
import { csvOfRows, effectMatrices, effectWords, heatOf, jobWords } from "./table";

const none = { throughput: null, turnaround: null, fairness: null, speedup: null, energy: null };

const slow = (job: string, beside: string[], slowdown: number | null, n = 2): Slowdown => ({
  job,
  place: null,
  host: "node7",
  beside,
  slowdown,
  low: slowdown === null ? null : slowdown - 0.1,
  high: slowdown === null ? null : slowdown + 0.1,
  n_alone: job === "C" ? 0 : 2,
  n_together: n,
});

const configuration = (jobs: string[], slowdowns: Slowdown[]): Configuration => ({
  ...none,
  sharing: "mps",
  jobs,
  places: jobs.map(() => ""),
  hosts: jobs.map(() => "node7"),
  cells: 1,
  measured: 1,
  slowdowns,
});

const found: Collocation = {
  jobs: [],
  configurations: [
    configuration(["A", "B"], [slow("A", ["B"], 1.6), slow("B", ["A"], 1.2)]),
    configuration(["A", "C"], [slow("A", ["C"], null, 0), slow("C", ["A"], null)]),
  ],
  cells: [
    {
      ...none,
      workload: "3",
      sharing: "mps",
      reason: "C: it ended as failed",
      runs: [{ job: "C" }, { job: "A" }] as Cell["runs"],
    },
  ],
  unmeasured: [],
  missing: [],
};

it("puts who is slowed down against whom, and says why a number is missing", () => {
  const [matrix] = effectMatrices(found);
  expect(matrix?.columns).toEqual(["B", "A", "C"]);
  const words = matrix?.rows.map(({ key, effects }) => [
    key,
    effects.map((some) => some.map(effectWords).join()),
  ]);
  expect(words).toEqual([
    ["A", ["1.6 (1.5 to 1.7)", "", "not measured: C: it ended as failed"]],
    ["B", ["", "1.2 (1.1 to 1.3)", ""]],
    ["C", ["", "no run of C alone", ""]],
  ]);
  expect(matrix?.greatest).toBe(1.6);
});

it("tints by how far a slowdown is from none", () => {
  expect([0.9, 1, 1.3, 1.6].map((one) => Math.round(heatOf(one, 1.6) * 100))).toEqual([
    0, 0, 50, 100,
  ]);
  expect(heatOf(1, 1)).toBe(0);
});

it("names copies of a job once, with their parts of the hardware", () => {
  expect(jobWords(["A", "A", "B"])).toBe("2A+B");
  expect(jobWords(["A", "B"], ["1g.5gb", ""])).toBe("A (1g.5gb)+B");
  expect(jobWords([])).toBe("–");
});

it("writes the shown columns as CSV, with numbers as they are", () => {
  const columns = [
    { name: "run", cell: ({ name }: { name: string }) => name },
    { name: "slowdown, all", cell: () => "1.6", raw: () => 1.6123456 },
    { name: "none", cell: () => "–", raw: () => null },
  ];
  expect(csvOfRows(columns, [{ name: "=a" }])).toBe(
    'run,"slowdown, all",none\r\n\'=a,1.6123456,\r\n',
  );
});

it("keeps one group and the field of jobs in the address", () => {
  expect(collocationSearch({ plan: "a", workload: "b", job: " params.model " })).toEqual({
    plan: "a",
    job: "params.model",
  });
  expect(collocationSearch({ experiment: "1", job: "" })).toEqual({ experiment: "1" });
});
