// The clocks of a run's hosts, as they were measured against the server's.
import { useQueries } from "@tanstack/react-query";
import { getJson } from "./client";
import type { RunDetail } from "./types";

export interface ClockPoint {
  at: number; // by the host's clock, seconds since 1970
  offset: number; // the server's clock minus the host's, s
  error: number; // the true offset differs by at most this, s
}

export interface HostClock {
  host: string;
  ranks: number[]; // that logged on it; one that started again elsewhere is on several
  points: ClockPoint[]; // at least one, by time
}

export interface RunClocks {
  first: string | null; // the host by whose clock the run is shown
  clocks: HostClock[];
}

interface Answer {
  first: string | null;
  clocks: {
    host: string;
    ranks: number[];
    points: { time_ns: string; offset_s: number; error_s: number }[];
  }[];
}

const parsed = ({ first, clocks }: Answer): RunClocks => ({
  first,
  clocks: clocks.map(({ points, ...clock }) => ({
    ...clock,
    points: points.map(({ time_ns, offset_s, error_s }) => ({
      at: Number(time_ns) / 1e9,
      offset: offset_s,
      error: error_s,
    })),
  })),
});

const kNone: Readonly<Record<string, RunClocks>> = {};
const kPause = 16_000; // between two measurements, ms

const hasHosts = ({ members = [] }: RunDetail): boolean =>
  new Set(members.map(({ host }) => host)).size > 1;

// By run, of those with several hosts.
export function useClocks(runs: readonly RunDetail[]): Readonly<Record<string, RunClocks>> {
  return useQueries({
    queries: runs.filter(hasHosts).map(({ id, status }) => ({
      queryKey: ["clocks", id],
      queryFn: async ({ signal }: { signal: AbortSignal }) => ({
        id,
        clocks: parsed(await getJson<Answer>(`/runs/${id}/clocks`, {}, signal)),
      }),
      refetchInterval: status === "running" ? kPause : (false as const),
    })),
    combine: (answers): Readonly<Record<string, RunClocks>> => {
      const known = answers.flatMap(({ data }) => (data ? [[data.id, data.clocks] as const] : []));
      return known.length === 0 ? kNone : Object.fromEntries(known);
    },
  });
}
