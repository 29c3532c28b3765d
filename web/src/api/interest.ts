// The interest of a run (docs/analysis.md): the stretches where metrics jumped, and its series, ranked.
import { useQueries } from "@tanstack/react-query";
import { nanos } from "../format/nanos";
import { secondsSince } from "../format/time";
import { getJson } from "./client";
import type { Finding, TimeWindow } from "./explain";
import { kLate } from "./late";
import type { Happening, MarkedNote } from "./notes";

export interface MovedMetric {
  metric: string;
  source: string | null;
  before: number;
  after: number;
  unit: string;
}

export interface Region extends TimeWindow {
  // It lasts until the series end.
  to_end: boolean;
  score: number;
  text: string;
  // The ten that moved most.
  moved: MovedMetric[];
  // Number of those that moved.
  metrics: number;
}

export type SeriesClass =
  | "constant"
  | "duplicate"
  | "trend"
  | "steps"
  | "periodic"
  | "bursts"
  | "noise";

export interface SeriesInterest {
  // null: the lengths of steps.
  series: number | null;
  metric: string;
  source: string | null;
  class: SeriesClass;
  // The series that a duplicate follows.
  of: number | null;
  // 0 to 1.
  interest: number;
}

export interface Interest extends TimeWindow {
  provisional: boolean;
  // The highest rank first.
  regions: Region[];
  // The greatest interest first.
  series: SeriesInterest[];
  left_out: number;
}

// In the order of the runs; undefined: no answer yet, or none to be had. live.ts asks again when there are new data.
export function useInterests(ids: readonly string[]): (Interest | undefined)[] {
  return useQueries({
    queries: ids.map((id) => ({
      queryKey: ["interest", id],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        getJson<Interest>(`/runs/${id}/interest`, {}, signal),
      ...kLate,
    })),
    combine: (answers) => answers.map(({ data }) => data),
  });
}

export const regionFinding = (region: Region): Finding => ({
  id: `region ${region.from_ns}`,
  kind: "region",
  lane: null,
  phase: null,
  from_ns: region.from_ns,
  to_ns: region.to_ns,
  seconds: secondsSince(region.to_ns, nanos(region.from_ns)),
  share: 0,
  text: region.text,
  hint: null,
});

// The begins of a run's regions, without those that a person dismissed.
export const regionBegins = (
  run: string,
  regions: readonly Region[],
  marks: ReadonlyMap<string, MarkedNote>,
): Happening[] =>
  regions
    .filter((region) => marks.get(regionFinding(region).id)?.mark !== "dismissed")
    .map(({ from_ns, moved }) => ({
      run,
      time_ns: from_ns,
      label: `jump of ${moved[0]?.metric ?? "metrics"}`,
    }));

const kBefore = 4n;

// The region and a quarter of its length before it, so that the jump at its begin is seen.
export function withItsBegin({ from_ns, to_ns }: TimeWindow, run: TimeWindow): TimeWindow {
  const [from, to, start] = [BigInt(from_ns), BigInt(to_ns), BigInt(run.from_ns)];
  const earlier = from - (to - from) / kBefore;
  return { from_ns: String(earlier > start ? earlier : start), to_ns };
}

export interface SortedOut {
  // Names of metrics, the most interesting first.
  metrics: string[];
  // Those of which every series follows another metric's.
  duplicates: ReadonlySet<string>;
}

// The series come sorted, so a metric stands where its most interesting series does.
export function sortedOut({ series }: Pick<Interest, "series">): SortedOut {
  const own = series.filter((one) => one.series !== null);
  const alone = new Set(own.filter((one) => one.class !== "duplicate").map(({ metric }) => metric));
  const metrics = [...new Set(own.map(({ metric }) => metric))];
  return { metrics, duplicates: new Set(metrics.filter((metric) => !alone.has(metric))) };
}
