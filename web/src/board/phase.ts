// Durations of the phases of one name in a run: the server's statistics of all of them, and the ranks of those that the
// page has. Pure.
import type { Num, Phase } from "../api/types";
import { finite } from "../api/types";
import { secondsSince } from "../format/time";

// One line of POST /phases/statistics: the phases of a lane that have the same names above them.
export interface PathStatistics {
  lane: string;
  path: string[];
  count: number;
  open: number;
  total_s: Num;
  mean_s: Num;
  min_s: Num;
  max_s: Num;
  share: Num;
}

export interface NameStatistics {
  count: number;
  open: number;
  total: number;
  // Share of the run's time; more than 1 if several lanes have the phase at once.
  share: number;
  // null when none has ended.
  mean: number | null;
  least: number | null;
  greatest: number | null;
}

export function statisticsOfName(lines: readonly PathStatistics[], name: string): NameStatistics {
  const mine = lines.filter(({ path }) => path.at(-1) === name);
  const sum = (of: (line: PathStatistics) => number) =>
    mine.reduce((total, line) => total + of(line), 0);
  const ended = sum(({ count, open }) => count - open);
  const known = (key: "min_s" | "max_s") => mine.flatMap((line) => finite(line[key]) ?? []);
  const weighted = sum(({ mean_s, count, open }) => (finite(mean_s) ?? 0) * (count - open));
  return {
    count: sum(({ count }) => count),
    open: sum(({ open }) => open),
    total: sum(({ total_s }) => finite(total_s) ?? 0),
    share: sum(({ share }) => finite(share) ?? 0),
    mean: ended === 0 ? null : weighted / ended,
    least: known("min_s").length === 0 ? null : Math.min(...known("min_s")),
    greatest: known("max_s").length === 0 ? null : Math.max(...known("max_s")),
  };
}

// Lengths of the ended phases of a name, seconds, in order.
export function lengthsOf(phases: readonly Phase[], name: string): Float64Array {
  const ended = phases.filter((phase) => phase.name === name && phase.end_ns !== null);
  return Float64Array.from(ended, ({ start_ns, end_ns }) =>
    secondsSince(end_ns as string, BigInt(start_ns)),
  ).sort();
}

// Nearest rank; null of nothing.
export function percentile(sorted: Float64Array, percent: number): number | null {
  const rank = Math.ceil((percent / 100) * sorted.length);
  return sorted[Math.max(0, rank - 1)] ?? null;
}

// For an even number, the mean of the middle two.
export function median(sorted: Float64Array): number | null {
  const half = sorted.length >> 1;
  if (sorted.length % 2 === 1) return sorted[half] as number;
  if (sorted.length === 0) return null;
  return ((sorted[half - 1] as number) + (sorted[half] as number)) / 2;
}
