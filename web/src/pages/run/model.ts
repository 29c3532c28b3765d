// From what the server says of the shown runs to what the page draws: charts with their lines, the metric
// list in groups, the default choice, the full range. Pure.
import { finite, type Metric, type Run, type RunDetail } from "../../api/types";
import { secondsSince } from "../../format/time";

export interface ShownRun {
  id: string;
  name: string;
  // Place among the workload's runs by start: the same in every chart and session.
  index: number;
  // Seconds since the workload's start; `end` is the newest known time while it runs.
  start: number;
  end: number;
  running: boolean;
}

export interface LineDef {
  // Lines with the same key are switched on and off together.
  key: string;
  label: string;
  series: number;
  // Index into the palette; null for what belongs to the host as a whole, drawn in ink.
  colour: number | null;
  dash: number;
  // Seconds between points over the series' life, 0 when unknown.
  spacing: number;
}

export interface ChartDef {
  name: string;
  unit: string;
  group: string;
  description: string;
  flat: boolean;
  lines: LineDef[];
  // How many more there are, of devices that did less.
  left: number;
}

export const kGroups = [
  "software",
  "cpu",
  "memory",
  "io",
  "network",
  "pressure",
  "scheduler",
  "collector",
];

export function shownRun(run: Run, index: number, originNs: bigint): ShownRun {
  const start = secondsSince(run.start_ns, originNs);
  const known =
    run.end_ns === null ? start + (run.duration_s ?? 0) : secondsSince(run.end_ns, originNs);
  return {
    id: run.id,
    name: run.name,
    index,
    start,
    end: known,
    running: run.status === "running",
  };
}

// As many runs as a picture holds without a choice.
export const kMostDrawn = 4;

// Which of its workload's runs are drawn along before anyone chooses: collocated runs are looked at together.
export function drawnAlong(run: Pick<RunDetail, "neighbours">): string[] {
  return run.neighbours.length < kMostDrawn ? run.neighbours.map(({ id }) => id) : [];
}

// All that the shown runs span. The server's ranges are half open, so a hair is added for the last point.
export function fullRange(runs: readonly ShownRun[]): { from: number; to: number } {
  const from = Math.min(...runs.map((run) => run.start));
  const to = Math.max(...runs.map((run) => run.end));
  const span = Math.max(to - from, 0.001);
  return { from, to: from + span * 1.0005 };
}

function isFlat(metric: Metric): boolean {
  if (metric.group === "software") return false;
  const [min, max] = [finite(metric.min), finite(metric.max)];
  return min === null || max === null || min === max;
}

// Seconds from the first point to the last.
function lifeOf({ first_ns, last_ns }: Metric): number {
  return first_ns === null || last_ns === null ? 0 : secondsSince(last_ns, BigInt(first_ns));
}

function spacingOf(metric: Metric): number {
  return metric.points < 2 ? 0 : lifeOf(metric) / (metric.points - 1);
}

interface Entry {
  metric: Metric;
  run: ShownRun;
}

const kMostDevices = 8;

// How much a series had to say: of a counter its growth, else its mean.
function weight({ kind, min, max, mean }: Metric): number {
  return kind === "counter" ? (finite(max) ?? 0) - (finite(min) ?? 0) : Math.abs(finite(mean) ?? 0);
}

// Of many devices the busiest, in their own order.
function busiest(entries: Entry[]): Entry[] {
  const devices = entries.some(({ metric }) => metric.source !== "");
  if (!devices || entries.length <= kMostDevices) return entries;
  const chosen = new Set(
    entries.toSorted((a, b) => weight(b.metric) - weight(a.metric)).slice(0, kMostDevices),
  );
  return entries.filter((entry) => chosen.has(entry));
}

// Charts by metric name; the lines of one are runs × sources, in the runs' order. A workload's series comes
// with each of its runs and is drawn once.
export function buildCharts(
  runs: readonly ShownRun[],
  metrics: Readonly<Record<string, Metric[]>>,
): ChartDef[] {
  const byName = new Map<string, Entry[]>();
  const seen = new Set<number>();
  for (const run of runs) {
    for (const metric of metrics[run.id] ?? []) {
      if (seen.has(metric.series)) continue;
      seen.add(metric.series);
      const entries = byName.get(metric.name) ?? [];
      byName.set(metric.name, entries);
      entries.push({ metric, run });
    }
  }
  const charts = [...byName].map(([name, all]) => {
    const entries = busiest(all);
    const { metric } = entries[0] as Entry;
    const sources = [...new Set(entries.map((e) => e.metric.source))].sort(naturalOrder);
    const lines = entries
      .map((entry) => lineOf(entry, sources, runs.length))
      .sort((a, b) => (a.colour ?? -1) - (b.colour ?? -1) || a.dash - b.dash);
    return {
      name,
      unit: metric.kind === "counter" ? (metric.rate_unit ?? perSecond(metric.unit)) : metric.unit,
      group: kGroups.includes(metric.group) ? metric.group : "software",
      description: metric.description,
      flat: all.every((e) => isFlat(e.metric)),
      lines,
      left: all.length - lines.length,
    };
  });
  return charts.sort(
    (a, b) => kGroups.indexOf(a.group) - kGroups.indexOf(b.group) || rank(a.name) - rank(b.name),
  );
}

const perSecond = (unit: string) => `${unit === "" ? "1" : unit}/s`;
const naturalOrder = (a: string, b: string) => a.localeCompare(b, "en", { numeric: true });

function lineOf(entry: Entry, sources: string[], shown: number): LineDef {
  const { metric, run } = entry;
  const place = sources.indexOf(metric.source);
  const base = { series: metric.series, spacing: spacingOf(metric) };
  if (metric.owner === "workload") {
    const several = sources.length > 1;
    const label = metric.source === "" ? "host" : metric.source;
    // Devices take the palette's second half first: they are not runs.
    return {
      ...base,
      key: `host/${metric.source}`,
      label,
      colour: several ? 4 + place : null,
      dash: several ? place : 0,
    };
  }
  const named = shown > 1 ? `${run.name} ${metric.source}` : metric.source;
  return {
    ...base,
    key: metric.source === "" ? run.id : `${run.id}/${metric.source}`,
    label: metric.source === "" ? run.name : named,
    // Of one run alone, colours tell its devices apart.
    colour: shown > 1 ? run.index : run.index + place,
    dash: run.index + place,
  };
}

// What one looks for first.
const kFirst = [
  /^(train(ing)?[/_])?loss$/,
  /loss$/,
  /acc(uracy)?$/,
  /(samples|tokens|images|items|steps|throughput)/,
  /^run\.cpu\.(time|cores|used|usage|seconds)$/,
  /^run\.mem(ory)?\.(rss|resident)$/,
  /^host\.cpu\.(busy|used|usage|time)$/,
  /^host\.mem(ory)?\.used$/,
];

function rank(name: string): number {
  const at = kFirst.findIndex((pattern) => pattern.test(name));
  return at < 0 ? kFirst.length : at;
}

const kHardware = [
  [/^run\.cpu\./, /^cores$/],
  [/^host\.cpu\./, /busy|used|usage|total/],
  [/^run\.mem/, /rss|resident|used|current/],
  [/^host\.mem/, /used|busy/],
] as const;

const kMostCharts = 6;
const kMostSoftware = 3;

// The charts shown before anyone chooses, six so that the phases are in sight below them: three of the script's
// own, then the run's CPU, the host's CPU, the run's memory, the host's memory; where these are not, more of the
// rest.
export function defaultCharts(charts: readonly ChartDef[]): string[] {
  const lively = charts.filter((chart) => !chart.flat && chart.left === 0);
  const software = lively.filter((chart) => chart.group === "software");
  const hardware = kHardware.flatMap(([scope, what]) => {
    const found = lively.filter((chart) => scope.test(chart.name));
    return found.find((chart) => what.test(chart.unit) || what.test(chart.name)) ?? [];
  });
  const rest = lively.filter((chart) => chart.group !== "collector");
  const wanted = [...software.slice(0, kMostSoftware), ...hardware, ...software, ...rest];
  const chosen = new Set([...new Set(wanted)].slice(0, kMostCharts));
  return charts.filter((chart) => chosen.has(chart)).map((chart) => chart.name);
}

const kLeastLife = 1;

// What measuring itself cost, in cores: the rate of a CPU time counter of the collector; null when unknown, also
// over less than a second, which is all start.
export function collectingCost(metrics: readonly Metric[]): number | null {
  const own = metrics.filter((m) => m.group === "collector" && m.points > 1 && /cpu/.test(m.name));
  const counters = own.filter((m) => m.kind === "counter" && m.unit === "s");
  // The supervisor's CPU time includes the sampler's.
  const counter = counters.find((m) => m.name.includes("supervisor")) ?? counters[0];
  if (counter === undefined) return null;
  const [min, max] = [finite(counter.min), finite(counter.max)];
  const span = lifeOf(counter);
  return min === null || max === null || span < kLeastLife ? null : (max - min) / span;
}
