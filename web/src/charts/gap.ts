// Gaps of a line: nothing was measured for long, or the data could not be read. Pure.
import type { Columns } from "../api/columns";

export interface LineData {
  columns: Columns;
  // The range that the columns' pixels span, and how many there are.
  from: number;
  to: number;
  width: number;
  // Seconds between points over the series' whole life; 0 when it has fewer than two.
  spacing: number;
}

const kTimesUsual = 10;
const kMinSeconds = 1;
// Nor less than this many column pixels.
export const kMinPixels = 3;

const medians = new WeakMap<Columns, number>();

// The usual distance between columns in column pixels.
function medianDistance(columns: Columns): number {
  let median = medians.get(columns);
  if (median === undefined) {
    const { firstX, lastX } = columns;
    const between = new Float64Array(Math.max(0, firstX.length - 1));
    for (let i = 1; i < firstX.length; i++)
      between[i - 1] = (firstX[i] as number) - (lastX[i - 1] as number);
    between.sort();
    median = between[between.length >> 1] ?? 0;
    medians.set(columns, median);
  }
  return median;
}

// A longer distance between two points, in column pixels, means that nothing was measured, and the line is interrupted:
// ten times the usual spacing (of the series' whole life or of the visible part, whichever is longer), but never less
// than a second, which a busy machine may well take for a single step, nor less than can be seen. The series' own
// spacing makes the answer the same at every zoom.
export function gapThreshold(data: LineData): number {
  const { columns, from, to, width, spacing } = data;
  const perSecond = width / (to - from);
  const usual = Math.max(spacing * perSecond, medianDistance(columns));
  return Math.max(kTimesUsual * usual, kMinSeconds * perSecond, kMinPixels);
}

// Points between two pixels could not be read.
function lost(columns: Columns, before: number, after: number): boolean {
  return columns.gaps.some(([from, to]) => from < after && to > before);
}

// Returns a function that is true if column `i` is not joined to the one before it; call it in ascending order.
export function partings(data: LineData): (i: number) => boolean {
  const { columns: c } = data;
  const n = c.firstX.length;
  const threshold = gapThreshold(data);
  const damaged = c.gaps.length > 0;
  let segment = 0;
  return (i) => {
    if (i === n) return true;
    while (segment < c.segments.length && (c.segments[segment] as number) < i) segment++;
    if (i === 0 || c.segments[segment] === i) return true;
    const before = c.lastX[i - 1] as number;
    const after = c.firstX[i] as number;
    return after - before > threshold || (damaged && lost(c, before, after));
  };
}
