// Questions about charts as the bodies of requests (docs/api.md), and their answers put together. Pure.

import { nanos } from "../format/nanos";
import type { Columns } from "./columns";
import type { Stretch } from "./condensed";
import type { EpochAxis } from "./epochs";
import type { LineAnswer, LineQuestion } from "./lines";
import type { XyLine } from "./xy";

export const kAcceptCharts = "application/x-corral-chart";
export const kAcceptPairs = "application/x-corral-xy";
const kMaxSeries = 256;
const kMaxLines = 64;
const kPairsHeight = 600;

// `time`: ns on the axis of each series' own origin; `step`: steps; `epoch`: epochs of each series' run; `condensed`:
// its stretches, from left to right; `metric`: the values of another series.
export interface ChartsQuestion {
  axis: "time" | "step" | "epoch" | "condensed" | "metric";
  // The pieces of a condensed axis, of its only run.
  stretches?: readonly Stretch[];
  // With the origin of each on the axis of time, ns of UTC; on that of epochs when they were.
  series: { id: number; origin: bigint; epochs?: EpochAxis }[];
  // On the axis of a metric: a line through (x, y) for every y.
  pairs?: { x: number; y: number }[];
  // Computed lines by key.
  lines: ({ key: string } & LineQuestion)[];
  // Seconds since the origins, or steps.
  from: number;
  to: number;
  // Device pixels of one plot.
  width: number;
  // Grows when the same question may have a new answer.
  revision: number;
}

export interface Charts {
  series: Map<number, Columns>;
  lines: Map<string, LineAnswer>;
  // By y's series.
  pairs: Map<number, XyLine>;
  from: number;
  to: number;
  width: number;
  // Every part is that of all points.
  exact: boolean;
  // The question that `data` answers.
  asked: ChartsQuestion;
}

export type ColumnsQuestion = Pick<ChartsQuestion, "axis" | "series" | "from" | "to" | "width">;

const ns = (seconds: number) => String(nanos(Math.round(seconds * 1e9)));

type Span = Pick<ChartsQuestion, "axis" | "from" | "to">;

function rangeOf({ axis, from, to }: Span): Record<string, string> {
  if (axis !== "step") return { from_ns: ns(from), to_ns: ns(to) };
  const first = Math.floor(from);
  return { from_step: String(first), to_step: String(Math.max(first + 1, Math.ceil(to))) };
}

// On the axis of steps the server's range is whole steps: the drawn range is the covered one.
function drawnRange({ axis, from, to }: Span): { from: number; to: number } {
  if (axis !== "step") return { from, to };
  return { from: Math.floor(from), to: Math.max(Math.floor(from) + 1, Math.ceil(to)) };
}

function parts<T>(all: readonly T[], most: number): T[][] {
  const out: T[][] = [];
  for (let i = 0; i < all.length; i += most) out.push(all.slice(i, i + most));
  return out;
}

const commonOf = (question: Span & { width: number }, exact: boolean) => ({
  ...rangeOf(question),
  axis: question.axis === "time" ? "relative" : "step",
  width: question.width,
  exact,
});

// For POST /charts; on the axes of time and steps.
export function columnsBodies(question: ColumnsQuestion, exact: boolean): object[] {
  return parts(question.series, kMaxSeries).map((some) => ({
    series: some.map((one) => one.id),
    ...(question.axis === "time" ? { origins_ns: some.map((one) => String(one.origin)) } : {}),
    ...commonOf(question, exact),
    mode: "auto",
  }));
}

// For POST /lines.
export function linesBodies(question: ChartsQuestion, exact: boolean): object[] {
  return parts(question.lines, kMaxLines).map((some) => ({
    lines: some.map(({ key: _, ...line }) => line),
    ...commonOf(question, exact),
  }));
}

// For POST /xy.
export function pairsBodies({ pairs = [], from, to, width }: ChartsQuestion): object[] {
  return parts(pairs, kMaxLines).map((lines) => ({ lines, from, to, width, height: kPairsHeight }));
}

// `lines` and `pairs` in the order of the question.
export function chartsOf(
  question: ChartsQuestion,
  answer: { series: Map<number, Columns>; lines: readonly LineAnswer[]; pairs: readonly XyLine[] },
): Charts {
  const { series, lines, pairs } = answer;
  const exact = [...series.values(), ...lines].every((one) => one.exact);
  return {
    series,
    lines: new Map(question.lines.map(({ key }, i) => [key, lines[i] as LineAnswer])),
    pairs: new Map((question.pairs ?? []).map(({ y }, i) => [y, pairs[i] as XyLine])),
    ...drawnRange(question),
    width: question.width,
    exact,
    asked: question,
  };
}
