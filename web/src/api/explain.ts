// The server's findings about a run (docs/analysis.md): where its time went, what bounded it, which epochs differ.
import { useQueries, useQuery } from "@tanstack/react-query";
import { ApiError, getJson } from "./client";
import { kLate } from "./late";
import type { Phase } from "./types";

export interface TimePart {
  part: "leaf" | "start-up" | "untracked" | "shutdown";
  name: string;
  // The path of names; null if it is no leaf.
  type: string | null;
  kind: Phase["kind"] | null;
  seconds: number;
  // Part of the time that is explained, 0 to 1; all parts together are 1.
  share: number;
  phases: number;
}

export interface TimeWindow {
  from_ns: string;
  to_ns: string;
}

export interface SteadyPart extends TimeWindow {
  is_steady: boolean;
  // The unit that `steps` counts: epochs in a run without steps.
  unit: "step" | "epoch";
  // Why it is not: a clause.
  reason: string | null;
  left_out: number;
  steps: number;
  mean_s: number;
  deviation_s: number;
}

export interface Evidence {
  metric: string;
  source: string | null;
  mean: number;
  unit: string;
  points: number;
}

export interface Bottleneck {
  part: string;
  phase: string | null;
  share: number;
  resource: string;
  text: string;
  hint: string | null;
  evidence: Evidence[];
  unproven: { resource: string; metric: string; reason: string }[];
}

export interface SlowRank {
  rank: number;
  lane: string;
  late_s: number;
  share: number;
  steps: number;
  clock_error_s: number; // bound of the error of late_s; 0 among ranks of one host
  text: string;
}

// Bounds of a step's length, null where they do not apply; `reason`: why, or why the upper one is what was observed.
export interface Prediction {
  lower_s: number | null;
  upper_s: number | null;
  lower_ratio: number | null;
  upper_ratio: number | null;
  reason: string | null;
}

export interface WhatIf {
  unit: SteadyPart["unit"];
  step_s: number;
  steps: number;
  without_waits: Prediction;
  balanced_ranks: Prediction;
  text: string;
}

// A device of an imported trace.
export interface DeviceTime extends TimeWindow {
  device: string;
  busy_s: number;
  compute_s: number;
  communication_s: number;
  memory_s: number;
  // Computation and communication side by side.
  overlap_s: number;
  idle: { host_wait_s: number; kernel_wait_s: number; other_s: number; unknown_s: number };
  text: string;
}

export interface EpochAt extends TimeWindow {
  epoch: number;
}

export interface Regime {
  first: number;
  last: number;
  epochs: number;
  compared: boolean;
  alike: number;
  typical: EpochAt | null;
  median_s?: number;
  p10_s?: number;
  p90_s?: number;
}

export interface OddEpoch extends EpochAt {
  // The part of it that differs most; null: its length as a whole.
  leaf: string | null;
  seconds: number;
  usual_s: number;
}

export interface LaneOfEpochs {
  lane: string;
  epochs: number;
  left_out: number;
  regimes: Regime[];
  // The greatest difference first.
  odd: OddEpoch[];
  odd_epochs: number;
}

export interface LaneTimes {
  lane: string;
  trains: boolean;
  steps: number;
  start_up_s: number;
  untracked_s: number;
  shutdown_s: number;
  leaves: Pick<TimePart, "name" | "type" | "kind" | "seconds" | "phases">[];
}

export interface Finding extends TimeWindow {
  id: string;
  kind: "bottleneck" | "slow rank" | "odd epoch" | "region";
  lane: string | null;
  phase: string | null;
  seconds: number;
  share: number;
  text: string;
  hint: string | null;
}

export interface Explanation extends TimeWindow {
  provisional: boolean;
  summary: string;
  unseen: { part: string; reason: string }[];
  // The greatest share first.
  parts: TimePart[];
  steady: SteadyPart;
  bottleneck: Bottleneck | null;
  slow_rank: SlowRank | null;
  // null: without steps and epochs.
  what_if: WhatIf | null;
  epochs: LaneOfEpochs[];
  // The greatest first.
  findings: Finding[];
  devices: DeviceTime[];
  // Training lanes first.
  lanes: LaneTimes[];
}

// Milliseconds from one answer to the next question: more, the more phases the server has to read. A run with too many
// will not have fewer.
const kRest = 10_000;
const kRestPerPhase = 0.1;
const kRestOfTooMany = 600_000;

export function restOfExplanation(
  found: Pick<Explanation, "lanes"> | undefined,
  error: unknown,
): number {
  if (error instanceof ApiError && error.status === 413) return kRestOfTooMany;
  if (found === undefined) return kRest;
  const leaves = found.lanes.flatMap((lane) => lane.leaves);
  const phases = leaves.reduce((sum, leaf) => sum + leaf.phases, 0);
  return Math.max(kRest, phases * kRestPerPhase);
}

// live.ts asks again when there are new data.
const explanationOf = (id: string) => ({
  queryKey: ["explain", id],
  queryFn: ({ signal }: { signal: AbortSignal }) =>
    getJson<Explanation>(`/runs/${id}/explain`, {}, signal),
  ...kLate,
});

export const useExplanation = (id: string) => useQuery(explanationOf(id));

// In the order of the runs; undefined: no answer yet; null: none to be had.
export function useExplanations(ids: readonly string[]): (Explanation | null | undefined)[] {
  return useQueries({
    queries: ids.map(explanationOf),
    combine: (answers) => answers.map(({ data, error }) => data ?? (error ? null : undefined)),
  });
}
