// Reads a profiler's result, `profile/…/summary.json` of a run's files, with suspicion, since any program may have
// written it. Pure.
import type { Phase } from "../../api/types";
import { isProfiled } from "../../charts/lanes";

export interface KindTime {
  kind: string;
  ms: number;
  // Share of the profiled time, 0 to 1.
  share: number;
}

export interface Kernel {
  name: string;
  kind: string;
  calls: number;
  total_ms: number;
  share: number;
}

export interface Profile {
  tool: string;
  steps: { first: number; last: number } | null;
  // ns of UTC; null where the summary has no moment.
  start_ns: bigint | null;
  end_ns: bigint | null;
  total_ms: number | null;
  by_kind: KindTime[];
  top: Kernel[];
}

type Raw = Record<string, unknown>;

// The problem with a summary, as the end of a sentence.
class Malformed extends Error {}

const isRaw = (value: unknown): value is Raw =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function amount(raw: Raw, key: string, where: string): number {
  const value = raw[key];
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0)
    throw new Malformed(`${key} of ${where} is not a valid number`);
  return value;
}

function word(raw: Raw, key: string, where: string): string {
  const value = raw[key];
  if (typeof value !== "string" || value === "")
    throw new Malformed(`${key} of ${where} is not a name`);
  return value;
}

function rows<T>(value: unknown, key: string, make: (row: Raw, where: string) => T): T[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new Malformed(`${key} is not a list`);
  return value.map((row, i) => {
    const where = `${key}[${i}]`;
    if (!isRaw(row)) throw new Malformed(`${where} is not an object`);
    return make(row, where);
  });
}

// Decimal strings, as everywhere, or numbers.
function moment(value: unknown): bigint | null {
  if (typeof value === "string" && /^\d+$/.test(value)) return BigInt(value);
  return typeof value === "number" && Number.isFinite(value) && value > 0
    ? BigInt(Math.round(value))
    : null;
}

function stepsOf(value: unknown): Profile["steps"] {
  if (!isRaw(value)) return null;
  const { first, last } = value;
  return Number.isSafeInteger(first) && Number.isSafeInteger(last) && Number(last) >= Number(first)
    ? { first: Number(first), last: Number(last) }
    : null;
}

// A part without a share of its own has the share of `whole`.
function shareOf(raw: Raw, ms: number, whole: number): number {
  const { share } = raw;
  const known = typeof share === "number" && Number.isFinite(share);
  const part = known ? share : whole > 0 ? ms / whole : 0;
  return Math.min(1, Math.max(0, part));
}

function read(raw: unknown): Profile {
  if (!isRaw(raw)) throw new Malformed("it is not an object");
  const total = raw.total_ms;
  const total_ms =
    total === undefined || total === null ? null : amount(raw, "total_ms", "the profile");
  const kinds = rows(raw.by_kind, "by_kind", (row, where) => ({
    row,
    kind: word(row, "kind", where),
    ms: amount(row, "ms", where),
  }));
  const whole = kinds.reduce((sum, { ms }) => sum + ms, 0) || (total_ms ?? 0);
  return {
    tool: word(raw, "tool", "the profile"),
    steps: stepsOf(raw.steps),
    start_ns: moment(raw.start_ns),
    end_ns: moment(raw.end_ns),
    total_ms,
    by_kind: kinds.map(({ row, kind, ms }) => ({ kind, ms, share: shareOf(row, ms, whole) })),
    top: rows(raw.top, "top", (row, where) => {
      const total_ms = amount(row, "total_ms", where);
      return {
        name: word(row, "name", where),
        kind: typeof row.kind === "string" ? row.kind : "",
        calls: amount(row, "calls", where),
        total_ms,
        share: shareOf(row, total_ms, whole),
      };
    }),
  };
}

// `text`: a whole summary. For a text that cannot be read, `wrong` says why.
export function parseProfile(text: string): Profile | { wrong: string } {
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch {
    return { wrong: "it is not JSON" };
  }
  try {
    return read(raw);
  } catch (error) {
    if (error instanceof Malformed) return { wrong: error.message };
    throw error;
  }
}

// "steps 10–12", "step 10", or nothing.
export function stepWords({ steps }: Profile): string {
  if (steps === null) return "";
  return steps.first === steps.last ? `step ${steps.first}` : `steps ${steps.first}–${steps.last}`;
}

export type KernelKey = "name" | "kind" | "calls" | "total_ms";

// Numbers from the greatest, words from A; `turned` the other way round. Equal ones stay as they came.
export function sortKernels(
  kernels: readonly Kernel[],
  by: { key: KernelKey; turned: boolean },
): Kernel[] {
  const { key, turned } = by;
  const order = (a: Kernel, b: Kernel) => {
    const [x, y] = [a[key], b[key]];
    if (typeof x === "number" && typeof y === "number") return y - x;
    return x < y ? -1 : x > y ? 1 : 0;
  };
  return kernels.toSorted((a, b) => (turned ? -order(a, b) : order(a, b)));
}

// The parts of the bar, the longest first; the rest of the time, where the kinds leave some, is "other".
export function stackOf({ by_kind, total_ms }: Profile): KindTime[] {
  const parts = by_kind.filter(({ ms }) => ms > 0).toSorted((a, b) => b.ms - a.ms);
  const shown = parts.reduce((sum, { share }) => sum + share, 0);
  const rest = 1 - shown;
  if (parts.length === 0 || rest < kMinRest) return parts;
  const ms = Math.max(0, (total_ms ?? 0) - parts.reduce((sum, part) => sum + part.ms, 0));
  return [...parts, { kind: "other", ms, share: rest }];
}

const kMinRest = 0.005;

export interface Span {
  start_ns: bigint;
  end_ns: bigint;
}

// The time of a profile: the phase that refers to it (it names the files' folder, or the steps, or is the only one),
// else the summary's own, if that is within the run. null if unknown.
export function spanOf(
  profile: Profile,
  at: { path: string; phases: readonly Phase[]; run: { start_ns: string; end_ns: string | null } },
): Span | null {
  const { start_ns, end_ns } = profile;
  const closed = at.phases.flatMap((phase) =>
    isProfiled(phase) && phase.end_ns !== null
      ? [{ phase, start_ns: BigInt(phase.start_ns), end_ns: BigInt(phase.end_ns) }]
      : [],
  );
  const says = (words: (text: string) => boolean) =>
    closed.find(({ phase }) => Object.values(phase.attributes).some((one) => words(String(one))));
  const { first, last } = profile.steps ?? { first: Number.NaN, last: Number.NaN };
  const found =
    says((text) => text === at.path || text.startsWith(`${at.path}/`)) ??
    says((text) => text === `${first}-${last}` || (first === last && text === String(first))) ??
    (closed.length === 1 ? closed[0] : undefined);
  if (found !== undefined) return { start_ns: found.start_ns, end_ns: found.end_ns };
  if (start_ns === null || end_ns === null || end_ns <= start_ns) return null;
  const ended = at.run.end_ns === null ? end_ns : BigInt(at.run.end_ns);
  return start_ns >= BigInt(at.run.start_ns) && start_ns <= ended ? { start_ns, end_ns } : null;
}

// A tenth on each side, so that the charts show the time before and after.
export function around({ start_ns, end_ns }: Span, originNs: bigint): { from: number; to: number } {
  const seconds = (ns: bigint) => Number(ns - originNs) / 1e9;
  const [from, to] = [seconds(start_ns), seconds(end_ns)];
  const air = Math.max((to - from) / 10, 1e-6);
  return { from: from - air, to: to + air };
}
