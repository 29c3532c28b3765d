// From the answer of a collocation to the tables that are shown: who slows down whom, a row for each run of a cell. Pure.
import type { Cell, Collocation, Configuration, PlacedRun, Slowdown } from "../../api/collocation";
import type { Column } from "../../app/Rows";
import { csvField } from "../../export/csv";
import { collocationWord } from "../../format/collocation";
import { formatNumber } from "../../format/units";

export const numberWords = (value: number | null) =>
  value === null ? "–" : formatNumber(value, 3);

// "2A+B", with parts of the hardware "2A (1g.5gb)+B (3g.20gb)".
export function jobWords(jobs: readonly string[], places: readonly string[] = []): string {
  const counts = new Map<string, number>();
  jobs.forEach((job, i) => {
    const name = places[i] ? `${job} (${places[i]})` : job;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  });
  const words = [...counts].map(([name, count]) => (count > 1 ? `${count}${name}` : name));
  return words.length === 0 ? "–" : words.join("+");
}

export interface Effect {
  slow: Slowdown;
  // The cells behind it, and why some are not measured.
  of: Configuration;
  reasons: string[];
}

// Rows are those who are slowed down, columns those beside them. A cell holds several effects where neighbours have
// several parts of the hardware.
export interface EffectMatrix {
  sharing: string;
  rows: { key: string; effects: Effect[][] }[];
  columns: string[];
  greatest: number;
}

const rowOf = ({ job, place, host }: Slowdown, severalHosts: boolean) =>
  `${job}${place === null ? "" : ` (${place})`}${severalHosts ? ` on ${host}` : ""}`;

const sameJobs = (cell: Cell, of: Configuration) =>
  cell.sharing === of.sharing &&
  cell.runs
    .map(({ job }) => job)
    .toSorted()
    .join() === of.jobs.toSorted().join();

export function effectMatrices({ configurations, cells }: Collocation): EffectMatrix[] {
  const ways = [...new Set(configurations.map(({ sharing }) => sharing))];
  const hosts = new Set(configurations.flatMap((one) => one.slowdowns.map(({ host }) => host)));
  return ways.map((sharing) => {
    const effects = configurations
      .filter((one) => one.sharing === sharing)
      .flatMap((of) => {
        const lost = cells.filter((cell) => sameJobs(cell, of)).map(({ reason }) => reason);
        const reasons = [...new Set(lost.filter((reason) => reason !== null))];
        return of.slowdowns.map((slow): Effect => ({ slow, of, reasons }));
      });
    const key = ({ slow }: Effect) => rowOf(slow, hosts.size > 1);
    const beside = ({ slow }: Effect) => jobWords(slow.beside);
    const columns = [...new Set(effects.map(beside))];
    const rows = [...new Set(effects.map(key))].map((row) => ({
      key: row,
      effects: columns.map((column) =>
        effects.filter((one) => key(one) === row && beside(one) === column),
      ),
    }));
    const greatest = Math.max(1, ...effects.map(({ slow }) => slow.slowdown ?? 1));
    return { sharing: collocationWord(sharing), rows, columns, greatest };
  });
}

// "1.6 (1.5 to 1.7)", or why there is no slowdown.
export function effectWords({ slow, reasons }: Effect): string {
  const { slowdown, low, high } = slow;
  if (slowdown !== null) {
    const interval = low === null ? "" : ` (${numberWords(low)} to ${numberWords(high)})`;
    return `${numberWords(slowdown)}${interval}`;
  }
  if (slow.n_together === 0) return ["not measured", ...reasons].join(": ");
  return slow.n_alone === 0 ? `no run of ${slow.job} alone` : "no slowdown";
}

// The place of a slowdown between none, 0, and the greatest, 1.
export const heatOf = (slowdown: number, greatest: number) =>
  greatest > 1 ? Math.max(0, (slowdown - 1) / (greatest - 1)) : 0;

export interface CellRun {
  cell: Cell;
  run: PlacedRun;
}

export const cellRuns = (cells: readonly Cell[]): CellRun[] =>
  cells.flatMap((cell) => cell.runs.map((run) => ({ cell, run })));

// The shown columns as CSV (RFC 4180), numbers as they are.
export function csvOfRows<T>(columns: readonly Column<T>[], rows: readonly T[]): string {
  const lines = [
    columns.map(({ name }) => name),
    ...rows.map((row) => columns.map(({ cell, raw }) => (raw ?? cell)(row))),
  ];
  return `${lines.map((line) => line.map(csvField).join(",")).join("\r\n")}\r\n`;
}
