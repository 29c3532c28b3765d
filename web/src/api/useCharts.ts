// All charts' columns in one request (the server takes 256 series at most, so rarely in two), and in another the lines
// computed from all points: smoothed lines, groups, means. First an aligned answer, fast for any amount of data; once
// the view rests an exact one. A newer question aborts the older, save one that only follows the live end; until the
// answer is there the older picture stays.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import { nanos, nanosBetween } from "../format/nanos";
import {
  asksNothing,
  type Charts,
  type ChartsQuestion,
  type ColumnsQuestion,
  chartsOf,
  columnParts,
  columnsBodies,
  joinedParts,
  kAcceptCharts,
  kAcceptPairs,
  kNoQuestion,
  linesBodies,
  pairsBodies,
} from "./chartBodies";
import { postBinary } from "./client";
import { type Columns, decodeCharts } from "./columns";
import { Growing } from "./growing";
import { decodeLines, kAcceptLines, type LineAnswer } from "./lines";
import { decodeXy, type XyLine } from "./xy";

const kRestMs = 120;

export type { Charts, ChartsQuestion } from "./chartBodies";

// The columns of all series by id; on the axes of time and steps.
export async function askColumns(
  question: ColumnsQuestion,
  at: { exact: boolean; since?: readonly number[] | null; signal?: AbortSignal | undefined },
): Promise<Map<number, Columns>> {
  const { exact, since, signal } = at;
  const answers = await Promise.all(
    columnsBodies(question, exact, since).map(async (body) =>
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

async function askPairs(question: ChartsQuestion, signal?: AbortSignal) {
  const found: XyLine[] = [];
  for (const body of pairsBodies(question)) {
    const answer = decodeXy(await postBinary("/xy", { body, accept: kAcceptPairs, signal }));
    found.push(...answer.lines);
  }
  return found;
}

// The columns of a question, piece by piece where its axis has several, with what `growing` kept of the answer before.
async function askParts(
  question: ChartsQuestion,
  exact: boolean,
  { signal, growing }: { signal?: AbortSignal | undefined; growing?: Growing | undefined },
): Promise<{ series: Map<number, Columns>; moved: boolean }> {
  if (growing !== undefined && question.axis === "time" && question.series.length > 0)
    return growing.columns(question, (part, since) => askColumns(part, { exact, since, signal }));
  const parts = columnParts(question);
  const answers = await Promise.all(
    parts.map((part) => askColumns(part.question, { exact, signal })),
  );
  return { series: joinedParts(question, parts, answers), moved: false };
}

// The answer to a whole question.
export async function askCharts(
  question: ChartsQuestion,
  exact: boolean,
  at: { signal?: AbortSignal | undefined; growing?: Growing | undefined } = {},
): Promise<Charts> {
  const { signal } = at;
  const [{ series, moved }, lines, pairs, over] = await Promise.all([
    askParts(question, exact, at),
    askLines(question, exact, signal),
    askPairs(question, signal),
    question.over === undefined ? null : askCharts(question.over, exact, { signal }),
  ]);
  return chartsOf(question, { series, lines, pairs, over, growing: moved });
}

// Returns true if an older answer may be drawn on the axis of a newer question: x has the same meaning, and both have
// the same zero for what they share, within a pixel: that of another clock follows its drift. Pure.
export function sameAxis(asked: ChartsQuestion, now: ChartsQuestion): boolean {
  if (asked.axis !== now.axis) return false;
  if (JSON.stringify(piecesOf(asked.stretches)) !== JSON.stringify(piecesOf(now.stretches)))
    return false;
  const pixel = Math.max(...[asked, now].map(({ from, to, width }) => (to - from) / width)) * 1e9;
  const near = (a: bigint, b: bigint) => Math.abs(nanosBetween(a, b)) <= pixel;
  const origins = new Map(asked.series.map(({ id, origin }) => [id, origin]));
  const zeros = new Map(asked.lines.map(({ key, origins_ns }) => [key, origins_ns ?? []]));
  const nearAll = (a: readonly string[], b: readonly string[]) =>
    a.length === b.length && a.every((ns, i) => near(nanos(ns), nanos(b[i] as string)));
  const xs = new Map(asked.pairs?.map(({ x, y }) => [y, x]));
  return (
    now.series.every(({ id, origin }) => near(origins.get(id) ?? origin, origin)) &&
    now.lines.every(({ key, origins_ns = [] }) =>
      nearAll(zeros.get(key) ?? origins_ns, origins_ns),
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

const whatOf = ({ axis, stretches, series, lines, pairs }: ChartsQuestion): string =>
  JSON.stringify([
    axis,
    piecesOf(stretches),
    series.map(({ id, origin, epochs }) => [id, String(origin), epochs]),
    lines,
    pairs,
  ]);

// The same picture, only a little longer at its live end; the values of a metric go on at either end.
export function grows(asked: ChartsQuestion, now: ChartsQuestion): boolean {
  const more = asked.from - now.from + (now.to - asked.to);
  return (
    (asked.axis === "metric" ? now.from <= asked.from : now.from === asked.from) &&
    asked.width === now.width &&
    now.to >= asked.to &&
    more <= (asked.to - asked.from) * kGrowth &&
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

// The values that an expression over another needs are a question of their own: they do not depend on the range.
export function useCharts(question: ChartsQuestion): ChartsState {
  const { over, ...own } = question;
  const above = useAnswer(own);
  const below = useAnswer(over ?? kNoQuestion);
  const alone = over !== undefined && asksNothing(own);
  const key = alone ? keyOf(own).join() : "";
  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` stands for the question
  const data = useMemo(() => {
    const shown = alone ? chartsOf(own, kEmpty) : above.data;
    return shown && below.data && withOver(shown, below.data);
  }, [alone, key, above.data, below.data]);
  if (over === undefined) return above;
  return {
    data,
    old: below.old || (!alone && above.old),
    fetching: above.fetching || below.fetching,
    error: above.error ?? below.error,
    retry: () => {
      above.retry();
      below.retry();
    },
  };
}

const kEmpty = { series: new Map(), lines: [], pairs: [], over: null };

const withOver = (shown: Charts, over: Charts): Charts => ({
  ...shown,
  over,
  exact: shown.exact && over.exact,
  asked: { ...shown.asked, over: over.asked },
});

function useAnswer(question: ChartsQuestion): ChartsState {
  const [asked, setAsked] = useState(question);
  const wanted = !asksNothing(asked) && asked.width > 0;
  const common = { staleTime: Number.POSITIVE_INFINITY, gcTime: 20_000 };
  const [growing] = useState(() => ({ aligned: new Growing(), exact: new Growing() }));
  const rough = useQuery({
    queryKey: ["charts", "aligned", ...keyOf(asked)],
    queryFn: ({ signal }) => askCharts(asked, false, { signal, growing: growing.aligned }),
    enabled: wanted,
    placeholderData: keepPreviousData,
    ...common,
  });
  const key = keyOf(question).join();
  const rested = useRested(key);
  const settled = rough.data !== undefined && !rough.isPlaceholderData;
  const fine = useQuery({
    queryKey: ["charts", "exact", ...keyOf(asked)],
    queryFn: ({ signal }) => askCharts(asked, true, { signal, growing: growing.exact }),
    enabled: wanted && rested && settled && !rough.data.exact && !rough.data.growing,
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
