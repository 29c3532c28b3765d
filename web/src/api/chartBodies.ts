// Questions about charts as the bodies of requests (docs/api.md), and their answers put together. Pure.

import { nanos } from "../format/nanos";
import type { Columns } from "./columns";
import { type Stretch, seenStretches } from "./condensed";
import { type EpochAxis, epochAt, timeAt } from "./epochs";
import type { LineAnswer, LineQuestion } from "./lines";
import { joinColumns, rebin } from "./rebin";
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
  // On the axis of a metric: over the time of all runs, what computed pairs are made of.
  over?: ChartsQuestion;
  // Computed lines by key.
  lines: ({ key: string } & LineQuestion)[];
  // Seconds since the origins, or steps.
  from: number;
  to: number;
  // Device pixels of one plot.
  width: number;
  // Grows when the same question may have a new answer.
  revision: number;
  // A run may still extend its data; absent: none does.
  live?: boolean;
}

export interface Charts {
  series: Map<number, Columns>;
  lines: Map<string, LineAnswer>;
  // By y's series.
  pairs: Map<number, XyLine>;
  over: Charts | null;
  from: number;
  to: number;
  width: number;
  // Every part is that of all points.
  exact: boolean;
  // Its columns are finer than the pixels, because only those that changed were asked for (growing.ts).
  growing: boolean;
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

// For POST /charts; on the axes of time and steps. `since`: of each series the first column to send; null: all.
export function columnsBodies(
  question: ColumnsQuestion,
  exact: boolean,
  since: readonly number[] | null = null,
): object[] {
  return parts(question.series, kMaxSeries).map((some, i) => ({
    series: some.map((one) => one.id),
    ...(since === null ? {} : { since: since.slice(i * kMaxSeries, (i + 1) * kMaxSeries) }),
    ...(question.axis === "time" ? { origins_ns: some.map((one) => String(one.origin)) } : {}),
    ...commonOf(question, exact),
    mode: "auto",
  }));
}

// A question on the axes of time and steps, and where its columns stand on the axis that was asked for.
export interface ColumnPart {
  question: ColumnsQuestion;
  placed: (columns: Columns) => Columns;
}

export function columnParts(question: ChartsQuestion): ColumnPart[] {
  if (question.axis === "epoch") return epochParts(question);
  if (question.axis === "condensed") return condensedParts(question);
  return [{ question, placed: (columns) => columns }];
}

// The columns of all series by id, from the answers in the order of the parts.
export function joinedParts(
  { series }: Pick<ChartsQuestion, "series">,
  parts: readonly ColumnPart[],
  answers: readonly ReadonlyMap<number, Columns>[],
): Map<number, Columns> {
  const placed = parts.map(({ placed }, i) => {
    const found = [...(answers[i] as ReadonlyMap<number, Columns>)];
    return new Map(found.map(([id, columns]) => [id, placed(columns)] as const));
  });
  return new Map(
    series.flatMap(({ id }) => {
      const all = placed.flatMap((answer) => answer.get(id) ?? []);
      const joined = all.length > 1 ? joinColumns(all) : (all[0] ?? null);
      return joined === null ? [] : [[id, joined] as const];
    }),
  );
}

const kFiner = 4;
const kWidest = 8192;

// Every run has a range of its own; its columns are moved to where their epochs are.
function epochParts(question: ChartsQuestion): ColumnPart[] {
  const byRun = new Map<EpochAxis, ChartsQuestion["series"]>();
  for (const one of question.series) {
    if (one.epochs === undefined) continue;
    const some = byRun.get(one.epochs) ?? [];
    byRun.set(one.epochs, some);
    some.push(one);
  }
  const span = question.to - question.from;
  return [...byRun].flatMap(([epochs, series]) => {
    const [from, to] = [timeAt(epochs, question.from), timeAt(epochs, question.to)];
    if (!(to > from)) return [];
    // Finer than the picture, because epochs of different lengths stretch.
    const width = Math.min(kWidest, question.width * kFiner);
    const placed = (columns: Columns) =>
      rebin(columns, (px) => {
        const epoch = epochAt(epochs, from + (px * (to - from)) / width);
        return ((epoch - question.from) / span) * question.width;
      });
    return [{ question: { axis: "time" as const, series, from, to, width }, placed }];
  });
}

// Each piece that is seen is asked for by itself, as wide as it is drawn.
function condensedParts(question: ChartsQuestion): ColumnPart[] {
  const { series, width } = question;
  const scale = width / (question.to - question.from);
  return seenStretches(question.stretches ?? [], question).map(({ from, to, at, until }) => {
    const wide = Math.max(1, Math.round((until - at) * scale));
    const left = (at - question.from) * scale;
    const move = (px: number) => left + (px / wide) * (until - at) * scale;
    return {
      question: { axis: "time" as const, series, from, to, width: wide },
      placed: (columns) => rebin(columns, move),
    };
  });
}

// For POST /lines.
export function linesBodies(question: ChartsQuestion, exact: boolean): object[] {
  return parts(question.lines, kMaxLines).map((some) => ({
    lines: some.map(({ key: _, ...line }) => line),
    ...commonOf(question, exact),
  }));
}

export const kNoQuestion: ChartsQuestion = {
  axis: "time",
  series: [],
  lines: [],
  from: 0,
  to: 1,
  width: 0,
  revision: 0,
};

export const asksNothing = ({ series, lines, pairs = [], over }: ChartsQuestion): boolean =>
  series.length + lines.length + pairs.length === 0 && over === undefined;

// For POST /xy.
export function pairsBodies({ pairs = [], from, to, width }: ChartsQuestion): object[] {
  return parts(pairs, kMaxLines).map((lines) => ({ lines, from, to, width, height: kPairsHeight }));
}

// `lines` and `pairs` in the order of the question.
export function chartsOf(
  question: ChartsQuestion,
  answer: {
    series: Map<number, Columns>;
    lines: readonly LineAnswer[];
    pairs: readonly XyLine[];
    over: Charts | null;
    growing?: boolean;
  },
): Charts {
  const { series, lines, pairs, over, growing = false } = answer;
  const exact =
    [...series.values(), ...lines].every((one) => one.exact) && (over === null || over.exact);
  return {
    series,
    lines: new Map(question.lines.map(({ key }, i) => [key, lines[i] as LineAnswer])),
    pairs: new Map((question.pairs ?? []).map(({ y }, i) => [y, pairs[i] as XyLine])),
    over,
    ...drawnRange(question),
    width: question.width,
    exact,
    growing,
    asked: question,
  };
}
