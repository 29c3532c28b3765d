// From the media of the shown runs to the gallery's rows, and from the bytes of a file to what a cell draws. Files come
// from scripts: what is not as docs/media.md says is null. Pure.
import type { MediaEntry, MediaKind, MediaStep } from "../api/media";
import { natural } from "../format/order";

export interface MediaRow {
  name: string;
  kind: MediaKind;
  // One for each run.
  entries: (MediaEntry | null)[];
}

// Rows whose name has `part`, by name.
export function mediaRows(
  byRun: readonly (readonly MediaEntry[] | undefined)[],
  part = "",
): MediaRow[] {
  const rows = new Map<string, MediaRow>();
  byRun.forEach((entries, run) => {
    for (const entry of entries ?? []) {
      if (!entry.name.toLowerCase().includes(part.toLowerCase())) continue;
      const key = `${entry.kind}:${entry.name}`;
      const row = rows.get(key) ?? {
        name: entry.name,
        kind: entry.kind,
        entries: byRun.map(() => null),
      };
      row.entries[run] = entry;
      rows.set(key, row);
    }
  });
  return [...rows.values()].sort((a, b) => natural(a.name, b.name) || natural(a.kind, b.kind));
}

// All steps at which something is, upwards: the positions of the slider.
export function stepsOf(rows: readonly MediaRow[]): number[] {
  const steps = new Set<number>();
  for (const { entries } of rows)
    for (const entry of entries)
      for (const { step } of entry?.steps ?? []) if (step !== null) steps.add(Number(step));
  return [...steps].sort((a, b) => a - b);
}

// The position that shows `step`: the newest at or before it; without a step the last.
export function positionOf(steps: readonly number[], step: number | undefined): number {
  if (step === undefined) return steps.length - 1;
  return Math.max(
    0,
    steps.findLastIndex((one) => one <= step),
  );
}

// The newest value of an entry at or before a step. A value that was logged without a step is at every step.
export function stepAt(entry: MediaEntry | null, step: number | undefined): MediaStep | null {
  const at = (one: MediaStep) =>
    one.step === null || step === undefined || Number(one.step) <= step;
  return entry?.steps.findLast(at) ?? null;
}

export const stepWords = ({ step }: MediaStep): string =>
  step === null ? "without a step" : `step ${step}`;

// The other image of a comparison: the first step, the previous one, or that of the run at place `base`.
export function referenceOf(
  row: MediaRow,
  at: { run: number; shown: MediaStep; step: number | undefined },
  to: { way: string; base: number },
): { run: number; shown: MediaStep } | null {
  const own = row.entries[at.run]?.steps ?? [];
  const place = own.indexOf(at.shown);
  if (to.way === "first" || to.way === "previous") {
    const shown = own[to.way === "first" ? 0 : place - 1];
    return shown === undefined || shown === at.shown ? null : { run: at.run, shown };
  }
  const shown = stepAt(row.entries[to.base] ?? null, at.step);
  return to.base === at.run || shown === null ? null : { run: to.base, shown };
}

// ---- contents

const isNumbers = (value: unknown): value is number[] =>
  Array.isArray(value) && value.every((one) => typeof one === "number" && Number.isFinite(one));

export interface Histogram {
  edges: number[];
  counts: number[];
  notFinite: number;
}

const kMostBins = 4096;

function json(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

export function readHistogram(text: string): Histogram | null {
  const { edges, counts, not_finite: lost } = json(text) ?? {};
  if (!isNumbers(edges) || !isNumbers(counts) || counts.length > kMostBins) return null;
  if (edges.length !== (counts.length === 0 ? 0 : counts.length + 1)) return null;
  if (
    counts.some((n) => n < 0) ||
    edges.some((edge, i) => i > 0 && edge < (edges[i - 1] as number))
  )
    return null;
  return { edges, counts, notFinite: typeof lost === "number" && lost > 0 ? lost : 0 };
}

export const countOf = ({ counts }: Histogram): number => counts.reduce((sum, n) => sum + n, 0);

export interface Bar {
  from: number;
  to: number;
  count: number;
  // Relative to the highest bar: bars of unequal width are compared by their area.
  height: number;
}

export function barsOf({ edges, counts }: Histogram): Bar[] {
  const bars = counts.map((count, i) => {
    const [from, to] = [edges[i] as number, edges[i + 1] as number];
    return { from, to, count, height: to > from ? count / (to - from) : 0 };
  });
  const most = Math.max(Number.MIN_VALUE, ...bars.map(({ height }) => height));
  return bars.map((bar) => ({ ...bar, height: bar.height / most }));
}

// The counts in `rows` bins of equal width from `low` to `high`, each bar spread evenly over the bins that it touches.
export function rebinned(one: Histogram, low: number, high: number, rows: number): number[] {
  const out = new Array<number>(rows).fill(0);
  const width = (high - low) / rows;
  one.counts.forEach((count, i) => {
    const [from, to] = [one.edges[i] as number, one.edges[i + 1] as number];
    if (count === 0) return;
    const first = Math.max(0, Math.min(rows - 1, Math.floor((from - low) / width)));
    const last = Math.max(first, Math.min(rows - 1, Math.ceil((to - low) / width) - 1));
    for (let row = first; row <= last; ++row) {
      const shared = Math.min(to, low + (row + 1) * width) - Math.max(from, low + row * width);
      const share = first === last ? 1 : Math.max(0, shared) / (to - from);
      out[row] = (out[row] as number) + count * share;
    }
  });
  return out;
}

// At most `most`, evenly spread, with the first and the last.
export function spread<T>(all: readonly T[], most: number): T[] {
  if (all.length <= most) return [...all];
  return Array.from({ length: most }, (_, i) => {
    return all[Math.floor((i * (all.length - 1)) / (most - 1))] as T;
  });
}

export interface MediaTable {
  columns: string[];
  rows: string[][];
}

const cell = (value: unknown): string =>
  value === null || value === undefined
    ? ""
    : typeof value === "object"
      ? JSON.stringify(value)
      : String(value);

export function readTable(text: string): MediaTable | null {
  const { columns, data } = json(text) ?? {};
  if (!Array.isArray(columns) || !Array.isArray(data) || !data.every(Array.isArray)) return null;
  return { columns: columns.map(cell), rows: data.map((row: unknown[]) => row.map(cell)) };
}

// ---- the difference of two images

export interface Pixels {
  width: number;
  height: number;
  // Red, green, blue, alpha of each.
  data: Uint8ClampedArray;
}

export interface Difference extends Pixels {
  // Over all channels, 0 to 255.
  mean: number;
  most: number;
  // The picture is so many times as bright as the difference itself.
  gain: number;
  // Share of the pixels that differ.
  differing: number;
}

// |a - b| of each pixel and channel, brightened so that the greatest is white; null: their sizes differ.
export function difference(a: Pixels, b: Pixels): Difference | null {
  if (a.width !== b.width || a.height !== b.height || a.data.length !== b.data.length) return null;
  const data = new Uint8ClampedArray(a.data.length);
  let [sum, most, differing] = [0, 0, 0];
  for (let at = 0; at < data.length; at += 4) {
    let greatest = 0;
    // A transparent pixel has no colour: it is compared as it looks on black, and its alpha beside.
    const [alphaA, alphaB] = [(a.data[at + 3] as number) / 255, (b.data[at + 3] as number) / 255];
    for (let channel = 0; channel < 3; ++channel) {
      const [x, y] = [a.data[at + channel] as number, b.data[at + channel] as number];
      const apart = Math.max(Math.abs(x * alphaA - y * alphaB), Math.abs(alphaA - alphaB) * 255);
      data[at + channel] = apart;
      sum += apart;
      greatest = Math.max(greatest, apart);
    }
    data[at + 3] = 255;
    most = Math.max(most, greatest);
    if (greatest > 0) ++differing;
  }
  const gain = most > 0 ? 255 / most : 1;
  for (let at = 0; at < data.length; ++at) if (at % 4 !== 3) data[at] = (data[at] as number) * gain;
  const pixels = Math.max(1, a.width * a.height);
  return {
    width: a.width,
    height: a.height,
    data,
    mean: sum / (3 * pixels),
    most,
    gain,
    differing: differing / pixels,
  };
}
