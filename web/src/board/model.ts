// From the server's data of the shown runs to the page's: charts with their lines, the metric list in groups, the
// default choice, the full range. Pure.
import { finite, type Metric, type Plain, type RunDetail } from "../api/types";
import { later, nanos } from "../format/nanos";
import { natural } from "../format/order";
import { secondsSince } from "../format/time";
import { plural } from "../format/units";
import { type Shifts, shiftOfSeries } from "./clocks";
import type { MadeOf } from "./derived";

export interface ShownRun {
  id: string;
  name: string;
  // Place in the palette.
  index: number;
  // That of its dashes, where colours stand for values.
  dash?: number;
  // Zero of the run's time axis, ns of UTC.
  origin: bigint;
  // Seconds since `origin`; `end` is the newest known time while it runs.
  start: number;
  end: number;
  running: boolean;
  workload: string;
  // null: it was alone in a workload without a name.
  workloadName: string | null;
  experiment: string;
  params: Readonly<Record<string, Plain>>;
  tags: Readonly<Record<string, Plain>>;
  // By host and process; absent: its times stay as they were recorded.
  shifts?: Shifts;
  // By "METRIC" or "METRIC of SOURCE": the run's report of values that the catalogue declares impossible.
  outside?: Readonly<Record<string, string>>;
}

export interface LineDef {
  // Lines with the same key are switched on and off together.
  key: string;
  label: string;
  series: number;
  // Id of the run. For a series of a host or device, the first shown run of the workload.
  run: string;
  source: string;
  shared: boolean;
  // Its name, of a series that is not a run's own.
  host?: string;
  origin: bigint;
  // ns by which `origin` is earlier because another clock recorded the series; absent: none.
  shift?: number;
  // Index into the palette; null for what belongs to the host as a whole, drawn in ink.
  colour: number | null;
  dash: number;
  // Seconds and steps between points over the series' life, 0 when unknown.
  spacing: number;
  stepping: number;
  // Least and greatest step, null when the points have none.
  steps: [number, number] | null;
  // Minimum of all values; NaN if there are none.
  least: number;
  greatest: number;
  // The runs that report values which the catalogue declares impossible; absent if none do.
  outside?: string[];
  // The line of an expression: `series` is none of the server's.
  made?: MadeOf;
}

export interface ChartDef {
  name: string;
  unit: string;
  group: string;
  description: string;
  flat: boolean;
  lines: LineDef[];
  // Number of further devices, which were less busy.
  left: number;
}

export const kGroups = [
  "software",
  "gpu",
  "cpu",
  "memory",
  "io",
  "network",
  "pressure",
  "scheduler",
  "energy",
  "sensors",
  "collector",
];

export function shownRun(run: RunDetail, index: number, origin: bigint): ShownRun {
  const start = secondsSince(run.start_ns, origin);
  const known =
    run.end_ns === null ? start + (run.duration_s ?? 0) : secondsSince(run.end_ns, origin);
  return {
    id: run.id,
    name: run.name,
    index,
    origin,
    start,
    end: known,
    running: run.status === "running",
    workload: run.workload_id,
    workloadName: run.workload,
    experiment: run.experiment,
    params: run.params,
    tags: run.tags,
    ...outsideOf(run.info),
  };
}

const kOutside = "outside.";

function outsideOf(info: RunDetail["info"] = {}): Pick<ShownRun, "outside"> {
  const told = Object.entries(info).flatMap(([key, value]) =>
    key.startsWith(kOutside) && typeof value === "string"
      ? [[key.slice(kOutside.length), value]]
      : [],
  );
  return told.length === 0 ? {} : { outside: Object.fromEntries(told) };
}

export const kHues = 8;

// Each run's place in the palette: the one it has already, else the one it prefers, or the next free one. Adding or
// removing a run leaves the colours of the others unchanged.
export function colourSlots(
  preferred: readonly number[],
  had: readonly (number | undefined)[] = [],
): number[] {
  const taken = new Set<number>();
  const kept = preferred.map((_, i) => {
    const slot = had[i];
    if (slot === undefined || taken.has(slot)) return undefined;
    taken.add(slot);
    return slot;
  });
  return preferred.map((wish, at) => {
    const own = kept[at];
    if (own !== undefined) return own;
    let slot = wish;
    // Within its round of hues first: the dash distinguishes rounds.
    for (let i = 1; taken.has(slot); i++) slot = i < kHues ? (wish + i) % kHues : wish + i;
    taken.add(slot);
    return slot;
  });
}

// As many runs as a picture holds without a choice.
export const kMaxDrawn = 4;

// The runs of the workload that are drawn by default: collocated runs are looked at together.
export function drawnAlong(run: Pick<RunDetail, "neighbours">): string[] {
  return run.neighbours.length < kMaxDrawn ? run.neighbours.map(({ id }) => id) : [];
}

// All that the shown runs span. The server's ranges are half open, so a hair is added for the last point.
export function fullRange(runs: readonly ShownRun[]): { from: number; to: number } {
  if (runs.length === 0) return { from: 0, to: 1 };
  const from = Math.min(...runs.map((run) => run.start));
  const to = Math.max(...runs.map((run) => run.end));
  const span = Math.max(to - from, 0.001);
  return { from, to: from + span * 1.0005 };
}

// All steps of the charts' lines; null when none has any.
export function stepRange(charts: readonly ChartDef[]): { from: number; to: number } | null {
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const line of charts.flatMap((chart) => chart.lines)) {
    if (line.steps === null) continue;
    from = Math.min(from, line.steps[0]);
    to = Math.max(to, line.steps[1]);
  }
  return from <= to ? { from, to: to + 1 } : null;
}

function isFlat(metric: Metric): boolean {
  if (metric.group === "software") return false;
  const [min, max] = [finite(metric.min), finite(metric.max)];
  return min === null || max === null || min === max;
}

// Seconds from the first point to the last.
function lifeOf({ first_ns, last_ns }: Metric): number {
  return first_ns === null || last_ns === null ? 0 : secondsSince(last_ns, nanos(first_ns));
}

function spacingOf(metric: Metric): number {
  return metric.points < 2 ? 0 : lifeOf(metric) / (metric.points - 1);
}

function stepsOf({ first_step, last_step }: Metric): [number, number] | null {
  if (first_step === null || last_step === null) return null;
  return [Number(first_step), Number(last_step)];
}

function steppingOf(metric: Metric): number {
  const steps = stepsOf(metric);
  return steps === null || metric.points < 2 ? 0 : (steps[1] - steps[0]) / (metric.points - 1);
}

interface Entry {
  metric: Metric;
  run: ShownRun;
}

export const kMaxDevices = 8;

// Weight of a series when charts are ranked: the growth of a counter, else the mean.
function weight({ kind, min, max, mean }: Metric): number {
  return kind === "counter" ? (finite(max) ?? 0) - (finite(min) ?? 0) : Math.abs(finite(mean) ?? 0);
}

// The busiest of many devices, in their own order.
function busiest(entries: Entry[]): Entry[] {
  const devices = entries.some(({ metric }) => metric.source !== "");
  if (!devices || entries.length <= kMaxDevices) return entries;
  const chosen = new Set(
    entries.toSorted((a, b) => weight(b.metric) - weight(a.metric)).slice(0, kMaxDevices),
  );
  return entries.filter((entry) => chosen.has(entry));
}

// Charts by metric name; the lines of one are runs × sources, in the runs' order. A workload's or host's
// series comes with each run of the workload and is drawn once.
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
    const sources = [...new Set(entries.map((e) => e.metric.source))].sort(natural);
    const hosts = [...new Set(entries.flatMap((e) => e.metric.host ?? []))].sort(natural);
    const lines = entries
      .map((entry) => lineOf(entry, { sources, hosts, runs }))
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

// The subject of a chart's lines.
interface Shown {
  sources: string[];
  hosts: string[];
  runs: readonly ShownRun[];
}

function lineOf(entry: Entry, { sources, hosts, runs }: Shown): LineDef {
  const { metric, run } = entry;
  const place = sources.indexOf(metric.source);
  const base = {
    series: metric.series,
    spacing: spacingOf(metric),
    stepping: steppingOf(metric),
    run: run.id,
    source: metric.source,
    shared: metric.owner !== "run",
    ...(metric.host === undefined ? {} : { host: metric.host }),
    ...movedOrigin(run, shiftOfSeries(run.shifts, metric)),
    steps: stepsOf(metric),
    least: finite(metric.min) ?? Number.NaN,
    greatest: finite(metric.max) ?? Number.NaN,
    ...outsideValues(entry, runs),
  };
  if (base.shared) return { ...base, ...sharedLine(entry, { sources, hosts, runs }) };
  const named = runs.length > 1 ? `${run.name} ${metric.source}` : metric.source;
  return {
    ...base,
    key: metric.source === "" ? run.id : `${run.id}/${metric.source}`,
    label: metric.source === "" ? run.name : named,
    // On a board of one run, colours distinguish its devices.
    colour: runs.length > 1 ? run.index : run.index + place,
    dash: (run.dash ?? run.index) + place,
  };
}

const movedOrigin = ({ origin }: ShownRun, shift: number): Pick<LineDef, "origin" | "shift"> =>
  shift === 0 ? { origin } : { origin: later(origin, -shift), shift };

// Any run of a workload may have measured its host or device.
function outsideValues(
  { metric, run }: Entry,
  runs: readonly ShownRun[],
): Pick<LineDef, "outside"> {
  const key = metric.source === "" ? metric.name : `${metric.name} of ${metric.source}`;
  const tellers =
    metric.owner !== "run" ? runs.filter((one) => one.workload === run.workload) : [run];
  const told = tellers.flatMap(({ outside = {} }) =>
    Object.hasOwn(outside, key) ? [outside[key] as string] : [],
  );
  return told.length === 0 ? {} : { outside: told };
}

// The note beside a chart's name about impossible values among its points, and the runs they belong to; null if there
// are none.
export function outsideWords({ lines }: ChartDef): { text: string; about: string } | null {
  const told = lines.flatMap(({ label, outside = [] }) => outside.map((text) => ({ label, text })));
  const [first] = told;
  if (first === undefined) return null;
  const about = told.map(({ label, text }) => `${label}: ${text}`).join("\n");
  const parts = told.map(({ text }) => /^(\d+) values? (outside .+?, stored as read)/.exec(text));
  const said = parts[0]?.[2];
  const alike = said !== undefined && parts.every((part) => part?.[2] === said);
  const count = parts.reduce((sum, part) => sum + Number(part?.[1] ?? 0), 0);
  return { text: alike ? `${plural(count, "value")} ${said}` : first.text, about };
}

// A line of a host or a device: named by it within one workload, by workload (or its only run) among several.
function sharedLine(
  { metric, run }: Entry,
  { sources, hosts, runs }: Shown,
): Pick<LineDef, "key" | "label" | "colour" | "dash"> {
  const host = hosts.length > 1 ? hosts.indexOf(metric.host ?? "") : 0;
  const place = sources.indexOf(metric.source) + Math.max(host, 0) * sources.length;
  const several = sources.length > 1 || hosts.length > 1;
  const device = metric.source === "" ? "host" : metric.source;
  const named = metric.source === "" ? metric.host : `${metric.host} ${metric.source}`;
  const label = hosts.length > 1 && metric.host !== undefined ? (named ?? device) : device;
  const key = hosts.length > 1 ? `${metric.source}@${metric.host ?? ""}` : metric.source;
  if (runs.every((other) => other.workload === run.workload)) {
    return {
      key: `host/${key}`,
      label,
      // Devices take the palette's second half first: they are not runs.
      colour: several ? 4 + place : null,
      dash: several ? place : 0,
    };
  }
  const mates = runs.filter((other) => other.workload === run.workload);
  const name = mates.length === 1 ? run.name : (run.workloadName ?? run.name);
  return {
    key: `host/${run.workload}/${key}`,
    label: several ? `${name} ${label}` : name,
    colour: run.index,
    dash: (run.dash ?? run.index) + place,
  };
}

// The most important metrics.
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

const kMaxCharts = 6;
const kMaxSoftware = 3;

// This metric shows whether waiting for data slows a training: shown whenever it was measured.
const kWaiting = "data_wait_share";

// GPU utilisation, the first metric that was measured: SM activity if the driver reports it.
const kGpu = ["host.gpu.sm.active", "host.gpu.busy", "host.gpu.engine.busy"];

// The charts shown before anyone chooses, six so that the phases are in sight below them: three of the script's
// own and the wait for data, then the GPUs, the run's CPU, the host's CPU, the run's memory, the host's memory; where
// these are not, more of the rest.
export function defaultCharts(charts: readonly ChartDef[]): string[] {
  const lively = charts.filter((chart) => !chart.flat && chart.left === 0);
  const software = lively.filter((chart) => chart.group === "software");
  const hardware = kHardware.flatMap(([scope, what]) => {
    const found = lively.filter((chart) => scope.test(chart.name));
    return found.find((chart) => what.test(chart.unit) || what.test(chart.name)) ?? [];
  });
  const rest = lively.filter((chart) => chart.group !== "collector");
  const waiting = charts.filter((chart) => chart.name === kWaiting);
  const own = software.filter((chart) => chart.name !== kWaiting).slice(0, kMaxSoftware);
  const gpu = kGpu.flatMap((name) => lively.find((chart) => chart.name === name) ?? []).slice(0, 1);
  const wanted = [...own, ...waiting, ...gpu, ...hardware, ...software, ...rest];
  const chosen = new Set([...new Set(wanted)].slice(0, kMaxCharts));
  return charts.filter((chart) => chosen.has(chart)).map((chart) => chart.name);
}

const kMinLife = 1;

// Overhead of the collector in cores: the rate of its CPU time counter. Null if unknown, or after less than a second,
// which is mostly start-up.
export function collectingCost(metrics: readonly Metric[]): number | null {
  const own = metrics.filter((m) => m.group === "collector" && m.points > 1 && /cpu/.test(m.name));
  const counters = own.filter((m) => m.kind === "counter" && m.unit === "s");
  // The supervisor's CPU time includes the sampler's.
  const counter = counters.find((m) => m.name.includes("supervisor")) ?? counters[0];
  if (counter === undefined) return null;
  const [min, max] = [finite(counter.min), finite(counter.max)];
  const span = lifeOf(counter);
  return min === null || max === null || span < kMinLife ? null : (max - min) / span;
}
