// Lines over a metric or an expression instead of time: which x belongs to a line, the questions about them, and their
// pairs. The server pairs two measured series point by point. With an expression, the means of columns of the runs' whole
// time are paired. Pure.
import type { Charts, ChartsQuestion } from "../api/useCharts";
import type { ChartLine, PairData } from "../charts/spec";
import {
  type Derived,
  derivedChart,
  derivedValues,
  inputQuestions,
  placedInputs,
  reachOf,
} from "./derived";
import { type ChartDef, fullRange, type LineDef, type ShownRun } from "./model";

// Columns of the whole time.
const kColumns = 2048;

export interface Over {
  // The metric or expression of the axis; null: the axis is another.
  x: ChartDef | null;
  runs: readonly ShownRun[];
}

// The axis of this name; null: these runs do not have it.
export const axisDef = (
  name: string | undefined,
  at: { defs: readonly ChartDef[]; runs: readonly ShownRun[] },
): ChartDef | null =>
  name === undefined
    ? null
    : (at.defs.find((def) => def.name === name) ?? derivedChart(name, at).def);

// A line's x is that of the same run, of the same source where it has several.
function xOf(line: LineDef, { x, runs }: Over): LineDef | null {
  const workloads = new Map(runs.map((run) => [run.id, run.workload]));
  // A series of a host or device applies to every run of its workload.
  const mine = (x?.lines ?? []).filter(
    (other) =>
      other.run === line.run ||
      ((other.shared || line.shared) && workloads.get(other.run) === workloads.get(line.run)),
  );
  return mine.find((other) => other.source === line.source) ?? mine[0] ?? null;
}

const isComputed = (line: LineDef, x: LineDef) => line.made !== undefined || x.made !== undefined;

// As a line of an expression, which for a measured one is its name alone; its time begins at `origin`.
function asMade(line: LineDef, name: string, origin: bigint): LineDef {
  const made = line.made ?? { node: { kind: "metric", name }, inputs: [{ metric: name, line }] };
  const inputs = made.inputs.map((input) => ({ ...input, line: { ...input.line, origin } }));
  return { ...line, origin, made: { ...made, inputs } };
}

// All that there is of the inputs of these lines.
function wholeTime(lines: readonly LineDef[], runs: readonly ShownRun[]): ChartsQuestion {
  const placed = new Map(lines.flatMap(placedInputs).map((line) => [line.series, line]));
  return {
    axis: "time",
    series: [...placed].map(([id, { origin }]) => ({ id, origin })),
    lines: inputQuestions(lines, true),
    ...fullRange(runs),
    width: kColumns,
    revision: 0,
  };
}

// The pairs that the server makes, and the question about the inputs of the others.
export function pairsAsked(
  charts: readonly ChartDef[],
  over: Over,
): Pick<ChartsQuestion, "pairs" | "over"> {
  const pairs: { x: number; y: number }[] = [];
  const computed: LineDef[] = [];
  for (const { name, lines } of charts) {
    for (const line of lines) {
      const x = xOf(line, over);
      if (x === null) continue;
      if (!isComputed(line, x)) pairs.push({ x: x.series, y: line.series });
      else
        computed.push(
          asMade(line, name, line.origin),
          asMade(x, over.x?.name as string, line.origin),
        );
    }
  }
  return computed.length === 0 ? { pairs } : { pairs, over: wholeTime(computed, over.runs) };
}

// Each value of y with the last value of x that is at most `reach` columns before it; NaN between two where others have
// none.
export function joined(x: Float64Array, y: Float64Array, reach: number): PairData {
  const pairs: [number, number][] = [];
  let last = Number.NEGATIVE_INFINITY;
  let broken = false;
  for (let i = 0; i < y.length; i++) {
    if (!Number.isNaN(x[i])) last = i;
    if (Number.isNaN(y[i])) continue;
    if (i - last > reach) {
      broken = pairs.length > 0;
      continue;
    }
    if (broken) pairs.push([Number.NaN, Number.NaN]);
    broken = false;
    pairs.push([x[last] as number, y[i] as number]);
  }
  return { x: Float64Array.from(pairs, ([at]) => at), y: Float64Array.from(pairs, ([, v]) => v) };
}

// The pairs of one line; null: none, or not answered yet.
export function pairsOf(
  line: LineDef,
  name: string,
  { answer, over }: { answer: Charts | undefined; over: Over },
): Pick<ChartLine, "expression" | "told"> & { pairs: PairData | null } {
  const x = xOf(line, over);
  if (x === null) return { pairs: null };
  if (!isComputed(line, x)) return { pairs: answer?.pairs.get(line.series) ?? null };
  const xName = over.x?.name as string;
  const expression = `${name} over ${xName}`;
  const whole = answer?.over ?? null;
  const valuesOf = (one: LineDef, metric: string): Derived | null =>
    whole && derivedValues(asMade(one, metric, line.origin), { answer: whole, onTime: true });
  const [xs, ys] = [valuesOf(x, xName), valuesOf(line, name)];
  if (xs === null || ys === null) return { pairs: null, expression };
  const told = xs.told ?? ys.told;
  const { length } = xs.value;
  const pairs = joined(xs.value, ys.value, whole === null ? 0 : reachOf(x, { ...whole, length }));
  return { pairs, expression, ...(told === undefined ? {} : { told }) };
}

// The question about the values of an axis that is an expression; null: its metric was measured, and its range is known.
export function axisQuestion(x: ChartDef | null, runs: readonly ShownRun[]): ChartsQuestion | null {
  const made = x?.lines.filter((line) => line.made !== undefined) ?? [];
  return made.length === 0 ? null : wholeTime(made, runs);
}

// The axis with the least and greatest value of each line.
export function withExtremes(x: ChartDef, answer: Charts): ChartDef {
  const lines = x.lines.map((line) => {
    const values = derivedValues(line, { answer, onTime: true })?.value.filter(Number.isFinite);
    if (!values?.length) return line;
    const least = values.reduce((a, b) => Math.min(a, b));
    return { ...line, least, greatest: values.reduce((a, b) => Math.max(a, b)) };
  });
  return { ...x, lines };
}

// The measured series that the answer to a question has.
export const seriesAsked = ({ series, lines, pairs = [], over }: ChartsQuestion): number[] => [
  ...series.map(({ id }) => id),
  ...lines.flatMap((line) => line.series),
  ...pairs.map(({ y }) => y),
  ...(over?.lines.flatMap((line) => line.series) ?? []),
];
