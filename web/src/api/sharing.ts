// Sharing within a workload: the lanes of devices, MIG instances, CPUs and hosts, which the server derives from the
// runs' tags.
import { keepPreviousData, useQueries } from "@tanstack/react-query";
import { getJson } from "./client";
import type { Num } from "./types";

// A metric over the time alone or shared; null: no points there.
export interface ShareMean {
  mean: Num;
  covered_s: number;
}

interface ShareFigures {
  alone_s: number;
  shared_s: number;
  alone: ShareMean;
  shared: ShareMean;
}

export interface SharingRun extends ShareFigures {
  id: string;
  name: string;
  // True for runs of this workload, false for runs that overlapped it.
  own: boolean;
  workload_id: string;
  workload: string | null;
  status: string;
  outcome: string | null;
  collocation: string | null;
  letter: string | null;
  host: string;
  start_ns: string;
  end_ns: string;
  // Places in the list of runs.
  with: number[];
}

export interface SharingLane extends ShareFigures {
  kind: "device" | "instance" | "cpus" | "host";
  name: string;
  host: string;
  // The device of a MIG instance; null for others.
  device: string | null;
  profile: string | null;
  stays: { run: number; start_ns: string; end_ns: string }[];
  overlaps: { start_ns: string; end_ns: string; runs: number[] }[];
  idle_s: number;
}

export interface Sharing {
  workload_id: string;
  workload: string | null;
  from_ns: string;
  to_ns: string;
  metric: string | null;
  unit: string;
  runs: SharingRun[];
  lanes: SharingLane[];
}

const kLiveRest = 5000;

// Sharing in workloads with at least one run whose device, CPUs or host is known; `live`: one of their runs has not
// ended.
export function useSharing(workloads: readonly string[], metric: string, live: boolean): Sharing[] {
  return useQueries({
    queries: workloads.map((id) => ({
      queryKey: ["sharing", id, metric],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        getJson<Sharing>(
          `/workloads/${id}/sharing`,
          { metric: metric === "" ? undefined : metric },
          signal,
        ),
      refetchInterval: live ? kLiveRest : (false as const),
      placeholderData: keepPreviousData,
    })),
    combine: (answers) => answers.flatMap(({ data }) => (data ? [data] : [])),
  });
}
