// The critical path of the runs of a plan, workload or experiment, and their energy together (docs/analysis.md).
import { useQuery } from "@tanstack/react-query";
import { getJson } from "./client";
import type { RunGroupKind } from "./collocation";
import { kLate } from "./late";

export interface WorkflowStep {
  run: string;
  name: string;
  outcome: string;
  link: "first" | "after" | "repeat" | "turn";
  wait_s: number;
  seconds: number;
}

export interface UnfinishedRun {
  run: string;
  name: string;
  outcome: string;
  seconds: number;
  repeated_by: string | null;
}

export interface Workflow {
  provisional: boolean;
  summary: string;
  // The critical path.
  path: WorkflowStep[];
  stages: { stage: string; seconds: number; share: number }[];
  // Runs of the path that were not read.
  stages_left_out: number;
  // null: it is no plan.
  queue: { mean_s: number; longest: { run: string; name: string; wait_s: number }[] } | null;
  hosts: { host: string; seconds: number; idle_s: number }[];
  runs: { failed: number; interrupted: number };
  // At most 100 of them.
  not_finished: UnfinishedRun[];
  footprint: {
    runs: number;
    measured: number;
    joules: number | null;
    co2e_g: number | null;
    costs: { currency: string; total: number }[];
    modelled: boolean;
    // Runs that were not added.
    left_out: number;
    failed: { runs: number; joules: number | null };
  };
}

export function useWorkflow(kind: RunGroupKind, id: string | undefined) {
  return useQuery({
    queryKey: ["workflow", kind, id],
    queryFn: ({ signal }) =>
      getJson<Workflow>(`/${kind}s/${encodeURIComponent(id ?? "")}/workflow`, {}, signal),
    enabled: id !== undefined,
    ...kLate,
  });
}
