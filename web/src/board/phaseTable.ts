// The phases of several runs beside each other: where one of them spends its time and another does not. Pure.
import { type NameStatistics, type PathStatistics, statisticsOfName } from "./phase";

export interface PhaseRow {
  name: string;
  // By run; null where it has no such phase.
  of: (NameStatistics | null)[];
  // Between the most and the least that a run spends in it, seconds.
  apart: number;
}

const kMaxRows = 12;

// The phases in which runs differ most come first.
export function phaseRows(lines: readonly (readonly PathStatistics[])[]): PhaseRow[] {
  const names = new Set(lines.flatMap((one) => one.map(({ path }) => path.at(-1) ?? "")));
  const rows = [...names].map((name) => {
    const of = lines.map((one) => {
      const all = statisticsOfName(one, name);
      return all.count === 0 ? null : all;
    });
    const totals = of.map((one) => one?.total ?? 0);
    return { name, of, apart: Math.max(...totals) - Math.min(...totals) };
  });
  return rows.sort((a, b) => b.apart - a.apart).slice(0, kMaxRows);
}

// Returns the phase that explains most: the one with the largest difference that does not contain another of nearly
// that difference (an epoch is slower because of a phase in it).
export function telling(rows: readonly PhaseRow[], lines: readonly (readonly PathStatistics[])[]) {
  const inside = (outer: string, inner: string) =>
    lines.some((one) =>
      one.some(({ path }) => path.at(-1) === inner && path.slice(0, -1).includes(outer)),
    );
  return rows.find(
    (row) =>
      row.apart > 0 &&
      !rows.some(
        (other) => other !== row && other.apart > row.apart / 2 && inside(row.name, other.name),
      ),
  )?.name;
}
