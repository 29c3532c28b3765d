// A plan as the page shows it: rows of workloads with their runs, the filtered rows, the height of each row, and the
// estimated remaining time. Pure.
import type { PacedRun, Plan, PlanRun } from "../../api/plans";
import { collocationWord } from "../../format/collocation";
import { type Tone, toneOf } from "../../format/outcome";
import { formatCount, plural } from "../../format/units";

export interface PlanRow {
  key: string;
  experiment: string;
  // As its runs are recorded: "7", of several repetitions "7 #2".
  workload: string;
  collocation: string;
  runs: PlanRun[];
}

// Selects the runs of a plan. Lists are alternatives; empty ones match everything.
export interface PlanFilter {
  text: string;
  states: readonly string[];
  experiments: readonly string[];
  collocations: readonly string[];
}

export interface Count {
  value: string;
  count: number;
}

export interface PlanFacets {
  states: Count[];
  experiments: Count[];
  collocations: Count[];
}

// The order in which states are listed: what needs a look first.
const kStates = [
  "running",
  "preparing",
  "failed",
  "out-of-memory",
  "killed",
  "neighbour",
  "not-started",
  "unknown",
  "interrupted",
  "stopped",
  "limit",
  "finished",
  "waiting",
];

const place = (state: string) => {
  const at = kStates.indexOf(state);
  return at < 0 ? kStates.length : at;
};

export const inStateOrder = (counts: Readonly<Record<string, number>>): Count[] =>
  Object.entries(counts)
    .map(([value, count]) => ({ value, count }))
    .sort((a, b) => place(a.value) - place(b.value) || (a.value < b.value ? -1 : 1));

export function countStates(runs: readonly PlanRun[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { state } of runs) counts[state] = (counts[state] ?? 0) + 1;
  return counts;
}

const wordsOf = (values: readonly string[]): string =>
  [...new Set(values.filter((value) => value !== ""))].join(", ");

// Waiting workloads by the keys of their rows, each with the number of those that begin before it.
export function queueOf(rows: readonly PlanRow[]): ReadonlyMap<string, number> {
  const waiting = rows.flatMap((row, place) => {
    if (!row.runs.every(({ state }) => state === "waiting")) return [];
    const turn = row.runs[0]?.turn ?? 0;
    return [{ key: row.key, order: turn > 0 ? turn : place }];
  });
  waiting.sort((a, b) => a.order - b.order);
  return new Map(waiting.map(({ key }, i) => [key, i]));
}

// 1st, 2nd, 3rd, 4th, 11th, 21st.
export function ordinal(n: number): string {
  const teen = n % 100 >= 11 && n % 100 <= 13;
  return `${formatCount(n)}${(teen ? undefined : ["th", "st", "nd", "rd"][n % 10]) ?? "th"}`;
}

// The workloads that a waiting one waits for, in words: those that run now, and those before it.
export function waitsFor(rows: readonly PlanRow[], before: number): string {
  const running = rows.flatMap(({ runs, workload }) =>
    runs.some(({ state }) => state === "running" || state === "preparing") ? [workload] : [],
  );
  const parts = [
    ...(running.length > 0 ? [`workload ${running.join(", ")}`] : []),
    ...(before > 0 ? [`${plural(before, "workload")} before it`] : []),
  ];
  return parts.length > 0 ? `waits for ${parts.join(" and ")}` : "next";
}

// Repetitions share the key of their row; each has an id of its own.
export const idOf = (run: PlanRun): string => `${run.key}.${run.repetition ?? 1}`;

// In the order of the plan.
export function rowsOf(plan: Pick<Plan, "runs">): PlanRow[] {
  const rows = new Map<string, PlanRow>();
  const several = new Set(
    plan.runs.flatMap((run) => ((run.repetition ?? 1) > 1 ? [nameOf(run)] : [])),
  );
  for (const run of plan.runs) {
    const repetition = run.repetition ?? 1;
    const key = `${nameOf(run)}\n${repetition}`;
    const row = rows.get(key);
    if (row === undefined) {
      const number = several.has(nameOf(run)) ? ` #${repetition}` : "";
      rows.set(key, {
        key,
        experiment: run.experiment,
        workload: run.workload + number,
        collocation: "",
        runs: [run],
      });
    } else row.runs.push(run);
  }
  const all = [...rows.values()];
  for (const row of all) row.collocation = wordsOf(row.runs.map(wayOf));
  return all;
}

// The collocation of a run in words; "" if there is none.
const wayOf = ({ collocation = "" }: PlanRun) =>
  collocation === "" ? "" : collocationWord(collocation);

const nameOf = (run: PlanRun) => `${run.experiment}\n${run.workload}`;

function matches(run: PlanRun, words: readonly string[]): boolean {
  if (words.length === 0) return true;
  const text = [
    run.experiment,
    run.workload,
    run.name,
    run.letter,
    wayOf(run),
    run.devices,
    run.model,
    run.state,
    run.reason,
    run.run,
  ]
    .join("\n")
    .toLowerCase();
  return words.every((word) => text.includes(word));
}

const among = (values: readonly string[], value: string) =>
  values.length === 0 || values.includes(value);

// A workload is shown whole if one of its runs fits: the runs beside it matter.
export function filtered(rows: readonly PlanRow[], filter: PlanFilter): PlanRow[] {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter((row) =>
    row.runs.some(
      (run) =>
        among(filter.states, run.state) &&
        among(filter.experiments, run.experiment) &&
        among(filter.collocations, run.collocation ?? "") &&
        matches(run, words),
    ),
  );
}

function counted(values: readonly string[]): Count[] {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].map(([value, count]) => ({ value, count }));
}

export function facetsOf(plan: Pick<Plan, "runs">): PlanFacets {
  return {
    states: inStateOrder(countStates(plan.runs)),
    experiments: counted(plan.runs.map((run) => run.experiment)),
    collocations: counted(plan.runs.map((run) => run.collocation ?? "")),
  };
}

// ---- how far it is
// Runs by the tone of their state, for places without room for the words of all states.
export function toneCounts(
  counts: Readonly<Record<string, number>>,
): { tone: Tone; count: number }[] {
  const all: readonly Tone[] = ["running", "failed", "unknown", "stopped", "finished", "waiting"];
  return all.flatMap((tone) => {
    const count = Object.entries(counts).reduce(
      (sum, [state, n]) => sum + (toneOf(state) === tone ? n : 0),
      0,
    );
    return count > 0 ? [{ tone, count }] : [];
  });
}

const kOpen: ReadonlySet<string> = new Set(["waiting", "preparing", "running"]);
export const isOpen = (state: string) => kOpen.has(state);

export interface Progress {
  runs: number;
  ended: number;
  // Runs by tone, for the bar, in its order.
  parts: { tone: Tone; count: number }[];
}

const kBar: readonly Tone[] = ["finished", "stopped", "unknown", "failed", "running"];

export function progressOf(counts: Readonly<Record<string, number>>): Progress {
  const parts = kBar.map((tone) => ({ tone, count: 0 }));
  let runs = 0;
  let ended = 0;
  for (const [state, count] of Object.entries(counts)) {
    runs += count;
    if (!isOpen(state)) ended += count;
    const part = parts.find(({ tone }) => tone === toneOf(state));
    if (part !== undefined) part.count += count;
  }
  return { runs, ended, parts };
}

const kPaceOver = 20;

// Seconds until the last workload ends, at the pace of the newest ones that have ended, what lay between them
// counted in; null before there is a pace.
export function estimateOf(rows: readonly PlanRow[], ended: readonly PacedRun[]): number | null {
  const left = rows.filter((row) => row.runs.some((run) => isOpen(run.state))).length;
  if (left === 0) return 0;
  const workloads = new Map<string, { start: number; end: number }>();
  for (const run of ended) {
    const known = workloads.get(run.workload);
    workloads.set(run.workload, {
      start: Math.min(run.start, known?.start ?? run.start),
      end: Math.max(run.end, known?.end ?? run.end),
    });
  }
  const newest = [...workloads.values()].sort((a, b) => b.start - a.start).slice(0, kPaceOver);
  if (newest.length === 0) return null;
  const start = Math.min(...newest.map((one) => one.start));
  const end = Math.max(...newest.map((one) => one.end));
  return ((end - start) / newest.length) * left;
}

// ---- rows on the screen
export const kCell = 188;
export const kLine = 32;
const kNote = 20;
const kTailLine = 16;
const kTailPadding = 8;

export const cellsIn = (width: number) => Math.max(1, Math.floor(width / kCell));

// Runs that ended badly and have something to say.
export const failuresOf = (row: PlanRow): PlanRun[] =>
  row.runs.filter(
    (run) =>
      (toneOf(run.state) === "failed" || toneOf(run.state) === "unknown") &&
      (run.reason || (run.tail?.length ?? 0) > 0),
  );

// The most lines that are shown of a run's output.
export const kTail = 5;
export const tailOf = (run: PlanRun): string[] => (run.tail ?? []).slice(-kTail);

// One line for a failure: why, else the last thing it said.
export const failureWords = (run: PlanRun): string =>
  run.reason || tailOf(run).findLast((line) => line.trim() !== "") || "";

export interface Layout {
  perLine: number;
  // The runs whose last lines are shown, by idOf.
  open: ReadonlySet<string>;
}

// Pixels, as the style sheet has them: rows out of sight are not measured.
export function heightOf(row: PlanRow, { perLine, open }: Layout): number {
  const lines = Math.ceil(row.runs.length / perLine);
  const notes = failuresOf(row).reduce((sum, run) => {
    const tail = open.has(idOf(run)) ? tailOf(run).length : 0;
    return sum + kNote + (tail > 0 ? tail * kTailLine + kTailPadding : 0);
  }, 0);
  return lines * kLine + notes + 1 + (notes > 0 ? 4 : 0);
}

// ---- the keyboard
export interface CellPlace {
  row: number;
  cell: number;
}

export function movedPlace(rows: readonly PlanRow[], at: CellPlace, key: string): CellPlace | null {
  const last = rows.length - 1;
  if (last < 0) return null;
  const by: Record<string, [number, number]> = {
    ArrowUp: [-1, 0],
    ArrowDown: [1, 0],
    PageUp: [-10, 0],
    PageDown: [10, 0],
    ArrowLeft: [0, -1],
    ArrowRight: [0, 1],
  };
  const clamp = (value: number, most: number) => Math.min(Math.max(value, 0), most);
  if (key === "Home") return { row: 0, cell: 0 };
  if (key === "End") return { row: last, cell: 0 };
  const step = by[key];
  if (step === undefined) return null;
  const row = clamp(at.row + step[0], last);
  return { row, cell: clamp(at.cell + step[1], (rows[row]?.runs.length ?? 1) - 1) };
}

// The next run after `at` that ended badly, from the top again after the last; null: there is none.
export function nextFailure(rows: readonly PlanRow[], at: CellPlace): CellPlace | null {
  const bad = rows.flatMap((row, i) =>
    row.runs.flatMap((run, cell) => (toneOf(run.state) === "failed" ? [{ row: i, cell }] : [])),
  );
  const after = bad.find(({ row, cell }) => row > at.row || (row === at.row && cell > at.cell));
  return after ?? bad[0] ?? null;
}
