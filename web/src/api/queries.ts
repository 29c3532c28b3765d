// Every question the page asks of the server, with its key. Live events (live.ts) make answers stale by
// these keys.
import {
  QueryClient,
  type QueryFunctionContext,
  useQueries,
  useQuery,
} from "@tanstack/react-query";
import { ApiError, getJson } from "./client";
import { newerPhases, type PhaseList } from "./phases";
import type { Experiment, Metric, Phase, RunDetail, RunPage, Workload } from "./types";

export function makeQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        // A retry helps only if the server did not answer or was busy.
        retry: (count, error) => error instanceof ApiError && error.status === 503 && count < 3,
        refetchOnWindowFocus: false,
        staleTime: 30_000,
        networkMode: "always",
      },
    },
  });
}

// A text that the page keeps on the server: the id is that of its content, so that the answer never gets old.
export const viewKey = (id: string | undefined) => ["view", id];

export function useStoredView(id: string | undefined) {
  return useQuery({
    queryKey: viewKey(id),
    queryFn: ({ signal }) => getJson<{ state: string }>(`/views/${id}`, {}, signal),
    enabled: id !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
  });
}

export function useExperiments(enabled = true) {
  return useQuery({
    enabled,
    queryKey: ["experiments"],
    queryFn: ({ signal }) => getJson<{ experiments: Experiment[] }>("/experiments", {}, signal),
    select: (answer) => answer.experiments,
  });
}

export function useWorkloads(experiment: string, enabled: boolean) {
  return useQuery({
    queryKey: ["workloads", experiment],
    queryFn: ({ signal }) =>
      getJson<{ workloads: Workload[] }>("/workloads", { experiment }, signal),
    select: (answer) => answer.workloads,
    enabled,
  });
}

export const runsOfWorkload = (workload: string | undefined) => ({
  queryKey: ["workload-runs", workload],
  queryFn: ({ signal }: { signal: AbortSignal }) =>
    getJson<RunPage>("/runs", { workload, limit: 200 }, signal),
});

export function useWorkloadRuns(workload: string | undefined) {
  return useQuery({
    ...runsOfWorkload(workload),
    enabled: workload !== undefined,
    select: (page) => page.runs,
  });
}

const runQuery = (id: string) => ({
  queryKey: ["run", id],
  queryFn: ({ signal }: { signal: AbortSignal }) =>
    getJson<RunDetail>(`/runs/${encodeURIComponent(id)}`, {}, signal),
});

// Neither shown nor kept: it was removed, maybe while it was shown.
const isGone = ({ error }: { error: Error | null }) =>
  error instanceof ApiError && error.status === 404;

export function useRun(id: string) {
  const answer = useQuery(runQuery(id));
  return isGone(answer) ? { ...answer, data: undefined } : answer;
}

// The other runs that are drawn along.
export function useOtherRuns(ids: readonly string[]): RunDetail[] {
  return useQueries({
    queries: ids.map(runQuery),
    combine: (answers) =>
      answers.flatMap((answer) => (answer.data && !isGone(answer) ? [answer.data] : [])),
  });
}

export interface NamedRuns {
  runs: RunDetail[];
  pending: boolean;
  // Names that no answer came for.
  missing: string[];
  error: Error | null;
}

// The runs that an address names.
export function useNamedRuns(names: readonly string[]): NamedRuns {
  return useQueries({
    queries: names.map(runQuery),
    combine: (answers) => ({
      runs: answers.flatMap((answer) => (isGone(answer) ? [] : (answer.data ?? []))),
      pending: answers.some((answer) => answer.isPending),
      missing: names.filter((_, i) => {
        const answer = answers[i];
        return answer?.isError && (!answer.data || isGone(answer));
      }),
      error: answers.find((one) => one.isError && (!one.data || isGone(one)))?.error ?? null,
    }),
  });
}

export interface Loaded<T> {
  byRun: Record<string, T[]>;
  pending: boolean;
  error: Error | null;
}

export function combineBy<T>(ids: readonly string[]) {
  return (
    answers: { data: T[] | undefined; isPending: boolean; error: Error | null }[],
  ): Loaded<T> => ({
    byRun: Object.fromEntries(
      ids.flatMap((id, i) => (answers[i]?.data ? [[id, answers[i].data]] : [])),
    ),
    pending: answers.some((answer) => answer.isPending),
    error: answers.find((answer) => answer.error)?.error ?? null,
  });
}

export function useMetrics(ids: readonly string[]): Loaded<Metric> {
  return useQueries({
    queries: ids.map((id) => ({
      queryKey: ["metrics", id],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        getJson<{ metrics: Metric[] }>(`/runs/${id}/metrics`, {}, signal),
      select: (answer: { metrics: Metric[] }) => answer.metrics,
    })),
    combine: combineBy<Metric>(ids),
  });
}

export function usePhases(ids: readonly string[]): Loaded<Phase> {
  return useQueries({
    queries: ids.map((id) => ({
      queryKey: ["phases", id],
      queryFn: ({ client, queryKey, signal }: QueryFunctionContext) =>
        newerPhases(client.getQueryData<PhaseList>(queryKey), (from_ns) =>
          getJson<PhaseList>(`/runs/${id}/phases`, { from_ns }, signal),
        ),
      select: (answer: PhaseList) => answer.phases,
    })),
    combine: combineBy<Phase>(ids),
  });
}
