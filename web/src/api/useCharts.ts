// All charts' columns in one request (the server takes 256 series at most, so rarely in two). A newer
// question aborts the older; until its answer is there the older picture stays.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
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

export function useCharts(question: ChartsQuestion) {
  const { series, originNs, from, to, width, revision } = question;
  return useQuery({
    queryKey: ["charts", series.join(), String(originNs), from, to, width, revision],
    queryFn: ({ signal }) => ask(question, signal),
    enabled: series.length > 0 && width > 0,
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 20_000,
  });
}
