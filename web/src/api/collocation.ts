// Runs beside others against the same alone (docs/shared-hardware.md).
import { useQuery } from "@tanstack/react-query";
import { getJson } from "./client";
import type { Ratio } from "./compare";
import { kLate } from "./late";

export const kRunGroups = ["plan", "workload", "experiment"] as const;
export type RunGroupKind = (typeof kRunGroups)[number];

export interface Gains {
  throughput: number | null;
  turnaround: number | null;
  fairness: number | null;
  speedup: number | null;
  energy: number | null;
}

export interface AloneJob {
  host: string;
  // null: all of the hardware.
  place: string | null;
  n: number;
  step_s: number;
  duration_s: number;
  watts: number | null;
}

export interface Slowdown extends Omit<Ratio, "ratio"> {
  job: string;
  place: string | null;
  host: string;
  beside: string[];
  slowdown: number | null;
  n_alone: number;
  n_together: number;
}

// Cells of the same jobs, shared in the same way.
export interface Configuration extends Gains {
  sharing: string;
  jobs: string[];
  places: string[];
  hosts: string[];
  cells: number;
  measured: number;
  slowdowns: Slowdown[];
}

export interface PlacedRun {
  id: string;
  name: string;
  job: string;
  host: string;
  place: string | null;
  outcome: string;
  step_s: number | null;
  not_steady: string | null;
  slowdown: number | null;
  capacity: number | null;
  interference: number | null;
}

export interface Cell extends Gains {
  workload: string;
  sharing: string;
  runs: PlacedRun[];
  // Why it is not measured.
  reason: string | null;
}

export interface Collocation {
  jobs: { job: string; what: string; alone: AloneJob[] }[];
  configurations: Configuration[];
  cells: Cell[];
  // Runs alone that are not measured.
  unmeasured: { run: PlacedRun; reason: string }[];
  missing: string[];
}

export function useCollocation(kind: RunGroupKind, id: string | undefined, job?: string) {
  return useQuery({
    queryKey: ["collocation", kind, id, job],
    queryFn: ({ signal }) =>
      getJson<Collocation>(
        `/${kind}s/${encodeURIComponent(id ?? "")}/collocation`,
        { job },
        signal,
      ),
    enabled: id !== undefined,
    ...kLate,
  });
}
