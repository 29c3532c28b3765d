// A chart of a board as a figure, without a browser: from the options of `corral plot` and the server's answers to what
// the page's export gives for the same address.
import { condense, type Stretch } from "../api/condensed";
import type { RunEpochs } from "../api/epochs";
import type { Explanation } from "../api/explain";
import type { Spreads } from "../api/spread";
import type { Metric, RunDetail } from "../api/types";
import { stringifySearch } from "../app/search";
import { allLines, axisNames, kChartHeight, specOf } from "../board/chartSpec";
import { choiceText, parseChoice, parseY } from "../board/choice";
import { colouredBy } from "../board/colouring";
import { noteWords } from "../board/compare";
import { isExpression, problemsOf } from "../board/derived";
import { metricsOf, parseExpression, problemWords } from "../board/expression";
import { laneRows, profiledWindows } from "../board/laneRows";
import { spreadWords } from "../board/lines";
import { buildCharts, type ChartDef, colourSlots, type ShownRun, shownRun } from "../board/model";
import { axisDef, axisQuestion, withExtremes } from "../board/pairs";
import { kFigureColumns, measuredSeries, questionOf } from "../board/question";
import { quoted } from "../board/quote";
import {
  type BoardChart,
  byStart,
  fullOf,
  hasComputedLines,
  makingOf,
  marksOf,
  notedWindows,
  originOf,
  resolve,
} from "../board/resolve";
import {
  type Axis,
  type BoardSearch,
  boardSearch,
  parseGrouping,
  parseSmoothing,
  rounded,
} from "../board/view";
import type { ChartKind, ChartLine } from "../charts/spec";
import { kLight } from "../charts/theme";
import { type ChartFigure, makeFigure } from "../export/figure";
import { type FigureOptions, kLimits, kPresets, optionsOf } from "../export/presets";
import {
  charts as askCharts,
  epochs as askEpochs,
  spreads as askSpreads,
  type Host,
  happenings,
  phases,
  workloadRuns,
} from "./ask";

export interface PlotOptions {
  // Ids, prefixes, names.
  runs: string[];
  // One, and one for the right axis.
  metrics: string[];
  // Sources; none: all.
  of: string[];
  kind: ChartKind;
  // "auto" (or absent), "zero", "log", "clip", "clip:1..99", "0..400"; `right`: for the second metric.
  y?: string;
  right?: string;
  axis: Axis;
  // Parts of the address as they are there.
  search: {
    xmetric?: string;
    from?: number;
    to?: number;
    smooth?: string;
    group?: string;
    colour?: string;
    singles?: boolean;
    base?: string;
    compare?: "ratio" | "difference";
  };
  // Events, notes and jumps as well.
  marks: boolean;
  style: string;
  look: Partial<FigureOptions>;
  // Before the path of the link.
  server: string;
}

export interface Plot {
  figure: ChartFigure;
  // For people, about the lines.
  notes: string[];
}

export function drawn(options: PlotOptions, host: Host): Plot {
  const { axis } = options;
  const { shown, given, defs } = boardOf(options, host);
  const chart = chartOf(options, { defs, shown });
  const x = axisOf(options, { defs, shown, host });
  const counted = countedOf(options, shown, host);
  const full = fullOf({ axis, shown, ...counted, charts: [chart], x });
  const hidden = hiddenOf(options, chart, host);
  const search = searchOf(options, { chart, shown, given, full, hidden });
  const range = { from: search.from ?? full.from, to: search.to ?? full.to };
  const making = makingOf(shown, search, { axis, x });
  const view = {
    ...{ axis, shown, search, making },
    ...counted,
    ...{ charts: [chart], zoomedIn: search.from !== undefined },
    ...signsOf(options, shown, host),
  };
  const answer = askCharts(host, questionOf(view, { ...range, width: kFigureColumns }));
  const spreads = spreadsIn(chart, counted.stretches, host);
  const lines = allLines(chart, answer, { making, hidden, theme: kLight, spreads });
  if (!lines.some((line) => !line.hidden && hasValues(line)))
    throw new Error(nothingDrawn(chart, search));
  const without = shown.filter(({ id }) => axis === "epoch" && !counted.epochs[id]?.epochs.length);
  const withoutEpochs = without.map(({ name }) => `no epochs in ${name}`);
  const names = axisNames(chart, view);
  const place = { width: 720, height: kChartHeight, theme: kLight, range };
  const link = `${options.server}/board${stringifySearch({ ...search })}`;
  const source = { lines, spec: specOf(chart, view, place), link, ...names };
  return {
    figure: makeFigure(source, lookOf(options)),
    notes: [...withoutEpochs, ...notesOf(lines, chart, shown), ...spreadWords(spreads)],
  };
}

// An unknown way to draw is the caller's mistake: such messages begin with the option.
const wrong = (option: string, value: string, expected: string) =>
  new Error(`--${option} '${value}': expected ${expected}`);

const kOptions = {
  width: "width",
  height: "height",
  textSize: "text-size",
  lineWidth: "line-width",
} as const;

function lookOf({ style, look }: PlotOptions): FigureOptions {
  const preset = kPresets.find((one) => one.key === style);
  if (preset === undefined)
    throw wrong("style", style, `one of ${kPresets.map(({ key }) => key).join(", ")}`);
  const options = { ...optionsOf(preset), ...look };
  for (const [key, [least, most]] of Object.entries(kLimits)) {
    const value = options[key as keyof typeof kLimits];
    if (!(value >= least && value <= most))
      throw wrong(
        kOptions[key as keyof typeof kLimits],
        String(value),
        `${least} to ${most} points`,
      );
  }
  return options;
}

// The runs and their charts, as a board has them.
function boardOf(
  { runs: names, metrics: wanted, axis, search }: PlotOptions,
  host: Host,
): { shown: readonly ShownRun[]; given: string[]; defs: ChartDef[] } {
  const found = names.map((name) => host.get<RunDetail>(`/runs/${encodeURIComponent(name)}`));
  const runs = found.filter((run, i) => found.findIndex((one) => one.id === run.id) === i);
  const slots = slotsOf(runs, host);
  const at = { axis, align: undefined, epochs: undefined };
  const { runs: shown } = colouredBy(
    runs.map((run, i) => shownRun(run, slots[i] as number, originOf(run, at))),
    search.colour,
  );
  const metrics = shown.map(({ id }): [string, Metric[]] => [
    id,
    host.get<{ metrics: Metric[] }>(`/runs/${id}/metrics`).metrics,
  ]);
  const known = [...new Set(metrics.flatMap(([, all]) => all.map(({ name }) => name)))];
  const xs = search.xmetric === undefined ? [] : [search.xmetric];
  const metricsOfAll = (option: string, texts: readonly string[]) =>
    texts.flatMap((text) => metricsIn(option, text, { known, host }));
  const asked = [...metricsOfAll("metric", wanted), ...metricsOfAll("x-metric", xs)];
  const some = metrics.map(([id, all]) => [id, all.filter(({ name }) => asked.includes(name))]);
  const given = found.map(({ id }) => id);
  return { shown, given, defs: buildCharts(shown, Object.fromEntries(some)) };
}

// The colours that the page gives these runs.
function slotsOf(runs: readonly RunDetail[], host: Host): number[] {
  const workloads = [...new Set(runs.map((run) => run.workload_id))];
  const mates = new Map(workloads.map((id) => [id, workloadRuns(host, id).runs.toSorted(byStart)]));
  return colourSlots(
    runs.map(({ id, workload_id }) =>
      Math.max(0, mates.get(workload_id)?.findIndex((other) => other.id === id) ?? 0),
    ),
  );
}

const kMostNamed = 20;

// Those of an expression, or the metric that has this name.
function metricsIn(
  option: string,
  text: string,
  { known, host }: { known: readonly string[]; host: Host },
): string[] {
  if (known.includes(text)) return [text];
  const { node, wrong } = parseExpression(text, known);
  if (wrong === null) return metricsOf(node);
  if (!isExpression(text)) check(text, known, host);
  throw new Error(`--${option} '${text}': ${problemWords(wrong)}`);
}

function check(name: string, known: readonly string[], host: Host): void {
  if (known.includes(name)) return;
  const near = host.near(name, known);
  const some = known.slice(0, kMostNamed).join(", ");
  const rest = known.length > kMostNamed ? `, and ${known.length - kMostNamed} more` : "";
  const all = known.length === 0 ? "they have no metrics" : `they have ${some}${rest}`;
  throw new Error(`no metric '${name}' in these runs${near !== "" ? near : `; ${all}`}`);
}

// The epochs of the runs and the pieces of the condensed axis, where the axis is made of them.
function countedOf(
  { axis }: PlotOptions,
  shown: readonly ShownRun[],
  host: Host,
): { epochs: Record<string, RunEpochs>; stretches: Stretch[] } {
  if (axis !== "epoch" && axis !== "condensed") return { epochs: {}, stretches: [] };
  const known = shown.flatMap(({ id }) => {
    const epochs = askEpochs(host, id);
    return epochs === null ? [] : [[id, epochs] as const];
  });
  const epochs = Object.fromEntries(known);
  if (axis === "epoch") return { epochs, stretches: [] };
  const [run, ...others] = shown as [ShownRun, ...ShownRun[]];
  if (others.length > 0) throw new Error("--axis condensed: only one run can be condensed");
  const { epochs: lanes } = host.get<Explanation>(`/runs/${run.id}/explain`);
  const own = epochs[run.id];
  const stretches = own === undefined ? [] : condense({ lanes, epochs: own, ...run });
  if (stretches.length === 0)
    throw new Error(`no epochs of ${run.name} are known to be alike, or too many are odd`);
  return { epochs, stretches };
}

// The spreads of alike epochs, as the page draws them. Heat rows have no place for them.
function spreadsIn(
  chart: BoardChart,
  stretches: readonly Stretch[],
  host: Host,
): Spreads | undefined {
  if (stretches.length === 0 || chart.choice.kind === "heat") return undefined;
  return askSpreads(host, measuredSeries(chart), stretches);
}

// A value axis in the words of the address.
function axisWord(option: "y" | "right", text: string | undefined): string[] {
  if (text === undefined || text === "auto") return [];
  const word = /^-?[\d.]/.test(text) ? `y:${text}` : text;
  const parsed = parseY(word);
  // As an address a clip without its ends is one by itself.
  if (parsed === null || (text.startsWith("clip:") && !("low" in parsed)))
    throw wrong(option, text, "auto, zero, log, clip, clip:LOW..HIGH or FROM..TO");
  return [option === "y" ? word : `right:${word}`];
}

function chartOf(
  { metrics, kind, y, right, axis, search }: PlotOptions,
  { defs, shown }: { defs: readonly ChartDef[]; shown: readonly ShownRun[] },
): BoardChart {
  const [first = "", second] = metrics.map(quoted);
  if ((axis === "metric") !== (search.xmetric !== undefined))
    throw new Error("--axis metric and --x-metric METRIC, the metric of the x axis, go together");
  const words = [first, kind, ...axisWord("y", y), ...axisWord("right", right)];
  if (right !== undefined && second === undefined)
    throw new Error("--right is the axis of a second --metric, which is missing");
  if (second !== undefined) words.push(`with:${second}`);
  const [chart] = resolve([parseChoice(words.join("~"))], defs, shown);
  const names = metrics.filter((name) => !defs.some((def) => def.name === name));
  for (const { name, wrong } of problemsOf(names, { defs, runs: shown }))
    throw new Error(`--metric '${name}': ${wrong}`);
  return chart as BoardChart;
}

// The metric or expression that is the axis.
function axisOf(
  { search: { xmetric } }: PlotOptions,
  { defs, shown, host }: { defs: readonly ChartDef[]; shown: readonly ShownRun[]; host: Host },
): ChartDef | null {
  if (xmetric === undefined) return null;
  const x = axisDef(xmetric, { defs, runs: shown });
  for (const { wrong } of problemsOf([xmetric], { defs, runs: shown }))
    throw new Error(`--x-metric '${xmetric}': ${wrong}`);
  const question = axisQuestion(x, shown);
  return x && question ? withExtremes(x, askCharts(host, question)) : x;
}

interface Found {
  chart: BoardChart;
  shown: readonly ShownRun[];
  // All that there is on the axis.
  full: { from: number; to: number };
  // Keys of lines.
  hidden: ReadonlySet<string>;
  // The ids of the runs as they were given, some perhaps twice.
  given: readonly string[];
}

// The address of the figure. A range with one end goes to the end of the data.
function searchOf(options: PlotOptions, found: Found): BoardSearch {
  const { axis, search: asked } = options;
  const { chart, shown, full, hidden } = found;
  const { smooth, group, colour, base, from, to } = asked;
  if (smooth !== undefined && parseSmoothing(smooth) === null)
    throw wrong("smooth", smooth, "ema:WEIGHT with a weight below 1, gaussian:WIDTH or mean:WIDTH");
  if (group !== undefined && parseGrouping(group) === null)
    throw wrong("group", group, "workload, experiment, param:NAME or tag:NAME");
  if (colour !== undefined && parseGrouping(colour) === null)
    throw wrong("colour", colour, "workload, experiment, param:NAME or tag:NAME");
  if (asked.compare !== undefined && base === undefined)
    throw new Error("--compare says how to compare with --baseline, which is missing");
  if (asked.singles && group === undefined)
    throw new Error("--singles shows the runs of --group, which is missing");
  for (const [option, value] of Object.entries({ smooth, group, baseline: base }))
    if (value !== undefined && !hasComputedLines(axis))
      throw new Error(`--${option} needs an axis of time or steps, not --axis ${axis}`);
  const whole = from === undefined && to === undefined;
  const range = rounded({ from: from ?? full.from, to: to ?? full.to });
  if (!whole && !(range.to > range.from))
    throw new Error(`--from ${range.from} --to ${range.to}: the range is empty`);
  return boardSearch({
    ...asked,
    ...(whole ? {} : range),
    run: shown.map(({ id }) => id),
    metric: [choiceText(chart.choice)],
    x: axis,
    base: base === undefined ? undefined : baseOf(options, found),
    hide: hidden.size === 0 ? undefined : [...hidden],
  });
}

const kLeastPrefix = 4;

// The run or group that a baseline names: as the run was given, by its only name, or by the beginning of its id.
function baseOf(
  { runs, search: { base: name = "", group } }: PlotOptions,
  { shown, given }: Pick<Found, "shown" | "given">,
): string {
  const { groups, grouping } = makingOf(shown, { group }, { axis: "workload", x: null });
  const only = (all: readonly ShownRun[]) => (all.length === 1 ? all[0]?.id : undefined);
  const byName = shown.filter((run) => run.name === name);
  const found =
    grouping === null
      ? (given[runs.indexOf(name)] ??
        only(byName) ??
        (byName.length === 0 && name.length >= kLeastPrefix
          ? only(shown.filter((run) => run.id.startsWith(name)))
          : undefined))
      : groups.find(({ label }) => label === name)?.key;
  if (found !== undefined) return found;
  const labels =
    grouping === null ? shown.map((run) => run.name) : groups.map(({ label }) => label);
  throw wrong("baseline", name, `one of ${labels.join(", ")}`);
}

// The lines of other sources than those that are asked for.
function hiddenOf(
  { of, search }: PlotOptions,
  { def, second }: BoardChart,
  host: Host,
): Set<string> {
  if (of.length === 0) return new Set();
  if (search.group !== undefined)
    throw new Error("--of names sources; groups have none: leave out --group");
  const lines = [...def.lines, ...(second?.lines ?? [])];
  const sources = [...new Set(lines.map(({ source }) => source))];
  for (const name of of) {
    if (sources.includes(name)) continue;
    const named = sources.filter((source) => source !== "");
    const has = named.length === 0 ? "has no sources" : `is of ${named.join(", ")}`;
    throw new Error(`--of '${name}': ${def.name} ${has}${host.near(name, named)}`);
  }
  const others = (all: ChartDef["lines"]) => all.filter(({ source }) => !of.includes(source));
  return new Set([
    ...others(def.lines).map(({ key }) => key),
    ...others(second?.lines ?? []).map(({ key }) => `${key}/${second?.name}`),
  ]);
}

// The marks and windows of a board.
function signsOf({ axis, marks: wanted }: PlotOptions, shown: readonly ShownRun[], host: Host) {
  const onTime = axis === "workload" || axis === "run" || axis === "wall";
  const counted = onTime ? ("time" as const) : axis === "step" ? ("step" as const) : null;
  const ids = shown.map(({ id }) => id);
  const rows = (run: ShownRun) => laneRows([run], { [run.id]: phases(host, run.id) });
  const told = wanted && onTime ? happenings(host, ids) : [];
  const profiled = wanted && counted !== null ? profiledWindows(shown.flatMap(rows), counted) : [];
  return {
    onTime,
    marks: marksOf(shown, told),
    windows: [...profiled, ...notedWindows(shown, told)],
  };
}

const hasValues = ({ data, curve, pairs }: ChartLine) =>
  (data?.columns.firstX.length ?? 0) > 0 ||
  (curve?.value.some((value) => !Number.isNaN(value)) ?? false) ||
  (pairs?.y.some((value) => !Number.isNaN(value)) ?? false);

const nothingDrawn = ({ choice: { metric } }: BoardChart, { from, to }: BoardSearch) =>
  from === undefined
    ? `nothing to draw: no points of ${metric} on this axis`
    : `nothing to draw: no points of ${metric} from ${from} to ${to}`;

// Runs without a line, and what is told about the lines.
function notesOf(
  lines: readonly ChartLine[],
  { def }: BoardChart,
  shown: readonly ShownRun[],
): string[] {
  const having = new Set(def.lines.map((line) => line.run));
  const shared = def.lines.some((line) => line.shared);
  const without = shared ? [] : shown.filter(({ id }) => !having.has(id)).map(({ name }) => name);
  const told = noteWords(lines);
  return [
    ...(without.length === 0 ? [] : [`no ${def.name} in ${without.join(", ")}`]),
    ...(told === null ? [] : [told]),
  ];
}
