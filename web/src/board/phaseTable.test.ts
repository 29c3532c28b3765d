import { expect, test } from "vitest";
import type { PathStatistics } from "./phase";
import { phaseRows, telling } from "./phaseTable";

const line = (path: string[], total: number, count = 10): PathStatistics => ({
  ...{ lane: "main", path, count, open: 0, total_s: total, mean_s: total / count },
  ...{ min_s: 0, max_s: total, share: total / 100 },
});
const normal = [
  line(["epoch"], 16),
  line(["epoch", "step"], 12),
  line(["epoch", "step", "data wait"], 0.5),
  line(["epoch", "step", "backward"], 4.5),
];
const slow = [
  line(["epoch"], 39),
  line(["epoch", "step"], 35),
  line(["epoch", "step", "data wait"], 23.5),
  line(["epoch", "step", "backward"], 5),
  line(["evaluation"], 1),
];

test("phases in which runs differ most come first, and the innermost of them is marked", () => {
  const rows = phaseRows([normal, slow]);
  expect(rows.map(({ name }) => name)).toEqual([
    "epoch",
    "step",
    "data wait",
    "evaluation",
    "backward",
  ]);
  expect(rows.map(({ apart }) => apart)).toEqual([23, 23, 23, 1, 0.5]);
  expect(telling(rows, [normal, slow])).toBe("data wait");
});

test("a run without a phase has no number for it", () => {
  const evaluation = phaseRows([normal, slow]).find(({ name }) => name === "evaluation");
  expect(evaluation?.of.map((one) => one?.total ?? null)).toEqual([null, 1]);
});

test("equal runs tell nothing", () => {
  expect(telling(phaseRows([normal, normal]), [normal, normal])).toBeUndefined();
});
