// The search for runs and the data of those found: facets, figures, sparklines, an experiment's overview. Their keys
// begin with what live events (live.ts) make out of date.
import { keepPreviousData, useQueries, useQuery } from "@tanstack/react-query";
import { useMemo, useRef } from "react";
import { getJson, sendJson } from "./client";
import type { Experiment, Metric, Num, Plain, Run, RunState, Status } from "./types";

// Selects runs. Lists in `where` are alternatives; "" is "not set".
export interface RunFilter {
  experiments?: string[];
  workloads?: string[];
  runs?: string[];
  // Without it active ones.
  state?: RunState;
  filter?: string;
  text?: string;
  where?: Record<string, string[]>;
}

export interface Order {
  by: string;
  descending: boolean;
}

// In which order, and with which figures, parameters and tags.
export interface RunList extends RunFilter {
  order?: Order[];
  columns?: string[];
  // Runs of the same value stand together.
  group?: string;
}

// Statistics of finite values.
export interface Spread {
  count: number;
  min: number;
  max: number;
  mean: number;
}
// Null: without any value.
export interface RunGroup {
  value: string;
  count: number;
  // By column, for metrics.
  values: Record<string, Spread | null>;
  duration: Spread | null;
  loss: Spread | null;
  loss_metric: string;
}

export interface FoundRun extends Run {
  values: Record<string, Plain>;
}

export interface FacetValue {
  value: string;
  count: number;
}
export interface FacetKey {
  key: string;
  values: FacetValue[];
  distinct: number;
}
export type Facets = Partial<
  Record<"status" | "collocation" | "device" | "model" | "host" | "creator", FacetValue[]>
> & { params?: FacetKey[]; tags?: FacetKey[] };

interface SearchAnswer {
  runs: FoundRun[];
  total: number;
  offset: number;
  facets?: Facets;
  // With `group`, at offset 0.
  groups?: RunGroup[];
}

export const kPage = 200;

const search = (body: object, signal?: AbortSignal) =>
  sendJson<SearchAnswer>("POST", "/runs/search", body, signal);

const pageQuery = (list: RunList, page: number) => ({
  queryKey: ["runs", "list", list, page],
  queryFn: ({ signal }: { signal: AbortSignal }) =>
    search({ ...list, limit: kPage, offset: page * kPage }, signal),
});

export interface RunRows {
  total: number;
  // undefined where the row has not come yet.
  at: (index: number) => FoundRun | undefined;
  loaded: () => FoundRun[];
  // In the order of the runs; undefined where nothing groups them.
  groups: RunGroup[] | undefined;
  // When the rows were read, milliseconds.
  readAt: number;
  pending: boolean;
  // These are the rows of the question before.
  stale: boolean;
  error: Error | null;
  retry: () => void;
}

type Shown = Pick<RunRows, "total" | "at" | "loaded" | "groups" | "readAt">;

// The rows of `list` on these pages and the first one. The rows of the question before stay until the first page of the
// new one has come.
export function useRunRows(list: RunList, wanted: readonly number[]): RunRows {
  const head = useQuery({ ...pageQuery(list, 0), placeholderData: keepPreviousData });
  const pages = useQueries({
    queries: wanted.filter((page) => page > 0).map((page) => pageQuery(list, page)),
    combine: combinePages,
  });
  const seen = useRef<{ list: RunList; pages: Map<number, FoundRun[]> }>({
    list,
    pages: new Map(),
  });
  const before = useRef<Shown>(kNothing);
  const data = head.isPlaceholderData ? undefined : head.data;
  const shown = useMemo(() => {
    if (data === undefined) return before.current;
    // Pages that scrolled out of sight stay readable, for ranges and "all".
    if (seen.current.list !== list) seen.current = { list, pages: new Map() };
    for (const page of [data, ...pages.data])
      seen.current.pages.set(page.offset / kPage, page.runs);
    const known = new Map(seen.current.pages);
    let all: FoundRun[] | undefined;
    before.current = {
      total: data.total,
      at: (index) => known.get(Math.floor(index / kPage))?.[index % kPage],
      loaded: () => {
        all ??= [...known].sort(([a], [b]) => a - b).flatMap(([, runs]) => runs);
        return all;
      },
      groups: data.groups,
      readAt: head.dataUpdatedAt,
    };
    return before.current;
  }, [data, pages.data, list, head.dataUpdatedAt]);
  return {
    ...shown,
    pending: head.isPending,
    stale: data === undefined,
    error: head.error ?? pages.error,
    retry: () => {
      void head.refetch();
      pages.retry();
    },
  };
}

const kNothing: Shown = {
  total: 0,
  at: () => undefined,
  loaded: () => [],
  groups: undefined,
  readAt: 0,
};

function combinePages(
  answers: {
    data: SearchAnswer | undefined;
    error: Error | null;
    isError: boolean;
    refetch: () => unknown;
  }[],
) {
  return {
    data: answers.flatMap((answer) => (answer.data ? [answer.data] : [])),
    error: answers.find((answer) => answer.error)?.error ?? null,
    retry: () => {
      for (const answer of answers) if (answer.isError) void answer.refetch();
    },
  };
}

// The run pinned as baseline, with the values of these columns; null: it was removed, or is in the trash.
export function useBaselineRun(id: string | undefined, columns: readonly string[]) {
  const answer = useQuery({
    enabled: id !== undefined,
    queryKey: ["runs", "baseline", id, columns],
    queryFn: ({ signal }) => search({ runs: [id], columns, limit: 1 }, signal),
    placeholderData: keepPreviousData,
  });
  return answer.data && (answer.data.runs[0] ?? null);
}

const kMost = 1000;

// The rows from `first` to `last`, without figures; not kept.
export async function rowsBetween(
  list: RunList,
  { first, last }: { first: number; last: number },
): Promise<FoundRun[]> {
  const { columns: _columns, ...question } = list;
  const out: FoundRun[] = [];
  while (first + out.length <= last) {
    const limit = Math.min(kMost, last + 1 - first - out.length);
    const { runs } = await search({ ...question, limit, offset: first + out.length });
    if (runs.length === 0) break;
    out.push(...runs);
  }
  return out;
}

// All runs of `list`, page by page; not kept.
export async function allRows(list: RunList): Promise<FoundRun[]> {
  const out: FoundRun[] = [];
  for (;;) {
    const page = await search({ ...list, limit: kMost, offset: out.length });
    out.push(...page.runs);
    if (page.runs.length === 0 || out.length >= page.total) return out;
  }
}

// The number of runs in the archive or the trash.
export function useHiddenCount(state: RunState): number {
  const answer = useQuery({
    queryKey: ["runs", "hidden", state],
    queryFn: ({ signal }) => search({ state, limit: 0 }, signal),
  });
  return answer.data?.total ?? 0;
}

const kFacetsAsked = [
  "status",
  "collocation",
  "device",
  "model",
  "host",
  "creator",
  "params",
  "tags",
];

// `enabled`: once the rows are there, which the reader waits for.
export function useFacets(filter: RunFilter, enabled: boolean) {
  return useQuery({
    enabled,
    queryKey: ["run-facets", filter],
    queryFn: ({ signal }) => search({ ...filter, facets: kFacetsAsked, limit: 1 }, signal),
    select: (answer) => answer.facets ?? {},
    placeholderData: keepPreviousData,
  });
}

const kOldestFirst = [{ by: "start", descending: false }];

// The first `most` (at most 1,000) runs of a workload, oldest first, and how many there are.
export function useFirstRuns(filter: RunFilter, most: number) {
  return useQuery({
    queryKey: ["run-tree", filter, most],
    queryFn: ({ signal }) => search({ ...filter, order: kOldestFirst, limit: most }, signal),
    placeholderData: keepPreviousData,
  });
}

export interface Sparkline {
  metric: string;
  y: (number | null)[];
  first: Num;
  last: Num;
  min: Num;
  max: Num;
}

const kBlock = 50;
const kPoints = 32;
const kSparklineRest = 10_000;

type SparklineAnswer = { asked: string; sparklines: Record<string, Sparkline | null> };

// null: has none; undefined: not come yet.
export type SparklineOf = (metric: string, run: string) => Sparkline | null | undefined;

// The sparklines of the visible rows, requested in blocks with fixed boundaries, so that scrolling by a row keeps them.
// A metric "" is each run's own loss.
export function useSparklines(
  rows: Pick<RunRows, "at" | "total">,
  sight: { first: number; last: number },
  metrics: readonly string[],
): SparklineOf {
  const blocks = useMemo(() => {
    const out: Run[][] = [];
    for (let from = Math.floor(sight.first / kBlock) * kBlock; from <= sight.last; from += kBlock) {
      const indices = Array.from(
        { length: Math.min(kBlock, rows.total - from) },
        (_, i) => from + i,
      );
      const runs = indices.flatMap((index) => rows.at(index) ?? []);
      if (runs.length > 0) out.push(runs);
    }
    return out;
  }, [rows.at, rows.total, sight.first, sight.last]);
  return useQueries({
    queries: metrics.flatMap((metric) => blocks.map((runs) => sparklineQuery(metric, runs))),
    combine: combineSparklines,
  });
}

function sparklineQuery(metric: string, runs: readonly Run[]) {
  const ids = runs.map((run) => run.id);
  const running = runs.filter((run) => run.status === "running").map((run) => run.id);
  return {
    // A run that ends is asked for once more.
    queryKey: ["sparklines", metric, ids, running],
    queryFn: async ({ signal }: { signal: AbortSignal }): Promise<SparklineAnswer> => {
      const body = { runs: ids, points: kPoints, ...(metric === "" ? {} : { metric }) };
      const { sparklines } = await sendJson<SparklineAnswer>("POST", "/sparklines", body, signal);
      return { asked: metric, sparklines };
    },
    refetchInterval: running.length > 0 ? kSparklineRest : (false as const),
    placeholderData: keepPreviousData,
  };
}

function combineSparklines(answers: { data: SparklineAnswer | undefined }[]): SparklineOf {
  const all = new Map<string, Record<string, Sparkline | null>>();
  for (const { data } of answers)
    if (data) all.set(data.asked, { ...all.get(data.asked), ...data.sparklines });
  return (metric, run) => all.get(metric)?.[run];
}

export interface OverviewRun {
  id: string;
  name: string;
  status: Status;
  model: string;
  value: Num;
  duration_s: number | null;
  start_ns: string;
}
export interface OverviewWorkload {
  id: string;
  name: string | null;
  collocation: string;
  runs: OverviewRun[];
}
export interface Overview {
  experiment: Experiment;
  workloads: OverviewWorkload[];
  collocations: string[];
  unit: string;
}

const kSample = 4;
const kLongestFirst = [{ by: "duration", descending: true }];

// The longest runs of an experiment: their metrics are the choice.
export const sampleQuery = (experiment: string) => ({
  queryKey: ["run-tree", "sample", experiment],
  queryFn: ({ signal }: { signal: AbortSignal }) =>
    search({ experiments: [experiment], order: kLongestFirst, limit: kSample }, signal).then(
      (answer) => answer.runs,
    ),
});

export function useOverview(
  experiment: string,
  shown: { metric: string; of: string },
  enabled: boolean,
) {
  return useQuery({
    enabled,
    queryKey: ["runs", "overview", experiment, shown],
    queryFn: ({ signal }) =>
      getJson<Overview>(
        `/experiments/${encodeURIComponent(experiment)}/overview`,
        { ...shown },
        signal,
      ),
    placeholderData: keepPreviousData,
  });
}

// Names of the metrics that these few runs have, sorted, and their units.
export function useMetricNames(ids: readonly string[]): { name: string; group: string }[] {
  return useQueries({
    queries: ids.map((id) => ({
      queryKey: ["metrics", id],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        getJson<{ metrics: Metric[] }>(`/runs/${id}/metrics`, {}, signal),
    })),
    combine: combineNames,
  });
}

function combineNames(answers: { data: { metrics: Metric[] } | undefined }[]) {
  const names = new Map<string, string>();
  for (const { data } of answers)
    for (const { name, group } of data?.metrics ?? []) names.set(name, group);
  return [...names]
    .map(([name, group]) => ({ name, group }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}
