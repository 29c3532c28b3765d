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
import type { ShownRun } from "./model";

export interface LaneWords {
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

interface LaneName {
  process: string;
  thread: string;
}

// `host/pid/thread`, with the rank before the pid where there is one; a thread's name may hold slashes.
export function laneName(name: string, hosts: number): LaneName {
  const found = /^([^/]*)\/(?:rank(\d+)\/)?(\d+)\/(.*)$/s.exec(name);
  if (found === null) return { process: "", thread: name };
  const [, host, rank, pid, thread = ""] = found;
  const process = rank === undefined ? `process ${pid}` : `rank ${rank}`;
  return { process: hosts > 1 ? `${host} ${process}` : process, thread };
}

// What a run with one lane is called needs no tree below it.
function rowsOf(run: ShownRun, lanes: readonly Lane[]): LaneRow[] {
  const hosts = new Set(lanes.map(({ name }) => name.slice(0, name.indexOf("/")))).size;
  const names = new Map(lanes.map((lane) => [lane, laneName(lane.name, hosts)]));
  const processes = [...new Set([...names.values()].map(({ process }) => process))];
  // A process's lanes stand together, in the order of its first.
  const ordered = processes.flatMap((process) =>
    lanes.filter((lane) => names.get(lane)?.process === process),
  );
  let last: string | null = null;
  return ordered.map((lane, i) => {
    const { process, thread } = names.get(lane) as LaneName;
    const words: LaneWords[] = i === 0 ? [{ text: run.name, level: 0 }] : [];
    if (processes.length > 1 && process !== last) words.push({ text: process, level: 1 });
    last = process;
    if (lanes.length > 1) words.push({ text: thread, level: 2 });
    return { run, lane, words, height: Math.max(laneHeight(lane), words.length * kLine) };
  });
}

export function laneRows(
  runs: readonly ShownRun[],
  phases: Readonly<Record<string, Phase[]>>,
): LaneRow[] {
  return runs.flatMap((run) => rowsOf(run, layoutLanes(phases[run.id] ?? [], run.origin, run.end)));
}

// The steps that a profiled phase says it holds: "10-12".
function stepsOf({ phase }: Span): { from: number; to: number } | null {
  const found = /^(\d+)(?:\D+(\d+))?$/.exec(String(phase.attributes.steps ?? ""));
  if (found === null) return null;
  return { from: Number(found[1]) - 0.5, to: Number(found[2] ?? found[1]) + 0.5 };
}

// Where a profiler ran, on the axis of time or of steps; on a board of several runs with whose it was. Ranks that were
// profiled together are one window.
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

// The phase that the address names; null when it is not there.
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
export function phaseBeside({ run, lane, span }: PhasePlace, by: 1 | -1): PhasePlace | null {
  const next = lane.spans[lane.spans.indexOf(span) + by];
  return next === undefined || next.depth !== span.depth ? null : { run, lane, span: next };
}
