import { describe, expect, it } from "vitest";
import type { PlanRun } from "../../api/plans";
import { endOf, stateWords, toneOf } from "../../format/outcome";
import {
  estimateOf,
  facetsOf,
  filtered,
  heightOf,
  idOf,
  inStateOrder,
  kLine,
  movedPlace,
  nextFailure,
  ordinal,
  progressOf,
  queueOf,
  rowsOf,
  toneCounts,
  waitsFor,
} from "./plan";
import { planSearch, withValue } from "./search";

const run = (workload: string, state: string, more: Partial<PlanRun> = {}): PlanRun => ({
  key: `${workload}${more.name ?? ""}`,
  experiment: "E",
  workload,
  state,
  ...more,
});

const kRuns = [
  run("1", "finished", { name: "a", collocation: "-", model: "resnet.py" }),
  run("2", "finished", { name: "a", collocation: "mps" }),
  run("2", "out-of-memory", {
    name: "b",
    collocation: "mps",
    reason: "CUDA out of memory",
    tail: ["x", "y", ""],
  }),
  run("3", "running", { name: "a", repetition: 1 }),
  run("3", "waiting", { name: "a", repetition: 2 }),
  run("4", "waiting", { name: "a" }),
];
const rows = rowsOf({ runs: kRuns });
const all = { text: "", states: [], experiments: [], collocations: [] };
const names = (some: typeof rows) => some.map((row) => row.workload);

describe("what waits", () => {
  const keys = (some: typeof rows) => [...queueOf(some)].map(([key, n]) => [key.split("\n")[1], n]);

  it("stands in the order of the file, or of the turns that the scheduler gave", () => {
    expect(keys(rows)).toEqual([
      ["3", 0],
      ["4", 1],
    ]);
    const shuffled = rowsOf({
      runs: [
        run("1", "waiting", { turn: 3 }),
        run("2", "waiting", { turn: 1 }),
        run("3", "running", { turn: 2 }),
      ],
    });
    expect(keys(shuffled)).toEqual([
      ["2", 0],
      ["1", 1],
    ]);
  });

  it("has a place in words", () => {
    const words = [1, 2, 3, 4, 11, 12, 13, 21, 102, 111].map(ordinal).join(" ");
    expect(words).toBe("1st 2nd 3rd 4th 11th 12th 13th 21st 102nd 111th");
  });

  it("waits for those that run and those before it", () => {
    expect(waitsFor(rows, 0)).toBe("waits for workload 3 #1");
    expect(waitsFor(rows, 2)).toBe("waits for workload 3 #1 and 2 workloads before it");
    expect(waitsFor([], 0)).toBe("next");
    expect(waitsFor([], 1)).toBe("waits for 1 workload before it");
  });
});

describe("the rows of a plan", () => {
  it("are its workloads in order, repetitions apart", () => {
    expect(rows.map((row) => [row.workload, row.collocation, row.runs.length])).toEqual([
      ["1", "as-is", 1],
      ["2", "mps", 2],
      ["3 #1", "", 1],
      ["3 #2", "", 1],
      ["4", "", 1],
    ]);
    const ids = kRuns.map(idOf);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("stay whole when one run fits the filter", () => {
    expect(names(filtered(rows, { ...all, states: ["out-of-memory"] }))).toEqual(["2"]);
    expect(filtered(rows, { ...all, states: ["out-of-memory"] })[0]?.runs.length).toBe(2);
    expect(names(filtered(rows, { ...all, text: "CUDA mps" }))).toEqual(["2"]);
    expect(names(filtered(rows, { ...all, text: "as-is" }))).toEqual(["1"]);
    expect(names(filtered(rows, { ...all, text: "nothing" }))).toEqual([]);
    expect(names(filtered(rows, { ...all, states: ["waiting"], collocations: [""] }))).toEqual([
      "3 #2",
      "4",
    ]);
    expect(names(filtered(rows, { ...all, experiments: ["other"] }))).toEqual([]);
    // One run has to meet all of it.
    expect(filtered(rows, { ...all, states: ["finished"], text: "cuda" })).toEqual([]);
  });

  it("are as tall as what stands in them", () => {
    const [alone, shared] = rows as [(typeof rows)[0], (typeof rows)[0]];
    const layout = { perLine: 1, open: new Set<string>() };
    expect(heightOf(alone, layout)).toBe(kLine + 1);
    expect(heightOf(shared, layout)).toBe(2 * kLine + 1 + 20 + 4);
    expect(heightOf(shared, { perLine: 2, open: new Set() })).toBe(kLine + 1 + 20 + 4);
    const open = new Set([idOf(shared.runs[1] as PlanRun)]);
    expect(heightOf(shared, { perLine: 2, open })).toBe(kLine + 1 + 20 + 3 * 16 + 8 + 4);
  });
});

describe("how far a plan is", () => {
  it("counts what has ended, and how", () => {
    const progress = progressOf({
      finished: 5,
      limit: 1,
      "out-of-memory": 2,
      running: 1,
      waiting: 1,
    });
    expect([progress.ended, progress.runs]).toEqual([8, 10]);
    expect(progress.parts.map(({ tone, count }) => `${tone} ${count}`)).toEqual([
      "finished 5",
      "stopped 1",
      "unknown 0",
      "failed 2",
      "running 1",
    ]);
    expect(progressOf({}).runs).toBe(0);
    expect(toneCounts({ killed: 1, failed: 2, waiting: 3, limit: 0 })).toEqual([
      { tone: "failed", count: 3 },
      { tone: "waiting", count: 3 },
    ]);
  });

  it("lists states with what needs a look first, and words it does not know", () => {
    const counts = { waiting: 1, finished: 1, failed: 1, running: 1, strange: 1 };
    expect(inStateOrder(counts).map(({ value }) => value)).toEqual([
      "running",
      "failed",
      "finished",
      "waiting",
      "strange",
    ]);
    expect([toneOf("strange"), toneOf("constructor"), stateWords("toString")]).toEqual([
      "unknown",
      "unknown",
      "toString",
    ]);
    expect(facetsOf({ runs: kRuns }).collocations).toEqual([
      { value: "-", count: 1 },
      { value: "mps", count: 2 },
      { value: "", count: 3 },
    ]);
  });

  it("is estimated by the pace of the last workloads, breaks between them counted in", () => {
    const ended = [
      { workload: "b", start: 200, end: 280 },
      { workload: "b", start: 201, end: 300 },
      { workload: "a", start: 100, end: 190 },
    ];
    // Two workloads in 200 s; three are left.
    expect(estimateOf(rows, ended)).toBe(300);
    expect(estimateOf(rows, [])).toBeNull();
    expect(estimateOf(rowsOf({ runs: [run("1", "finished")] }), [])).toBe(0);
  });
});

describe("the keyboard", () => {
  it("moves between runs and to the next failure", () => {
    expect(movedPlace(rows, { row: 1, cell: 1 }, "ArrowDown")).toEqual({ row: 2, cell: 0 });
    expect(movedPlace(rows, { row: 1, cell: 0 }, "ArrowRight")).toEqual({ row: 1, cell: 1 });
    expect(movedPlace(rows, { row: 0, cell: 0 }, "ArrowUp")).toEqual({ row: 0, cell: 0 });
    expect(movedPlace(rows, { row: 0, cell: 0 }, "End")).toEqual({ row: 4, cell: 0 });
    expect(movedPlace(rows, { row: 0, cell: 0 }, "x")).toBeNull();
    expect(nextFailure(rows, { row: 0, cell: 0 })).toEqual({ row: 1, cell: 1 });
    expect(nextFailure(rows, { row: 1, cell: 1 })).toEqual({ row: 1, cell: 1 });
    expect(nextFailure(rowsOf({ runs: [run("1", "finished")] }), { row: 0, cell: 0 })).toBeNull();
  });
});

it("an address says what of a plan is looked at", () => {
  expect(planSearch({ q: "", state: "failed", other: 1 })).toEqual({ state: ["failed"] });
  const chosen = withValue({ q: "x" }, { facet: "state", value: "failed", on: true });
  expect(chosen).toEqual({ q: "x", state: ["failed"] });
  expect(withValue(chosen, { facet: "state", value: "failed", on: false })).toEqual({ q: "x" });
});

it("a run that has ended is named by its outcome", () => {
  expect(endOf({ status: "failed", outcome: "out-of-memory" })).toBe("out-of-memory");
  expect(endOf({ status: "failed", outcome: null })).toBe("failed");
  expect(endOf({ status: "running", outcome: "finished" })).toBe("running");
});
