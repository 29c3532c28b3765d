// From the runs and the address of a board to what it draws: the zero and the range of its axis, its charts, and how
// their lines are made. Pure.

import { condensedLength, type Stretch } from "../api/condensed";
import type { RunEpochs } from "../api/epochs";
import type { Happening } from "../api/notes";
import type { Run, RunDetail } from "../api/types";
import type { WindowMark } from "../charts/spec";
import { nanos, nanosBetween } from "../format/nanos";
import { secondsSince } from "../format/time";
import { type ChartChoice, choiceText } from "./choice";
import { derivedChart } from "./derived";
import { groupsOf } from "./groups";
import type { Making } from "./lines";
import { type ChartDef, fullRange, type ShownRun, stepRange } from "./model";
import type { Range } from "./pointer";
import { quoted } from "./quote";
import { type Axis, parseGrouping, parseSmoothing, type ViewSearch } from "./view";

// One chart of the board.
export interface BoardChart {
  // Its metric, and of several charts of one metric the number: stays when its options change.
  key: string;
  // Its place among the choices.
  at: number;
  choice: ChartChoice;
  def: ChartDef;
  second: ChartDef | null;
}

// The order of a workload's runs, which gives them their colours.
export function byStart(a: Pick<Run, "id" | "start_ns">, b: Pick<Run, "id" | "start_ns">): number {
  return nanosBetween(nanos(a.start_ns), nanos(b.start_ns)) || (a.id < b.id ? -1 : 1);
}

// The zero of a run's time axis. Aligned on an event that a run does not have, it begins with its workload.
export function originOf(
  run: RunDetail,
  at: { axis: Axis; align: string | undefined; epochs: RunEpochs | undefined },
): bigint {
  const { axis, align, epochs } = at;
  if (axis === "wall") return nanos(0);
  const start = nanos(axis === "run" ? run.start_ns : run.workload_start_ns);
  if (align === undefined) return start;
  if (align === "step") return epochs?.first_step_ns ? nanos(epochs.first_step_ns) : start;
  const index = Number(align.slice("epoch:".length));
  const found = epochs?.epochs.find((epoch) => epoch.index === index);
  return found === undefined ? start : nanos(found.start_ns);
}

// All epochs of the shown runs.
function epochRange(
  shown: readonly ShownRun[],
  epochs: Readonly<Record<string, RunEpochs>>,
): Range {
  const indices = shown.flatMap((run) => epochs[run.id]?.epochs.map(({ index }) => index) ?? []);
  if (indices.length === 0) return { from: 0, to: 1 };
  return { from: Math.min(...indices), to: Math.max(...indices) + 1 };
}

// All values of the metric or expression that is the axis.
function metricRange(x: ChartDef | null): Range {
  const known = (line: { least: number; greatest: number }) => line.greatest >= line.least;
  const lines = x?.lines.filter(known) ?? [];
  const from = Math.min(...lines.map((line) => line.least));
  const to = Math.max(...lines.map((line) => line.greatest));
  if (!(to >= from)) return { from: 0, to: 1 };
  const room = Math.max((to - from) * 1e-3, Math.abs(to) * 1e-9, 1e-12);
  return { from, to: to + room };
}

// Everything that there is on the axis.
export function fullOf(at: {
  axis: Axis;
  shown: readonly ShownRun[];
  epochs: Readonly<Record<string, RunEpochs>>;
  stretches: readonly Stretch[];
  charts: readonly BoardChart[];
  x: ChartDef | null;
}): Range {
  switch (at.axis) {
    case "step":
      return stepRange(at.charts.map((chart) => chart.def)) ?? { from: 0, to: 1 };
    case "epoch":
      return epochRange(at.shown, at.epochs);
    case "condensed":
      return { from: 0, to: condensedLength(at.stretches) || 1 };
    case "metric":
      return metricRange(at.x);
    default:
      return fullRange(at.shown);
  }
}

function onlyRuns(def: ChartDef, runs: readonly string[] | undefined): ChartDef {
  if (runs === undefined) return def;
  const mine = (id: string) => runs.some((prefix) => id.startsWith(prefix));
  return { ...def, lines: def.lines.filter((line) => mine(line.run)) };
}

// The charts that the address names, in its order; metrics without data are left out, and expressions with an unknown
// metric.
export function resolve(
  choices: readonly ChartChoice[],
  defs: readonly ChartDef[],
  runs: readonly ShownRun[],
): BoardChart[] {
  const byName = new Map(defs.map((def) => [def.name, def]));
  const defOf = (name: string) => byName.get(name) ?? derivedChart(name, { defs, runs }).def;
  const seen = new Set<string>();
  const numbers = new Map<string, number>();
  return choices.flatMap((choice, at) => {
    const text = choiceText(choice);
    if (seen.has(text)) return [];
    seen.add(text);
    const def = defOf(choice.metric);
    if (def === null) return [];
    const number = numbers.get(choice.metric) ?? 0;
    numbers.set(choice.metric, number + 1);
    const key = quoted(choice.metric) + (number === 0 ? "" : `~${number}`);
    const second = choice.second === undefined ? null : defOf(choice.second);
    return [
      {
        key,
        at,
        choice,
        def: onlyRuns(def, choice.runs),
        second: second && onlyRuns(second, choice.runs),
      },
    ];
  });
}

type Made = "smooth" | "group" | "base" | "singles" | "compare";
type MakingSearch = { [Part in Made]?: ViewSearch[Part] | undefined };

// Values computed per pixel column have no meaning if columns are not of time or steps.
export const hasComputedLines = (axis: Axis): boolean =>
  axis !== "epoch" && axis !== "condensed" && axis !== "metric";

export function makingOf(
  shown: readonly ShownRun[],
  search: MakingSearch,
  { axis, x }: { axis: Axis; x: ChartDef | null },
): Making {
  const plain = !hasComputedLines(axis);
  const { singles, compare } = search;
  const [smooth, group, base] = [search.smooth, search.group, search.base].map((word) =>
    plain ? undefined : word,
  );
  const grouping = parseGrouping(group);
  const groups = grouping === null ? [] : groupsOf(shown, grouping);
  // Groups are compared to a group, single runs to a run.
  const named =
    grouping === null ? shown.map(({ id, name }) => ({ key: id, label: name })) : groups;
  const found = named.find(({ key }) => key === base);
  return {
    runs: shown,
    smoothing: parseSmoothing(smooth),
    grouping,
    groups,
    singles: singles ?? false,
    baseline: found ? { key: found.key, label: found.label, as: compare ?? "ratio" } : null,
    onTime: axis !== "step",
    computes: !plain,
    x,
  };
}

// Seconds of a time on the axis of one of the runs.
function placing(shown: readonly ShownRun[]) {
  const origins = new Map(shown.map((run) => [run.id, run.origin]));
  return (time_ns: string, run: string) => secondsSince(time_ns, origins.get(run) ?? nanos(0));
}

// Events and notes of a moment on each run's own axis of time, in order.
export function marksOf(
  shown: readonly ShownRun[],
  happenings: readonly Happening[],
): { at: number; label: string }[] {
  const place = placing(shown);
  return happenings
    .filter(({ end_ns }) => end_ns === undefined)
    .map(({ run, time_ns, label }) => ({ at: place(time_ns, run), label }))
    .sort((a, b) => a.at - b.at);
}

const kMostWords = 60;

// Notes about a span.
export function notedWindows(
  shown: readonly ShownRun[],
  happenings: readonly Happening[],
): WindowMark[] {
  const place = placing(shown);
  return happenings
    .flatMap(({ run, time_ns, end_ns, label }) => {
      const [line = ""] = label.trim().split("\n");
      const words = line.length > kMostWords ? `${line.slice(0, kMostWords - 1)}…` : line;
      const at = { from: place(time_ns, run), label: words, kind: "note" as const };
      return end_ns === undefined ? [] : [{ ...at, to: place(end_ns, run) }];
    })
    .sort((a, b) => a.from - b.from);
}
