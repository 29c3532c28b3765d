// When the epochs of runs began and ended, and the axis that counts them. An epoch that has no end yet ends, for
// the moment, where the run does.
import { useQueries } from "@tanstack/react-query";
import { secondsSince } from "../format/time";
import { sendJson } from "./client";

export interface RunEpochs {
  run: string;
  from: "phases" | "metric" | null;
  first_step_ns: string | null;
  epochs: { index: number; start_ns: string; end_ns: string | null }[];
  more: boolean;
}

export interface EpochPages {
  runs: RunEpochs[];
}

// A run's epochs come page by page: these and the next ones.
export function withPage(known: RunEpochs | null, { runs }: EpochPages): RunEpochs | null {
  const [page] = runs;
  if (known === null) return page ?? null;
  if (page === undefined || page.epochs.length === 0) return { ...known, more: false };
  return { ...page, epochs: [...known.epochs, ...page.epochs] };
}

export async function allEpochs(id: string, signal: AbortSignal): Promise<RunEpochs | null> {
  let all: RunEpochs | null = null;
  do {
    const question = { runs: [id], skip: all?.epochs.length ?? 0 };
    all = withPage(all, await sendJson<EpochPages>("POST", "/epochs", question, signal));
  } while (all?.more);
  return all;
}

const kNone: Readonly<Record<string, RunEpochs>> = {};

export function useEpochs(ids: readonly string[], wanted: boolean) {
  return useQueries({
    queries: (wanted ? ids : []).map((id) => ({
      queryKey: ["epochs", id],
      queryFn: ({ signal }: { signal: AbortSignal }) => allEpochs(id, signal),
    })),
    combine: (answers): Readonly<Record<string, RunEpochs>> => {
      const known = answers.flatMap(({ data }) => (data ? [[data.run, data] as const] : []));
      return known.length === 0 ? kNone : Object.fromEntries(known);
    },
  });
}

// Piecewise linear between the begins of epochs; `at` ascends, seconds since an origin. Pure.
export interface EpochAxis {
  at: number[];
  epoch: number[];
}

export function epochAxis(epochs: RunEpochs, origin: bigint, end: number): EpochAxis | null {
  const axis: EpochAxis = { at: [], epoch: [] };
  const add = (at: number, epoch: number) => {
    if (at <= (axis.at.at(-1) ?? Number.NEGATIVE_INFINITY)) return;
    axis.at.push(at);
    axis.epoch.push(epoch);
  };
  for (const { index, start_ns, end_ns } of epochs.epochs) {
    add(secondsSince(start_ns, origin), index);
    add(end_ns === null ? end : secondsSince(end_ns, origin), index + 1);
  }
  return axis.at.length < 2 ? null : axis;
}

function along(x: number, from: readonly number[], to: readonly number[]): number {
  let low = 0;
  let high = from.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((from[middle] as number) <= x) low = middle;
    else high = middle;
  }
  const [a, b, p, q] = [from[low], from[high], to[low], to[high]] as [
    number,
    number,
    number,
    number,
  ];
  if (x <= a) return p;
  if (x >= b) return q;
  return p + ((x - a) / (b - a)) * (q - p);
}

export const epochAt = (axis: EpochAxis, seconds: number) => along(seconds, axis.at, axis.epoch);
export const timeAt = (axis: EpochAxis, epoch: number) => along(epoch, axis.epoch, axis.at);
