// The phases of a run. A question about a run whose phases are known asks for the newest alone.
import type { Phase } from "./types";

export interface PhaseList {
  phases: Phase[];
  // All of the run; absent from servers of earlier versions.
  total?: number;
}

// Returns the answer for phases from a time on, nanoseconds; undefined: all of them.
export type AskPhases = (from_ns: string | undefined) => Promise<PhaseList>;

// Processes report phases not quite in the order of their times.
const kOverlapNs = 2_000_000_000n;

// Phases that begin or end before the newest by more than the overlap do not change, as a rule: where one did, the
// numbers differ, or one that was open is missing, and all are asked for.
export async function newerPhases(
  known: PhaseList | undefined,
  ask: AskPhases,
): Promise<PhaseList> {
  const newest = known?.total === undefined ? null : newestOf(known.phases);
  if (known === undefined || newest === null) return ask(undefined);
  const answer = await ask(String(newest - kOverlapNs));
  const found = new Map(answer.phases.map((phase) => [phase.id, phase]));
  const before = known.phases.filter(({ id }) => !found.has(id));
  const missed = before.some(({ end_ns }) => end_ns === null);
  if (missed || before.length + found.size !== answer.total) return ask(undefined);
  return { ...answer, phases: [...before, ...answer.phases].sort(byStart) };
}

function newestOf(phases: readonly Phase[]): bigint | null {
  let newest: string | null = null;
  for (const { start_ns, end_ns } of phases) {
    const last = end_ns ?? start_ns;
    if (last !== null && (newest === null || compareNs(last, newest) > 0)) newest = last;
  }
  return newest === null ? null : BigInt(newest);
}

const compareNs = (a: string, b: string) => a.length - b.length || (a < b ? -1 : Number(a > b));

// Those without a known start come first.
const byStart = (a: Phase, b: Phase) => compareNs(a.start_ns ?? "", b.start_ns ?? "");
