// All charts' columns in one request (the server takes 256 series at most, so rarely in two), and in another the lines
// computed from all points: smoothed lines, groups, means. First an aligned answer, fast for any amount of data; once
// the view rests an exact one. A newer question aborts the older, save one that only follows the live end; until the
// answer is there the older picture stays.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import {
  type Charts,
  type ChartsQuestion,
  type ColumnsQuestion,
  chartsOf,
  columnsBodies,
  kAcceptCharts,
  kAcceptPairs,
  linesBodies,
  pairsBodies,
} from "./chartBodies";
import { postBinary } from "./client";
import { type Columns, decodeCharts } from "./columns";
import { seenStretches } from "./condensed";
import { type EpochAxis, epochAt, timeAt } from "./epochs";
import { decodeLines, kAcceptLines, type LineAnswer } from "./lines";
import { joinColumns, rebin } from "./rebin";
import { decodeXy, type XyLine } from "./xy";

const kRestMs = 120;

export type { Charts, ChartsQuestion } from "./chartBodies";

// The columns of all series by id; on the axes of time and steps.
export async function askColumns(
  question: ColumnsQuestion,
  exact: boolean,
  signal?: AbortSignal,
): Promise<Map<number, Columns>> {
  const answers = await Promise.all(
    columnsBodies(question, exact).map(async (body) =>
      decodeCharts(await postBinary("/charts", { body, accept: kAcceptCharts, signal })),
    ),
  );
  return new Map(answers.flatMap((answer) => [...answer.series]));
}

async function askLines(question: ChartsQuestion, exact: boolean, signal?: AbortSignal) {
  const found: LineAnswer[] = [];
  for (const body of linesBodies(question, exact)) {
    const answer = decodeLines(await postBinary("/lines", { body, accept: kAcceptLines, signal }));
    found.push(...answer.lines);
  }
  return found;
}

// On the axis of epochs every run has a range of its own; its columns are moved to where their epochs are.
async function askEpochs(question: ChartsQuestion, exact: boolean, signal?: AbortSignal) {
  const byRun = new Map<EpochAxis, ChartsQuestion["series"]>();
  for (const one of question.series) {
    if (one.epochs === undefined) continue;
    const some = byRun.get(one.epochs) ?? [];
    byRun.set(one.epochs, some);
    some.push(one);
  }
  const answers = await Promise.all(
    [...byRun].map(async ([epochs, series]) => {
      const [from, to] = [timeAt(epochs, question.from), timeAt(epochs, question.to)];
      if (!(to > from)) return [];
      // Finer than the picture, because epochs of different lengths stretch.
      const width = Math.min(kWidest, question.width * kFiner);
      const asked: ChartsQuestion = { ...question, axis: "time", series, from, to, width };
      const found = await askColumns(asked, exact, signal);
      const at = { epochs, from, to, width, question };
      return [...found].map(([id, columns]) => [id, onEpochs(columns, at)] as const);
    }),
  );
  return new Map(answers.flat());
}

const kFiner = 4;
const kWidest = 8192;

function onEpochs(
  columns: Columns,
  at: { epochs: EpochAxis; from: number; to: number; width: number; question: ChartsQuestion },
): Columns {
  const { epochs, from, to, width, question } = at;
  const span = question.to - question.from;
  return rebin(columns, (px) => {
    const epoch = epochAt(epochs, from + (px * (to - from)) / width);
    return ((epoch - question.from) / span) * question.width;
  });
}

// Each piece that is seen is asked for by itself, as wide as it is drawn.
async function askCondensed(question: ChartsQuestion, exact: boolean, signal?: AbortSignal) {
  const { series, width } = question;
  const scale = width / (question.to - question.from);
  const answers = await Promise.all(
    seenStretches(question.stretches ?? [], question).map(async ({ from, to, at, until }) => {
      const wide = Math.max(1, Math.round((until - at) * scale));
      const asked: ColumnsQuestion = { axis: "time", series, from, to, width: wide };
      const found = await askColumns(asked, exact, signal);
      const left = (at - question.from) * scale;
      const move = (px: number) => left + (px / wide) * (until - at) * scale;
      return new Map([...found].map(([id, columns]) => [id, rebin(columns, move)]));
    }),
  );
  return new Map(
    series.flatMap(({ id }) => {
      const joined = joinColumns(answers.flatMap((answer) => answer.get(id) ?? []));
      return joined === null ? [] : [[id, joined] as const];
    }),
  );
}

async function askPairs(question: ChartsQuestion, signal?: AbortSignal) {
  const found: XyLine[] = [];
  for (const body of pairsBodies(question)) {
    const answer = decodeXy(await postBinary("/xy", { body, accept: kAcceptPairs, signal }));
    found.push(...answer.lines);
  }
  return found;
}

// The answer to a whole question.
export async function askCharts(
  question: ChartsQuestion,
  exact: boolean,
  signal?: AbortSignal,
): Promise<Charts> {
  const columns =
    question.axis === "epoch"
      ? askEpochs
      : question.axis === "condensed"
        ? askCondensed
        : askColumns;
  const [series, lines, pairs] = await Promise.all([
    columns(question, exact, signal),
    askLines(question, exact, signal),
    askPairs(question, signal),
  ]);
  return chartsOf(question, { series, lines, pairs });
}

// Returns true if an older answer may be drawn on the axis of a newer question: x has the same meaning, and both have
// the same zero for the runs they share. Pure.
export function sameAxis(asked: ChartsQuestion, now: ChartsQuestion): boolean {
  if (asked.axis !== now.axis) return false;
  if (JSON.stringify(piecesOf(asked.stretches)) !== JSON.stringify(piecesOf(now.stretches)))
    return false;
  const origins = new Map(asked.series.map(({ id, origin }) => [id, origin]));
  const zeros = new Map(asked.lines.map(({ key, origins_ns }) => [key, origins_ns?.join()]));
  const xs = new Map(asked.pairs?.map(({ x, y }) => [y, x]));
  return (
    now.series.every(({ id, origin }) => (origins.get(id) ?? origin) === origin) &&
    now.lines.every(
      ({ key, origins_ns }) => !zeros.has(key) || zeros.get(key) === origins_ns?.join(),
    ) &&
    (now.pairs ?? []).every(({ x, y }) => (xs.get(y) ?? x) === x)
  );
}

const kGrowth = 0.2;

// The last piece of a running run grows.
const piecesOf = (stretches: ChartsQuestion["stretches"]) =>
  stretches?.map(({ from, to, at, fold }, i) =>
    fold === null && i === stretches.length - 1 ? [from, at] : [from, to, at],
  );

const whatOf = ({ axis, stretches, series, lines, pairs }: ChartsQuestion) =>
  JSON.stringify([
    axis,
    piecesOf(stretches),
    series.map(({ id, origin, epochs }) => [id, String(origin), epochs]),
    lines,
    pairs,
  ]);

// The same picture, only a little longer at its live end.
export function grows(asked: ChartsQuestion, now: ChartsQuestion): boolean {
  return (
    asked.from === now.from &&
    asked.width === now.width &&
    now.to >= asked.to &&
    now.to - asked.to <= (asked.to - asked.from) * kGrowth &&
    whatOf(asked) === whatOf(now)
  );
}

const keyOf = (question: ChartsQuestion) => {
  const { from, to, width, revision } = question;
  return [whatOf(question), from, to, width, revision];
};

// True once `key` has been the same for a moment.
function useRested(key: string): boolean {
  const [rested, setRested] = useState<string | null>(null);
  useEffect(() => {
    const timer = setTimeout(() => setRested(key), kRestMs);
    return () => clearTimeout(timer);
  }, [key]);
  return rested === key;
}

export interface ChartsState {
  data: Charts | undefined;
  // True while `data` answers an earlier question.
  old: boolean;
  fetching: boolean;
  error: Error | null;
  retry: () => void;
}

export function useCharts(question: ChartsQuestion): ChartsState {
  const [asked, setAsked] = useState(question);
  const wanted =
    asked.series.length + asked.lines.length + (asked.pairs?.length ?? 0) > 0 && asked.width > 0;
  const common = { staleTime: Number.POSITIVE_INFINITY, gcTime: 20_000 };
  const rough = useQuery({
    queryKey: ["charts", "aligned", ...keyOf(asked)],
    queryFn: ({ signal }) => askCharts(asked, false, signal),
    enabled: wanted,
    placeholderData: keepPreviousData,
    ...common,
  });
  const key = keyOf(question).join();
  const rested = useRested(key);
  const settled = rough.data !== undefined && !rough.isPlaceholderData;
  const fine = useQuery({
    queryKey: ["charts", "exact", ...keyOf(asked)],
    queryFn: ({ signal }) => askCharts(asked, true, signal),
    enabled: wanted && rested && settled && !rough.data.exact,
    ...common,
  });
  // Growth waits for the answer under way, or a slow server would be asked for ever and never be heard.
  const waits = rough.isFetching && grows(asked, question);
  // While rendering, not in an effect: a picture of the old question on the new range would be drawn in between.
  if (!waits && key !== keyOf(asked).join()) setAsked(question);
  const kept = useRef<Charts>(undefined);
  const answered = fine.data ?? rough.data;
  if (answered !== undefined) kept.current = answered;
  // A question that failed leaves the picture before it.
  const data = answered ?? (rough.error ? kept.current : undefined);
  return {
    data: data && sameAxis(data.asked, question) ? data : undefined,
    old: rough.isPlaceholderData || answered === undefined,
    fetching: rough.isFetching || fine.isFetching,
    error: rough.error ?? fine.error,
    retry: () => void rough.refetch(),
  };
}
