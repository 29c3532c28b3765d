// The spread of a series over the alike epochs that a fold of the condensed axis stands for: at each place within the
// epoch the median and the 10th and 90th percentiles of the epochs' means there. Each epoch is scaled to the length of
// the typical one. At most 64 epochs of a fold are read, spread evenly over it.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { nanos } from "../format/nanos";
import { quantile } from "../format/quantile";
import { nsAt } from "../format/time";
import { postBinary } from "./client";
import type { Fold, Stretch } from "./condensed";
import { decodeLines, kAcceptLines } from "./lines";

export interface FoldSpread {
  // The typical epoch's place on the axis.
  from: number;
  to: number;
  // A value for each of equal parts of it; NaN where too few epochs have points.
  median: Float64Array;
  p10: Float64Array;
  p90: Float64Array;
  // Epochs that it was computed from, and those that the fold stands for.
  read: number;
  epochs: number;
}

export interface Spreads {
  // By series, in the order of the folds.
  series: ReadonlyMap<number, readonly FoldSpread[]>;
  // Why there are none, for all series.
  why: string | null;
}

export interface SpreadSeries {
  id: number;
  origin: bigint;
  // Seconds between points, 0 when unknown.
  spacing: number;
}

// Percentiles of fewer say nothing; the analysis compares epochs from 8 on, too.
export const kLeastEpochs = 8;
const kMostColumns = 128;
// The server's columns per part, so that points at the end of an epoch fall into its last part.
const kFiner = 2;
// Each series and fold of a chart is a question.
const kMostQuestions = 96;
const kAtOnce = 4;

// Parts of an epoch: a power of two, each with a point or more on average.
export function columnsOf(length: number, spacing: number): number {
  const points = spacing > 0 ? length / spacing : kMostColumns;
  return 2 ** Math.floor(Math.log2(Math.max(1, Math.min(kMostColumns, points))));
}

// The mean in each of `columns` equal parts of `length`, from means and counts of finer columns over `span`.
export function inColumns(
  [mean, count]: readonly [Float64Array, Float64Array],
  { span, length, columns }: { span: number; length: number; columns: number },
): Float64Array {
  const sums = new Float64Array(columns);
  const counts = new Float64Array(columns);
  for (let i = 0; i < mean.length; i++) {
    const at = Math.floor((((i + 0.5) / mean.length) * span * columns) / length);
    const n = count[i] as number;
    if (at >= columns || !(n > 0)) continue;
    sums[at] = (sums[at] as number) + (mean[i] as number) * n;
    counts[at] = (counts[at] as number) + n;
  }
  return sums.map((sum, i) => (counts[i] === 0 ? Number.NaN : sum / (counts[i] as number)));
}

// Over epochs with a value for each part.
export function spreadOver(
  epochs: readonly Float64Array[],
): Pick<FoldSpread, "median" | "p10" | "p90"> {
  const columns = epochs[0]?.length ?? 0;
  const [p10, median, p90] = [0, 1, 2].map(() => new Float64Array(columns).fill(Number.NaN)) as [
    Float64Array,
    Float64Array,
    Float64Array,
  ];
  for (let i = 0; i < columns; i++) {
    const known = Float64Array.from(
      epochs.flatMap((one) => (Number.isNaN(one[i]) ? [] : [one[i] as number])),
    ).sort();
    if (known.length < kLeastEpochs) continue;
    p10[i] = quantile(known, 0.1);
    median[i] = quantile(known, 0.5);
    p90[i] = quantile(known, 0.9);
  }
  return { p10, median, p90 };
}

interface FoldAt {
  at: number;
  fold: Fold;
}

export const foldsOf = (stretches: readonly Stretch[]): FoldAt[] =>
  stretches.flatMap(({ at, fold }) => (fold === null ? [] : [{ at, fold }]));

// A question to /lines about a series and a fold, and the spread that its answer gives.
interface FoldQuestion {
  id: number;
  body: object;
  spreadOf: (answer: ArrayBuffer) => FoldSpread;
}

function foldQuestion({ id, origin, spacing }: SpreadSeries, { at, fold }: FoldAt): FoldQuestion {
  const chosen = fold.times;
  const span = Math.max(...chosen.map(({ from, to }) => to - from));
  const columns = columnsOf(fold.length, spacing);
  const lines = chosen.map(({ from }) => ({
    kind: "mean",
    series: [id],
    origins_ns: [nsAt(from, origin)],
  }));
  const range = { axis: "relative", from_ns: "0", to_ns: nsAt(span, nanos(0)) };
  const body = { ...range, width: columns * kFiner, exact: true, lines };
  const spreadOf = (answer: ArrayBuffer) => {
    const values = decodeLines(answer).lines.map(({ arrays }, i) => {
      const [mean, , , count] = arrays as [Float64Array, Float64Array, Float64Array, Float64Array];
      const { from = 0, to = 0 } = chosen[i] ?? {};
      return inColumns([mean, count], { span, length: to - from, columns });
    });
    const place = { from: at, to: at + fold.length };
    return { ...place, ...spreadOver(values), read: chosen.length, epochs: fold.epochs };
  };
  return { id, body, spreadOf };
}

const kNothing: ReadonlyMap<number, readonly FoldSpread[]> = new Map();

// The questions for the spreads of all series and folds; or why there are none.
export function spreadQuestions(
  series: readonly SpreadSeries[],
  stretches: readonly Stretch[],
): { questions: FoldQuestion[]; why: string | null } {
  const folds = foldsOf(stretches).filter(({ fold }) => fold.times.length >= kLeastEpochs);
  if (folds.length === 0)
    return { questions: [], why: `fewer than ${kLeastEpochs} alike epochs in a row` };
  if (series.length * folds.length > kMostQuestions)
    return { questions: [], why: "too many lines and folds" };
  const questions = series.flatMap((one) => folds.map((fold) => foldQuestion(one, fold)));
  return { questions, why: null };
}

// The answers in the order of the questions.
export function spreadsOf(
  questions: readonly FoldQuestion[],
  answers: readonly ArrayBuffer[],
): Spreads {
  const found = new Map<number, FoldSpread[]>();
  for (const [i, { id, spreadOf }] of questions.entries())
    found.set(id, [...(found.get(id) ?? []), spreadOf(answers[i] as ArrayBuffer)]);
  return { series: found, why: null };
}

export async function askSpreads(
  series: readonly SpreadSeries[],
  stretches: readonly Stretch[],
  signal?: AbortSignal,
): Promise<Spreads> {
  const { questions, why } = spreadQuestions(series, stretches);
  if (why !== null) return { series: kNothing, why };
  const answers: ArrayBuffer[] = [];
  for (let i = 0; i < questions.length; i += kAtOnce) {
    const some = questions.slice(i, i + kAtOnce);
    const ask = ({ body }: FoldQuestion) =>
      postBinary("/lines", { body, accept: kAcceptLines, signal });
    answers.push(...(await Promise.all(some.map(ask))));
  }
  return spreadsOf(questions, answers);
}

// True if every fold is still where the spread was computed for it.
const isPlaced = ({ series }: Spreads, stretches: readonly Stretch[]) => {
  const places = new Set(foldsOf(stretches).map(({ at, fold }) => `${at} ${at + fold.length}`));
  return [...series.values()].flat().every(({ from, to }) => places.has(`${from} ${to}`));
};

// The spreads of a chart's series; undefined: not asked for, or not known yet.
export function useSpreads(
  series: readonly SpreadSeries[],
  at: { stretches: readonly Stretch[]; wanted: boolean },
): Spreads | undefined {
  const { stretches, wanted } = at;
  const folds = foldsOf(stretches).map(({ at, fold }) => [at, fold.first, fold.last, fold.typical]);
  const { data, error } = useQuery({
    queryKey: ["spreads", series.map(({ id, origin }) => [id, String(origin)]), folds],
    queryFn: ({ signal }) => askSpreads(series, stretches, signal),
    enabled: wanted && folds.length > 0 && series.length > 0,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    placeholderData: keepPreviousData,
  });
  if (folds.length === 0) return undefined;
  if (data !== undefined) return isPlaced(data, stretches) ? data : undefined;
  return error ? { series: kNothing, why: error.message } : undefined;
}
