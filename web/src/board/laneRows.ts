// The lanes of a board in their order, each with the words at its left: the run, below it the processes (by rank
// where they have one) and their threads as a tree. Pure.
import type { Phase } from "../api/types";
import {
  isProfiled,
  kProfiled,
  type Lane,
  laneHeight,
  layoutLanes,
  type Span,
  spanAt,
} from "../charts/lanes";
import type { WindowMark } from "../charts/spec";
import { later } from "../format/nanos";
import { shiftOfLane } from "./clocks";
import type { ShownRun } from "./model";

export interface LaneWords {
  // The prefix of the text: "rank 0". A lane that names no thread of a process is a lane.
  kind: "run" | "process" | "rank" | "thread" | "lane";
  text: string;
  // 0 a run, 1 a process, 2 a thread.
  level: 0 | 1 | 2;
}

export interface LaneRow {
  run: ShownRun;
  lane: Lane;
  words: LaneWords[];
  height: number;
}

const kLine = 18;
export const kLaneGap = 8;
// Room for the words, pixels, as the style sheet has it.
export const kLaneNames = 148;

// `host/pid/thread`, with the rank before the pid where there is one; a thread's name may hold slashes.
const kLane = /^([^/]*)\/(?:rank(\d+)\/)?(\d+)\/([\s\S]*)$/;

// The words below a run's name: of the process, if the lane says one, and of the lane itself.
export function laneName(name: string, hosts: number): LaneWords[] {
  const found = kLane.exec(name);
  if (found === null) return [{ kind: "lane", text: name, level: 2 }];
  const [, host, rank, pid = "", thread = ""] = found;
  const number = rank ?? pid;
  return [
    {
      kind: rank === undefined ? "process" : "rank",
      text: hosts > 1 ? `${number} on ${host}` : number,
      level: 1,
    },
    { kind: "thread", text: thread === "MainThread" ? "main" : thread, level: 2 },
  ];
}

// All that a lane's name says.
export function laneTitle(name: string): string {
  const found = kLane.exec(name);
  if (found === null) return `lane ${name}`;
  const [, host, rank, pid, thread] = found;
  const ranked = rank === undefined ? "" : `rank ${rank}, `;
  return `host ${host}, ${ranked}process ${pid}, thread ${thread}`;
}

// A run with a single lane needs no tree below it.
function rowsOf(run: ShownRun, lanes: readonly Lane[]): LaneRow[] {
  const hosts = new Set(lanes.flatMap(({ name }) => kLane.exec(name)?.[1] ?? [])).size;
  const names = new Map(lanes.map((lane) => [lane, laneName(lane.name, hosts)]));
  const processOf = (lane: Lane) => names.get(lane)?.find(({ level }) => level === 1);
  const keyOf = (lane: Lane) => `${processOf(lane)?.kind} ${processOf(lane)?.text}`;
  const processes = [...new Set(lanes.map(keyOf))];
  // A process's lanes stand together, in the order of its first.
  const ordered = processes.flatMap((process) => lanes.filter((lane) => keyOf(lane) === process));
  let last: string | null = null;
  return ordered.map((lane, i) => {
    const first = processes.length > 1 && keyOf(lane) !== last;
    last = keyOf(lane);
    const below = (names.get(lane) as LaneWords[]).filter(({ level }) =>
      level === 1 ? first : lanes.length > 1,
    );
    const mine: LaneWords[] = i === 0 ? [{ kind: "run", text: run.name, level: 0 }] : [];
    const words = [...mine, ...below];
    return { run, lane, words, height: Math.max(laneHeight(lane), words.length * kLine) };
  });
}

// Phases of the supervisor before the run's start or after its end are not part of the run; `corral ls phases` lists
// them.
const isOfRun =
  (run: ShownRun) =>
  ({ name, spans }: Lane): boolean =>
    !name.endsWith("/supervisor") ||
    spans.some(({ start, end }) => start < run.end && end > run.start);

export function laneRows(
  runs: readonly ShownRun[],
  phases: Readonly<Record<string, Phase[]>>,
): LaneRow[] {
  return runs.flatMap((run) => {
    const originOf = (lane: string) => later(run.origin, -shiftOfLane(run.shifts, lane));
    const lanes = layoutLanes(phases[run.id] ?? [], originOf, run.end);
    return rowsOf(run, lanes.filter(isOfRun(run)));
  });
}

// The steps that a profiled phase says it holds: "10-12".
function stepsOf({ phase }: Span): { from: number; to: number } | null {
  const found = /^(\d+)(?:\D+(\d+))?$/.exec(String(phase.attributes.steps ?? ""));
  if (found === null) return null;
  return { from: Number(found[1]) - 0.5, to: Number(found[2] ?? found[1]) + 0.5 };
}

// The windows of profilers on the time or step axis; on a board of several runs, with the name of the run. Ranks that
// were profiled together are one window.
export function profiledWindows(rows: readonly LaneRow[], axis: "time" | "step"): WindowMark[] {
  const several = new Set(rows.map(({ run }) => run.id)).size > 1;
  const found = rows.flatMap(({ run, lane }) =>
    lane.spans.flatMap((span): WindowMark[] => {
      if (!isProfiled(span.phase)) return [];
      const label = several ? `${kProfiled}: ${run.name}` : kProfiled;
      const place = axis === "step" ? stepsOf(span) : { from: span.start, to: span.end };
      return place === null ? [] : [{ ...place, label }];
    }),
  );
  const windows: WindowMark[] = [];
  for (const one of found.toSorted((a, b) => a.from - b.from)) {
    const known = windows.findLast(({ label, to }) => label === one.label && to >= one.from);
    if (known === undefined) windows.push(one);
    else known.to = Math.max(known.to, one.to);
  }
  return windows;
}

// The phase at a place below the top of the first lane.
export function phaseUnder(
  rows: readonly LaneRow[],
  seconds: number,
  y: number,
): { run: ShownRun; span: Span } | null {
  let top = 0;
  for (const { run, lane, height } of rows) {
    if (y >= top && y < top + height) {
      const span = spanAt(lane, seconds, y - top);
      return span && { run, span };
    }
    top += height + kLaneGap;
  }
  return null;
}

export interface PhasePlace {
  run: ShownRun;
  lane: Lane;
  span: Span;
}

// The phase that the address names; null if it does not exist.
export function findPhase(
  rows: readonly LaneRow[],
  wanted: { run: string; id: string } | null,
): PhasePlace | null {
  if (wanted === null) return null;
  for (const { run, lane } of rows) {
    const span = run.id.startsWith(wanted.run) && lane.spans.find(({ id }) => id === wanted.id);
    if (span) return { run, lane, span };
  }
  return null;
}

// The phase before or after one, of the same depth in the same lane.
export function neighbouringPhase({ run, lane, span }: PhasePlace, by: 1 | -1): PhasePlace | null {
  const next = lane.spans[lane.spans.indexOf(span) + by];
  return next === undefined || next.depth !== span.depth ? null : { run, lane, span: next };
}
