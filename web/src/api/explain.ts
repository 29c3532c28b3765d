// The server's findings about a run (docs/analysis.md): where its time went, what bounded it, which epochs differ.
import { keepPreviousData, useQueries, useQuery } from "@tanstack/react-query";
import { getJson } from "./client";
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

export interface Explanation extends TimeWindow {
  provisional: boolean;
  summary: string;
  unseen: { part: string; reason: string }[];
  // The greatest share first.
  parts: TimePart[];
  steady: SteadyPart;
  bottleneck: Bottleneck | null;
  slow_rank: SlowRank | null;
  epochs: LaneOfEpochs[];
  // Training lanes first.
  lanes: LaneTimes[];
}

// While a run is running it is asked for again: after so many ms, longer the more phases the server has to read.
const kAgain = 10_000;
const kMsPerPhase = 0.1;

export function againAfter(found: Pick<Explanation, "parts"> | undefined): number {
  const phases = found?.parts.reduce((sum, part) => sum + part.phases, 0) ?? 0;
  return Math.max(kAgain, phases * kMsPerPhase);
}

const explanationOf = ({ id, running }: { id: string; running: boolean }) => ({
  queryKey: ["explain", id, running],
  queryFn: ({ signal }: { signal: AbortSignal }) =>
    getJson<Explanation>(`/runs/${id}/explain`, {}, signal),
  placeholderData: keepPreviousData,
  refetchInterval: ({ state }: { state: { data: Explanation | undefined } }) =>
    running ? againAfter(state.data) : (false as const),
});

export function useExplanation(id: string, running: boolean) {
  return useQuery(explanationOf({ id, running }));
}

// In the order of the runs; undefined: no answer yet, or none to be had.
export function useExplanations(
  runs: readonly { id: string; running: boolean }[],
): (Explanation | undefined)[] {
  return useQueries({
    queries: runs.map(explanationOf),
    combine: (answers) => answers.map(({ data }) => data),
  });
}
