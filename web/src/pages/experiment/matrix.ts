// The overview of an experiment as a matrix: rows are workloads (or models), columns are ways of collocation, a cell
// holds the runs of both with the mean of the chosen metric. Pure.
import type { Overview, OverviewRun, OverviewWorkload } from "../../api/runSearch";
import { finite, type Status } from "../../api/types";

export interface Statistics {
  n: number;
  mean: number | null;
  low: number | null;
  high: number | null;
}

export interface Cell {
  runs: OverviewRun[];
  value: Statistics;
  // Position of the mean between the minimum and maximum of all cells, 0 to 1; null without a value.
  share: number | null;
  // Number of runs that did not simply finish, the worst status first.
  statuses: [Status, number][];
  // The board of the cell: whole workloads by their id.
  board: { workload?: string[]; run?: string[] };
}

export interface Row {
  key: string;
  // null: runs on their own, or no model.
  name: string | null;
  cells: (Cell | null)[];
}

export interface Matrix {
  columns: string[];
  rows: Row[];
  low: number | null;
  high: number | null;
}

export function statisticsOf(runs: readonly OverviewRun[]): Statistics {
  const values = runs.flatMap((run) => finite(run.value) ?? []);
  const n = values.length;
  if (n === 0) return { n, mean: null, low: null, high: null };
  const sum = values.reduce((a, b) => a + b, 0);
  const least = values.reduce((a, b) => Math.min(a, b));
  const most = values.reduce((a, b) => Math.max(a, b));
  return { n, mean: sum / n, low: least, high: most };
}

const kOrder: readonly Status[] = ["failed", "unknown", "stopped", "running"];

export const statusesOf = (runs: readonly OverviewRun[]): [Status, number][] =>
  kOrder.flatMap((status): [Status, number][] => {
    const count = runs.filter((run) => run.status === status).length;
    return count > 0 ? [[status, count]] : [];
  });

interface Place {
  workloads: OverviewWorkload[];
  runs: OverviewRun[];
}

function cellOf({ workloads, runs }: Place): Cell {
  const here = new Set(runs);
  const whole = workloads.filter(
    (workload) => workload.name !== null && workload.runs.every((run) => here.has(run)),
  );
  const inWhole = new Set(whole.flatMap((workload) => workload.runs));
  const rest = runs.filter((run) => !inWhole.has(run)).map((run) => run.id);
  return {
    runs,
    value: statisticsOf(runs),
    share: null,
    statuses: statusesOf(runs),
    board: {
      ...(whole.length > 0 ? { workload: whole.map((workload) => workload.id) } : {}),
      ...(rest.length > 0 ? { run: rest } : {}),
    },
  };
}

export function matrixOf(overview: Overview, by: "workload" | "model"): Matrix {
  const columns = [...overview.collocations];
  for (const { collocation } of overview.workloads)
    if (!columns.includes(collocation)) columns.push(collocation);
  const rows = new Map<string, { name: string | null; places: (Place | undefined)[] }>();
  for (const workload of overview.workloads) {
    const column = columns.indexOf(workload.collocation);
    for (const run of workload.runs) {
      const name = by === "model" ? run.model || null : workload.name;
      const key = by === "model" ? `model ${run.model}` : name === null ? "own" : workload.id;
      const row = rows.get(key) ?? { name, places: [] };
      rows.set(key, row);
      const place = row.places[column] ?? { workloads: [], runs: [] };
      row.places[column] = place;
      if (place.workloads.at(-1) !== workload) place.workloads.push(workload);
      place.runs.push(run);
    }
  }
  const all = [...rows].map(([key, { name, places }]) => ({
    key,
    name,
    cells: columns.map((_, i) => (places[i] ? cellOf(places[i]) : null)),
  }));
  // Entries without a name come last.
  all.sort((a, b) => Number(a.name === null) - Number(b.name === null));
  return { columns, rows: all, ...shared(all) };
}

// Sets each cell's place on the common scale.
function shared(rows: readonly Row[]): { low: number | null; high: number | null } {
  const cells = rows.flatMap((row) => row.cells.flatMap((cell) => cell ?? []));
  const means = cells.flatMap((cell) => cell.value.mean ?? []);
  if (means.length === 0) return { low: null, high: null };
  const low = means.reduce((a, b) => Math.min(a, b));
  const high = means.reduce((a, b) => Math.max(a, b));
  for (const cell of cells)
    if (cell.value.mean !== null)
      cell.share = high > low ? (cell.value.mean - low) / (high - low) : 0.5;
  return { low, high };
}
