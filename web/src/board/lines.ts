// From the charts of a board to one question for the server, and from its answer to the lines that are drawn:
// measured points, smoothed lines above them, groups with their bands, and all of them compared to a baseline.
// Pure.

import { kGroup, type LineAnswer, type LineQuestion, type Smoothing } from "../api/lines";
import { type FoldSpread, kLeastEpochs, type Spreads } from "../api/spread";
import type { Charts, ChartsQuestion } from "../api/useCharts";
import { valueAt } from "../charts/line";
import type { ChartLine, CurveData, PairData } from "../charts/spec";
import { type ChartTheme, seriesColour, seriesDash } from "../charts/theme";
import { formatCount } from "../format/units";
import { type Baseline, compared } from "./compare";
import { type Derived, derivedValues, inputQuestions } from "./derived";
import { type Group, groupAnswer, groupQuestion, linesOfGroup } from "./groups";
import type { ChartDef, LineDef, ShownRun } from "./model";
import { pairsOf } from "./pairs";
import { smoothedColumns } from "./smoothing";
import type { Grouping } from "./view";

// The settings that the lines of every chart of a board share.
export interface Making {
  runs: readonly ShownRun[];
  smoothing: Smoothing | null;
  grouping: Grouping | null;
  groups: readonly Group[];
  singles: boolean;
  baseline: Baseline | null;
  onTime: boolean;
  // The axis has computed lines.
  computes: boolean;
  // The metric or expression of the axis; null: the axis is another.
  x: ChartDef | null;
}

type KeyedLine = ChartsQuestion["lines"][number];

function smoothQuestion({ method, amount }: Smoothing): Omit<LineQuestion, "series"> {
  return method === "ema"
    ? ({ kind: "smooth", method, alpha: amount, unit: 1 } as Omit<LineQuestion, "series">)
    : ({ kind: "smooth", method, window: amount } as Omit<LineQuestion, "series">);
}

function one(line: LineDef, what: Omit<LineQuestion, "series">, onTime: boolean): LineQuestion {
  const origins = onTime ? { origins_ns: [String(line.origin)] } : {};
  return { ...what, series: [line.series], ...origins } as LineQuestion;
}

// By the series it is computed from: two charts of one metric may draw different runs.
const groupKey = (lines: readonly LineDef[]) => `group/${lines.map((line) => line.series).join()}`;

// Measured columns are drawn unless groups or a comparison stand for them.
export const drawsColumns = ({ grouping, singles, baseline }: Making) =>
  baseline === null && (grouping === null || singles);

const isDerived = ({ lines }: ChartDef) => lines.some(({ made }) => made !== undefined);

// The lines that the server computes.
export function computedLines(all: readonly ChartDef[], making: Making): KeyedLine[] {
  if (!making.computes) return [];
  const derived = all.filter(isDerived).flatMap(({ lines }) => lines);
  const measured = all.filter((chart) => !isDerived(chart));
  return [...measuredLines(measured, making), ...inputQuestions(derived, making.onTime)];
}

function measuredLines(charts: readonly ChartDef[], making: Making): KeyedLine[] {
  const { grouping, smoothing, baseline, groups, runs, onTime } = making;
  if (grouping !== null) {
    const asked = charts.flatMap((chart) =>
      groups.flatMap((group): [string, KeyedLine][] => {
        const lines = linesOfGroup(chart, group, runs);
        if (lines.length === 0) return [];
        const key = groupKey(lines);
        return [[key, { key, ...groupQuestion(lines, onTime) }]];
      }),
    );
    return [...new Map(asked).values()];
  }
  const all = new Map(charts.flatMap((chart) => chart.lines.map((line) => [line.series, line])));
  const what: [string, Omit<LineQuestion, "series">][] = [];
  if (baseline !== null) what.push(["mean", { kind: "mean" }]);
  else if (smoothing !== null) what.push(["smooth", smoothQuestion(smoothing)]);
  return what.flatMap(([word, question]) =>
    [...all.values()].map((line) => ({
      key: `${word}/${line.series}`,
      ...one(line, question, onTime),
    })),
  );
}

function bandOf(answer: LineAnswer, grouping: Grouping): Pick<CurveData, "low" | "high"> {
  const a = answer.arrays as [Float64Array, ...Float64Array[]];
  const array = (place: number) => a[place] as Float64Array;
  if (grouping.show === "sum" || grouping.band === "none") return { low: null, high: null };
  if (grouping.band === "range") {
    return { low: array(kGroup.least), high: array(kGroup.greatest) };
  }
  if (grouping.band === "quartiles") {
    return { low: array(kGroup.lowerQuartile), high: array(kGroup.upperQuartile) };
  }
  const half = array(grouping.band === "std" ? kGroup.deviation : kGroup.interval);
  // No interval where there is only one, or where the units are no repetitions of each other.
  if (grouping.band === "ci" && answer.interval !== 0) return { low: null, high: null };
  const mean = array(kGroup.mean);
  return {
    low: mean.map((v, i) => v - (half[i] as number)),
    high: mean.map((v, i) => v + (half[i] as number)),
  };
}

const kNoInterval: Record<number, string> = {
  3: "no 95 % interval of an expression",
  1: "no 95 % interval: the runs are not repetitions of each other",
  2: "no 95 % interval: n = 1",
};

// Why a group has no band where one was asked for.
function noBand({ interval, units }: LineAnswer, { show, band }: Grouping): string | undefined {
  if (show === "sum" || band === "none") return undefined;
  if (band === "ci") return kNoInterval[interval];
  return units === 1 ? "no band: n = 1" : undefined;
}

const noComparedBand = ({ as }: Baseline, { show, band }: Grouping) =>
  show !== "sum" && band !== "none" ? `no band: a ${as} of ${show}s has none` : undefined;

// A curve whose every column is smoothed; bands by both of their ends.
function smoothedCurve(curve: CurveData, smoothing: Smoothing | null): CurveData {
  if (smoothing === null) return curve;
  const each = (curve.to - curve.from) / curve.value.length;
  const [value, low, high] = [curve.value, curve.low, curve.high].map(
    (one) => one && smoothedColumns(one, smoothing, each),
  );
  return { ...curve, value: value as Float64Array, low: low ?? null, high: high ?? null };
}

interface Palette {
  theme: ChartTheme;
  hidden: ReadonlySet<string>;
  // Spreads of alike epochs, on the condensed axis.
  spreads?: Spreads | undefined;
}

// The answer for a group; of an expression it is made from the values of its runs.
function groupFound(
  lines: readonly LineDef[],
  answer: Charts,
  making: Making,
): LineAnswer | undefined {
  if (lines.every(({ made }) => made === undefined)) return answer.lines.get(groupKey(lines));
  const found = lines.map((line) => ({
    run: line.run,
    of: derivedValues(line, { answer, ...making }),
  }));
  const known = found.flatMap(({ run, of }) => (of === null ? [] : [{ run, value: of.value }]));
  return known.length < found.length ? undefined : groupAnswer(known);
}

function groupLines(
  chart: ChartDef,
  answer: Charts | undefined,
  at: { making: Making; grouping: Grouping; palette: Palette },
): ChartLine[] {
  const { making, grouping, palette } = at;
  const { baseline, groups } = making;
  const valuesOf = (line: LineAnswer) => line.arrays[kGroup[grouping.show]] as Float64Array;
  const answerOf = (lines: readonly LineDef[]) => answer && groupFound(lines, answer, making);
  const base = groups.find((group) => group.key === baseline?.key);
  const baseAnswer = base && answerOf(linesOfGroup(chart, base, making.runs));
  return groups.flatMap((group) => {
    const lines = linesOfGroup(chart, group, making.runs);
    if (lines.length === 0) return [];
    const found = answerOf(lines);
    let curve: CurveData | null = null;
    let told = found && noBand(found, grouping);
    if (found && answer) {
      const { from, to } = answer;
      const made = { value: valuesOf(found), ...bandOf(found, grouping), from, to };
      curve = baseline === null ? smoothedCurve(made, making.smoothing) : made;
      if (baseline !== null) {
        const other = baseAnswer ? valuesOf(baseAnswer) : curve.value.map(() => Number.NaN);
        const result = compared(curve.value, other, baseline);
        curve = { from, to, value: result.value, low: null, high: null };
        told = result.told ?? noComparedBand(baseline, grouping);
      }
    }
    return [
      {
        key: group.key,
        label: group.label,
        colour: seriesColour(palette.theme, group.index),
        dash: groups.length > 1 ? seriesDash(group.index) : [],
        hidden: palette.hidden.has(group.key),
        data: null,
        curve,
        ...(found ? { note: `n = ${formatCount(found.units)}` } : {}),
        ...(told === undefined ? {} : { told }),
      },
    ];
  });
}

// The run or the group of a line, as a possible baseline; null if there is no other, or if all runs share the line.
export function baselineOf(
  key: string,
  chart: { def: ChartDef; second: ChartDef | null },
  { grouping, groups, runs }: Pick<Making, "grouping" | "groups" | "runs">,
): string | null {
  const named = grouping === null ? runs.map(({ id }) => id) : groups.map((group) => group.key);
  const [own = key] = chart.second === null ? [] : [withoutEnd(key, `/${chart.second.name}`)];
  if (named.length < 2) return null;
  if (named.includes(own)) return own;
  if (grouping !== null) return null;
  const line = [...chart.def.lines, ...(chart.second?.lines ?? [])].find((one) => one.key === own);
  if (line === undefined) return null;
  const workload = runs.find((run) => run.id === line.run)?.workload;
  const alike = line.shared && runs.every((run) => run.workload === workload);
  return alike ? null : line.run;
}

const withoutEnd = (text: string, end: string) =>
  text.endsWith(end) ? text.slice(0, -end.length) : text;

function baseLine(chart: ChartDef, line: LineDef, making: Making): LineDef | undefined {
  const key = making.baseline?.key;
  const workload = making.runs.find((run) => run.id === key)?.workload;
  const workloadOf = (id: string) => making.runs.find((run) => run.id === id)?.workload;
  return chart.lines.find(
    (other) =>
      other.source === line.source &&
      (other.shared ? workloadOf(other.run) === workload : other.run === key),
  );
}

function derivedCurve(
  line: LineDef,
  { answer, making }: { answer: Charts; making: Making },
): Pick<ChartLine, "curve" | "told"> {
  const found: Derived | null = derivedValues(line, { answer, ...making });
  if (found === null) return { curve: null };
  const { from, to } = answer;
  const { value, ...rest } = found;
  const curve = { value, low: null, high: null, from, to };
  return { ...rest, curve: smoothedCurve(curve, making.smoothing) };
}

const kNotComputed = "an expression needs an axis of time, steps or a metric";

function curveOf(
  chart: ChartDef,
  line: LineDef,
  at: { answer: Charts; making: Making },
): Pick<ChartLine, "curve" | "told"> {
  const { answer, making } = at;
  const { from, to } = answer;
  const plain = (value: Float64Array): CurveData => ({ value, low: null, high: null, from, to });
  const { baseline } = making;
  if (line.made !== undefined && baseline === null) return derivedCurve(line, at);
  if (baseline === null) {
    const smooth = answer.lines.get(`smooth/${line.series}`)?.arrays[0];
    return { curve: smooth ? plain(smooth) : null };
  }
  const base = baseLine(chart, line, making);
  if (base === undefined)
    return { curve: null, told: `nothing to compare: not measured in ${baseline.label}` };
  const [value, other] = [line, base].map((one) =>
    one.made === undefined
      ? answer.lines.get(`mean/${one.series}`)?.arrays[0]
      : derivedValues(one, { answer, ...making })?.value,
  );
  if (!value || !other) return { curve: null };
  const { value: ratios, ...rest } = compared(value, other, baseline);
  return { ...rest, curve: plain(ratios) };
}

// Between points, in units of the axis; epochs have their own lengths.
function spacingOn(answer: Charts | undefined, line: LineDef): number {
  const axis = answer?.asked.axis;
  return axis === "step" ? line.stepping : axis === "time" ? line.spacing : 0;
}

const kSpreadPlaces = 128;

// Constant within each part of an epoch.
function spreadCurve({ median, p10, p90, from, to }: FoldSpread): CurveData {
  const each = kSpreadPlaces / median.length;
  const stepped = (values: Float64Array) =>
    Float64Array.from({ length: kSpreadPlaces }, (_, i) => values[Math.floor(i / each)] as number);
  return { value: stepped(median), low: stepped(p10), high: stepped(p90), from, to };
}

// The spread of a line's folds, or why it has none.
function spreadOf(
  line: LineDef,
  spreads: Spreads | undefined,
): Pick<ChartLine, "spreads" | "told"> {
  if (spreads === undefined) return {};
  const none = (why: string) => ({ told: `no p10–p90: ${why}` });
  if (spreads.why !== null) return none(spreads.why);
  const all = spreads.series.get(line.series);
  // Not known yet: they are still those of the chart's lines before.
  if (all === undefined) return {};
  const known = all.filter(({ median }) => median.some((v) => !Number.isNaN(v)));
  if (known.length === 0) return none(`fewer than ${kLeastEpochs} epochs have points`);
  return { spreads: known.map(spreadCurve) };
}

// "p10–p90 of 41 epochs", of "64/410" where not all were read; of several folds the greatest.
export function spreadWords(spreads: Spreads | undefined): string[] {
  const all = [...(spreads?.series.values() ?? [])].flat();
  const most = all.reduce<FoldSpread | null>(
    (best, one) => (best === null || one.epochs > best.epochs ? one : best),
    null,
  );
  if (most === null) return [];
  const { read, epochs } = most;
  const of = read < epochs ? `${read}/${formatCount(epochs)}` : formatCount(epochs);
  return [`p10–p90 of ${of} epochs`];
}

function expressionOf(
  { made }: LineDef,
  { name }: ChartDef,
  { computes }: Making,
): Pick<ChartLine, "expression" | "told"> {
  if (made === undefined) return {};
  return computes ? { expression: name } : { expression: name, told: kNotComputed };
}

// The lines of a chart with the answers so far.
export function linesOf(
  chart: ChartDef,
  answer: Charts | undefined,
  at: { making: Making } & Palette,
): ChartLine[] {
  const { making, theme, hidden, spreads } = at;
  const { grouping } = making;
  const columnsDrawn = drawsColumns(making);
  const singles: ChartLine[] = (grouping === null || columnsDrawn ? chart.lines : []).map(
    (line) => {
      const measured = columnsDrawn && line.made === undefined;
      const columns = measured ? answer?.series.get(line.series) : undefined;
      const range = answer && { from: answer.from, to: answer.to, width: answer.width };
      return {
        key: line.key,
        label: line.label,
        colour: line.colour === null ? theme.ink2 : seriesColour(theme, line.colour),
        // A line that is alone needs no second sign.
        dash: chart.lines.length > 1 ? seriesDash(line.dash) : [],
        hidden: hidden.has(line.key),
        data: columns && range ? { columns, ...range, spacing: spacingOn(answer, line) } : null,
        curve: null,
        ...(answer && (grouping === null || (columnsDrawn && line.made !== undefined))
          ? curveOf(chart, line, { answer, making })
          : {}),
        ...(making.x === null
          ? expressionOf(line, chart, making)
          : pairsOf(line, chart.name, { answer, over: making })),
        ...(columns ? spreadOf(line, spreads) : {}),
        ...(grouping === null ? {} : { faint: true }),
      };
    },
  );
  if (grouping === null) return singles;
  return [
    ...singles,
    ...groupLines(chart, answer, { making, grouping, palette: { theme, hidden } }),
  ];
}

const kPairReach = 0.01;

// The value of the pair nearest to a place on x, null beyond a hundredth of all that the pairs span.
export function pairAt({ x, y }: PairData, at: number): number | null {
  let [best, found] = [Number.POSITIVE_INFINITY, Number.NaN];
  let [least, greatest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let i = 0; i < x.length; i++) {
    const here = x[i] as number;
    if (Number.isNaN(here)) continue; // a gap
    if (here < least) least = here;
    if (here > greatest) greatest = here;
    const distance = Math.abs(here - at);
    if (distance >= best) continue;
    best = distance;
    found = y[i] as number;
  }
  return best > (greatest - least) * kPairReach || Number.isNaN(found) ? null : found;
}

// The value of a curve at a place on its axis, null where there is none.
function curveAt({ value, from, to }: CurveData, x: number): number | null {
  const i = Math.floor(((x - from) / (to - from)) * value.length);
  const found = value[i];
  return found === undefined || Number.isNaN(found) ? null : found;
}

// The value of a line at a place on its axis, null where there is none.
export function lineAt(line: ChartLine, x: number): number | null {
  if (line.curve) return curveAt(line.curve, x);
  if (line.pairs) return pairAt(line.pairs, x);
  return line.data === null ? null : valueAt(line.data, x);
}
