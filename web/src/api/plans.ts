// Plans: what schedulers say of the experiment files that they execute.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getJson, sendJson } from "./client";
import type { Num, RunPage, RunSummaries } from "./types";

export type PlanState = "running" | "finished" | "failed" | "interrupted";

// One of the list.
export interface PlanSummary {
  id: string;
  // Time at which the server received it, by the server's clock.
  received_ns: string;
  file: string;
  host: string;
  state: PlanState;
  // When the scheduler wrote it, the host's clock.
  updated_ns: string;
  message: string;
  runs: number;
  workloads: number;
  // Runs by state.
  counts: Record<string, number>;
  experiments: string[];
}

// A run of a plan. Fields that the scheduler does not report are absent.
export interface PlanRun {
  key: string;
  experiment: string;
  workload: string;
  state: string;
  line?: number;
  repetition?: number;
  // Place of the workload in the order in which they run, from 1.
  turn?: number;
  name?: string;
  letter?: string;
  collocation?: string;
  devices?: string;
  model?: string;
  // Empty: it has not started.
  run?: string;
  // Why it failed, one line.
  reason?: string;
  tail?: string[];
}

export interface Plan {
  file: string;
  host: string;
  state: PlanState;
  updated_ns: string;
  message?: string;
  runs: PlanRun[];
}

export function usePlans(enabled = true) {
  return useQuery({
    enabled,
    queryKey: ["plans"],
    queryFn: ({ signal }) => getJson<{ plans: PlanSummary[] }>("/plans", {}, signal),
    select: (answer) => answer.plans,
  });
}

export function usePlan(id: string) {
  return useQuery({
    queryKey: ["plan", id],
    queryFn: ({ signal }) => getJson<Plan>(`/plans/${encodeURIComponent(id)}`, {}, signal),
  });
}

// A run that has ended, as far as a pace needs it; seconds of UTC.
export interface PacedRun {
  workload: string;
  start: number;
  end: number;
}

const kPaceRest = 20_000;
const kPaced = 200;

// The newest runs of a plan that have ended.
export function usePace(id: string, running: boolean): PacedRun[] {
  const answer = useQuery({
    queryKey: ["plan-pace", id],
    queryFn: async ({ signal }): Promise<PacedRun[]> => {
      const question = {
        where: { "tags.corral.plan": [id] },
        order: [{ by: "start", descending: true }],
        limit: kPaced,
      };
      const { runs } = await sendJson<RunPage>("POST", "/runs/search", question, signal);
      return runs.flatMap(({ workload_id, start_ns, end_ns }) =>
        end_ns === null
          ? []
          : [{ workload: workload_id, start: secondsOf(start_ns), end: secondsOf(end_ns) }],
      );
    },
    enabled: running,
    refetchInterval: kPaceRest,
    placeholderData: keepPreviousData,
  });
  return answer.data ?? kNone;
}

export interface PlanValue {
  value: Num;
  unit: string;
}

const kMostValues = 10_000;
const kValuesRest = 5000;

// A metric of the plan's runs: its last value, of a counter the mean rate. By the ids of the runs.
export function usePlanValues(
  plan: Pick<Plan, "runs" | "state">,
  metric: string,
): ReadonlyMap<string, PlanValue> {
  const ids = plan.runs.flatMap(({ run }) => (run ? [run] : [])).slice(-kMostValues);
  const answer = useQuery({
    queryKey: ["plan-values", metric, ids],
    queryFn: async ({ signal }) => {
      const question = { runs: ids, metrics: [metric], of: ["last", "mean"] };
      const found = await sendJson<RunSummaries>("POST", "/summaries", question, signal);
      return new Map(
        found.summaries.flatMap(({ run, values }) => {
          const one = values[metric];
          if (!one) return [];
          return [[run, { value: one.last ?? one.mean ?? null, unit: one.unit }] as const];
        }),
      );
    },
    enabled: metric !== "" && ids.length > 0,
    refetchInterval: plan.state === "running" ? kValuesRest : false,
    placeholderData: keepPreviousData,
  });
  return answer.data ?? kNoValues;
}

const kNoValues: ReadonlyMap<string, PlanValue> = new Map();

const secondsOf = (ns: string) => Number(BigInt(ns) / 1_000_000n) / 1000;
const kNone: PacedRun[] = [];
