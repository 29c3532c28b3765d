// Identifies the phase of a region, to find the same one in another run: by its name, and its number among those of
// that name in its lane. Pure.
import type { Phase } from "../api/types";
import { secondsSince } from "../format/time";
import type { ShownRun } from "./model";
import type { Range } from "./pointer";

export interface NamedPhase {
  name: string;
  // From 0.
  index: number;
}

// A region that somebody drew by hand covers a phase only about.
const kAlike = 0.5;

// The overlap of two ranges as a share of their union, 0 to 1.
function likeness(a: Range, b: Range): number {
  const shared = Math.min(a.to, b.to) - Math.max(a.from, b.from);
  return shared <= 0 ? 0 : shared / (Math.max(a.to, b.to) - Math.min(a.from, b.from));
}

function numberOf(phase: Phase, all: readonly Phase[]): number {
  const start = BigInt(phase.start_ns);
  return all.filter(
    ({ name, lane, start_ns }) =>
      name === phase.name && lane === phase.lane && BigInt(start_ns) < start,
  ).length;
}

// The phase of any shown run that is most like the region; null when none is.
export function phaseOfRegion(
  runs: readonly ShownRun[],
  phases: Readonly<Record<string, readonly Phase[]>>,
  region: Range,
): NamedPhase | null {
  let best = kAlike;
  let found: { phase: Phase; all: readonly Phase[] } | null = null;
  for (const run of runs) {
    const all = phases[run.id] ?? [];
    for (const phase of all) {
      if (phase.end_ns === null) continue;
      const [from, to] = [phase.start_ns, phase.end_ns].map((ns) => secondsSince(ns, run.origin));
      const alike = likeness(region, { from: from as number, to: to as number });
      if (alike > best) {
        best = alike;
        found = { phase, all };
      }
    }
  }
  return found && { name: found.phase.name, index: numberOf(found.phase, found.all) };
}
