// Everything the page of a run shows, gathered from server, event stream and address; and how a choice goes
// back into the address.
import { useComputedColorScheme } from "@mantine/core";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useMemo, useRef } from "react";
import { useLive } from "../../api/live";
import { useMetrics, useOtherRuns, usePhases, useWorkloadRuns } from "../../api/queries";
import type { RunDetail } from "../../api/types";
import { type RunSearch, runSearch } from "../../app/search";
import { type ChartTheme, kDark, kLight } from "../../charts/theme";
import { buildCharts, defaultCharts, drawnAlong, fullRange, shownRun } from "./model";
import type { Gestures, Range } from "./pointer";

const route = getRouteApi("/runs/$id");

// undefined takes a part out of the address.
type Change = { [Part in keyof RunSearch]?: RunSearch[Part] | undefined };

export function useChartTheme(): ChartTheme {
  const scheme = useComputedColorScheme("light", { getInitialValueInEffect: false });
  return scheme === "dark" ? kDark : kLight;
}

function useAddress() {
  const search = route.useSearch();
  const navigate = useNavigate({ from: "/runs/$id" });
  // From the address as it is by then: two quick choices both count.
  const change = (part: (old: RunSearch) => Change, replace: boolean) =>
    void navigate({
      search: (old) => runSearch({ ...old, ...part(runSearch(old)) }),
      replace,
      resetScroll: false,
    });
  return { search, change };
}

// All runs of the workload by start: their places give their colours.
function useSiblings(run: RunDetail) {
  const answer = useWorkloadRuns(run.neighbours.length > 0 ? run.workload_id : undefined);
  return useMemo(() => {
    const known: { id: string; name: string; start_ns?: string }[] = answer.data ?? [
      run,
      ...run.neighbours,
    ];
    const start = (other: { start_ns?: string }) => BigInt(other.start_ns ?? run.start_ns);
    return [...known].sort((a, b) => {
      const [x, y] = [start(a), start(b)];
      return x < y ? -1 : x > y ? 1 : a.id < b.id ? -1 : 1;
    });
  }, [answer.data, run]);
}

// This run and those drawn along, in the order of their colours.
function useShown(run: RunDetail, withIds: readonly string[], originNs: bigint) {
  const siblings = useSiblings(run);
  const others = useOtherRuns(withIds);
  const shown = useMemo(() => {
    const index = (id: string) => siblings.findIndex((other) => other.id === id);
    return [run, ...others.filter((other) => other.id !== run.id)]
      .map((one) => shownRun(one, Math.max(0, index(one.id)), originNs))
      .sort((a, b) => a.index - b.index);
  }, [run, others, siblings, originNs]);
  return { siblings, shown };
}

export function useRunView(run: RunDetail) {
  const { search, change } = useAddress();
  const withIds = useStable(search.with?.filter((id) => id !== "") ?? drawnAlong(run));
  const originNs = BigInt(run.workload_start_ns);
  const { siblings, shown } = useShown(run, withIds, originNs);
  const ids = useMemo(() => shown.map((one) => one.id), [shown]);
  const metrics = useMetrics(ids);
  const phases = usePhases(ids);
  const revision = useLive((live) => ids.reduce((sum, one) => sum + (live.revisions[one] ?? 0), 0));
  const full = fullRange(shown);
  const range = useRange(search, full);
  const charts = useMemo(() => buildCharts(shown, metrics.byRun), [shown, metrics.byRun]);
  const chosen = useMemo(
    () => new Set(search.metric ?? defaultCharts(charts)),
    [search.metric, charts],
  );
  const drawn = useStable(charts.filter((chart) => chosen.has(chart.name)));
  const zoomedIn = search.from !== undefined;
  const live = shown.some((one) => one.running);
  const gestures: Gestures = {
    range,
    full,
    // A step of its own in the history: Back is the view before.
    zoom: (to) => change(() => ({ from: round(to?.from), to: round(to?.to) }), false),
  };
  return {
    originNs,
    siblings,
    shown,
    metrics,
    phases,
    charts,
    chosen,
    drawn,
    gestures,
    zoomedIn,
    live,
    revision,
    chartRevision: chartRevision({ revision, live, zoomedIn, range, full }),
    defaultChoice: search.metric === undefined,
    chooseRun: (id: string, on: boolean) =>
      change((old) => {
        const now = switched(old.with ?? drawnAlong(run), id, on);
        // No other run is a choice too, told from the default by an empty id.
        return { with: now.length === 0 ? [""] : now };
      }, true),
    chooseMetric: (name: string, on: boolean) =>
      change((old) => {
        const now = switched(old.metric ?? defaultCharts(charts), name, on);
        // No chart at all is a choice too, told from the default by an empty name.
        return { metric: now.length === 0 ? [""] : now };
      }, true),
    resetMetrics: () => change(() => ({ metric: undefined }), true),
  };
}

export type RunView = ReturnType<typeof useRunView>;

function switched(names: readonly string[], name: string, on: boolean): string[] {
  const rest = names.filter((other) => other !== name && other !== "");
  return on ? [...rest, name] : rest;
}

const round = (seconds: number | undefined) =>
  seconds === undefined ? undefined : Number(seconds.toFixed(6));
// Unzoomed and running, the range itself moves with the data and asks anew; a range that ends long before now
// has its last answer.
function chartRevision(at: {
  revision: number;
  live: boolean;
  zoomedIn: boolean;
  range: Range;
  full: Range;
}): number {
  const { revision, live, zoomedIn, range, full } = at;
  if (!zoomedIn) return live ? 0 : revision;
  return range.to < full.to - (full.to - full.from) * 0.02 ? 0 : revision;
}

function useRange(search: RunSearch, full: Range): Range {
  const from = search.from ?? full.from;
  const to = search.to ?? full.to;
  return useMemo(() => ({ from, to }), [from, to]);
}

// The same array as long as it says the same, so that pictures are not drawn anew at every metrics answer.
function useStable<T>(value: T): T {
  const kept = useRef({ text: JSON.stringify(value), value });
  const text = JSON.stringify(value);
  if (kept.current.text !== text) kept.current = { text, value };
  return kept.current.value;
}
