// All charts' columns in one request (the server takes 256 series at most, so rarely in two). A newer
// question aborts the older, save one that only follows the live end; until the answer is there the older
// picture stays.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { nsAt } from "../format/time";
import { postCharts } from "./client";
import { type ChartAnswer, type Columns, decodeCharts } from "./columns";

const kMostSeries = 256;

export interface ChartsQuestion {
  series: number[];
  originNs: bigint;
  // Seconds since the origin.
  from: number;
  to: number;
  // Device pixels of one plot.
  width: number;
  // Grows when the same question may have a new answer.
  revision: number;
}

export interface Charts {
  series: Map<number, Columns>;
  from: number;
  to: number;
  width: number;
}

async function ask(question: ChartsQuestion, signal: AbortSignal): Promise<Charts> {
  const { originNs, width } = question;
  const range = { from_ns: nsAt(question.from, originNs), to_ns: nsAt(question.to, originNs) };
  const parts: number[][] = [];
  for (let i = 0; i < question.series.length; i += kMostSeries) {
    parts.push(question.series.slice(i, i + kMostSeries));
  }
  const answers: ChartAnswer[] = await Promise.all(
    parts.map(async (series) =>
      decodeCharts(await postCharts({ series, ...range, width, mode: "auto" }, signal)),
    ),
  );
  const merged = new Map(answers.flatMap((answer) => [...answer.series]));
  return { series: merged, from: question.from, to: question.to, width };
}

const kGrowth = 0.2;

// The same picture, only a little longer at its live end.
export function grows(asked: ChartsQuestion, now: ChartsQuestion): boolean {
  return (
    asked.from === now.from &&
    asked.width === now.width &&
    asked.originNs === now.originNs &&
    now.to >= asked.to &&
    now.to - asked.to <= (asked.to - asked.from) * kGrowth &&
    asked.series.join() === now.series.join()
  );
}

const keyOf = ({ series, originNs, from, to, width, revision }: ChartsQuestion) => [
  "charts",
  series.join(),
  String(originNs),
  from,
  to,
  width,
  revision,
];

export function useCharts(question: ChartsQuestion) {
  const [asked, setAsked] = useState(question);
  const answer = useQuery({
    queryKey: keyOf(asked),
    queryFn: ({ signal }) => ask(asked, signal),
    enabled: asked.series.length > 0 && asked.width > 0,
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 20_000,
  });
  // Growth waits for the answer under way, or a slow server would be asked for ever and never be heard.
  const waits = answer.isFetching && grows(asked, question);
  const key = keyOf(question).join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says all of the question
  useEffect(() => {
    if (!waits) setAsked(question);
  }, [key, waits]);
  return answer;
}
