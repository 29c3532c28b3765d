// Groups of runs compared with the first one (docs/compare.md), and how a value changed from run to run
// (docs/history.md).
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { sendJson } from "./client";
import { kLate } from "./late";
import type { Status } from "./types";

// `named`: a name of runs, a run, a workload or a filter; the server tells them apart.
export type GroupQuestion = { named: string } | { runs: string[]; name: string };
export const kStatistics = ["mean", "min", "max", "last"] as const;
export type Statistic = (typeof kStatistics)[number];

export interface CompareQuestion {
  groups: GroupQuestion[];
  margin?: number;
  by?: string;
  value?: string;
  of?: Statistic;
  // Instead of a value; not of histories.
  target?: string;
  // Histories only: which values of a metric are better, and limits.
  better?: "less" | "greater";
  at_least?: number;
  at_most?: number;
}

// Runs that count once together.
export interface ComparedUnit {
  name: string;
  runs: { id: string; name: string; status: Status }[];
  value: number | null;
  // Why it has no value.
  reason: string | null;
  // For how long it tried to reach the target in vain.
  missed_s: number | null;
}

export interface ComparedGroup {
  name: string;
  // Units with a value.
  n: number;
  mean: number | null;
  min: number | null;
  max: number | null;
  unit: string;
  warnings: string[];
  units: ComparedUnit[];
}

export type Verdict =
  | "greater"
  | "less"
  | "equivalent"
  | "different within the margin"
  | "inconclusive"
  | "too few"
  | "unequal budgets";

export interface Ratio {
  ratio: number | null;
  low: number | null;
  high: number | null;
}

export interface SetUpDifference {
  part: string;
  key: string;
  a: string;
  b: string;
}

export interface Difference extends Ratio {
  a: string;
  b: string;
  verdict: Verdict;
  text: string;
  warnings: string[];
  parts: { name: string; type: string | null; a_s: number; b_s: number; apart: boolean }[];
  metrics: { metric: string; source: string | null; a: number; b: number; unit: string }[];
  set_up: SetUpDifference[];
  set_up_left_out: number;
}

export interface Comparison {
  value: string;
  // null: of times to a target, which have no ratios either.
  margin: number | null;
  margin_planned: boolean;
  confidence: number;
  // Comparisons that the intervals and verdicts are corrected for.
  family: number;
  groups: ComparedGroup[];
  differences: Difference[];
}

export interface HistoryUnit {
  name: string;
  runs: string[];
  commit: string | null;
  start_ns: string;
  value: number | null;
  // A value that is not above 0, which limits judge and changes do not.
  measured: number | null;
  reason: string | null;
  outlier: boolean;
  // A limit.
  beyond: boolean;
  segment: number | null;
}

// `first`, `last`, `last_before` and `first_after` are places in the units.
export interface HistorySegment {
  first: number;
  last: number;
  n: number;
  mean: number;
  low: number | null;
  high: number | null;
}

export interface HistoryChange extends Ratio {
  segment: number;
  last_before: number;
  first_after: number;
  text: string;
  confirmed: boolean;
  worse: boolean | null;
  set_up: SetUpDifference[];
}

export interface RunHistory {
  name: string;
  unit: string | null;
  units: HistoryUnit[];
  segments: HistorySegment[];
  changes: HistoryChange[];
  newest: HistoryChange | null;
}

export interface Histories {
  value: string;
  margin: number;
  at_least: number | null;
  at_most: number | null;
  histories: RunHistory[];
}

// The server tells when a run ends, but not when one that runs on reaches a target.
const kRest = 30_000;

const isOnItsWay = (unit: ComparedUnit) =>
  unit.value === null && unit.runs.some(({ status }) => status === "running");

const aboutGroups = <T>(path: "/compare" | "/history", question: CompareQuestion | null) => ({
  queryKey: [path, question],
  queryFn: ({ signal }: { signal: AbortSignal }) => sendJson<T>("POST", path, question, signal),
  enabled: question !== null,
  placeholderData: keepPreviousData<T>,
  ...kLate,
});

export const useComparison = (question: CompareQuestion | null) =>
  useQuery({
    ...aboutGroups<Comparison>("/compare", question),
    refetchInterval: ({ state: { data } }) =>
      question?.target !== undefined &&
      data?.groups.some(({ units }) => units.some(isOnItsWay)) === true &&
      kRest,
  });

export const useHistories = (question: CompareQuestion | null) =>
  useQuery(aboutGroups<Histories>("/history", question));
