// One series' columns → a line, the fainter band behind it, and dots for points that stand alone. Pure.
//
// A column with one or two points is drawn exactly. In a column with more, the band spans min to max (with
// the joins between columns it covers every pixel a line through all points would) and the line goes through
// the middle of the two inner of the four known values, which a single spike does not move.
import type { Columns } from "../api/columns";
import type { Points } from "./marks";

export interface LineData {
  columns: Columns;
  // The range that the columns' pixels span, and how many there are.
  from: number;
  to: number;
  width: number;
  // Seconds between points over the series' whole life; 0 when it has fewer than two.
  spacing: number;
}

export interface Shape {
  line: Points;
  upper: Points;
  lower: Points;
  dots: Points;
}

export interface Projection {
  x: (seconds: number) => number;
  y: (value: number) => number;
}

const kTimesUsual = 10;
const kLeastSeconds = 1;
const kLeastPixels = 3;

// Longer than this, in column pixels, between two points means that nothing was measured, and the line is
// interrupted: ten times the usual spacing (of the series' whole life or of what is in sight, whichever is
// longer), but never less than a second, which a busy machine may well take for a single step, nor less than
// can be seen. The series' own spacing makes the answer the same at every zoom.
export function gapThreshold(data: LineData): number {
  const { columns, from, to, width, spacing } = data;
  const perSecond = width / (to - from);
  const between: number[] = [];
  for (let i = 1; i < columns.firstX.length; i++)
    between.push((columns.firstX[i] as number) - (columns.lastX[i - 1] as number));
  between.sort((a, b) => a - b);
  const usual = Math.max(spacing * perSecond, between[between.length >> 1] ?? 0);
  return Math.max(kTimesUsual * usual, kLeastSeconds * perSecond, kLeastPixels);
}

class Pen {
  readonly out: number[] = [];
  to(x: number, y: number): void {
    this.out.push(x, y);
  }
  lift(): void {
    if (this.out.length > 0) this.out.push(Number.NaN, Number.NaN);
  }
  points(): Points {
    return Float64Array.from(this.out);
  }
}

function innerMiddle(a: number, b: number, c: number, d: number): number {
  return (a + b + c + d - Math.min(a, b, c, d) - Math.max(a, b, c, d)) / 2;
}

// Points between two pixels could not be read.
function lost(columns: Columns, before: number, after: number): boolean {
  return columns.gaps.some(([from, to]) => from < after && to > before);
}

export function shapeLine(data: LineData, project: Projection): Shape {
  const { columns: c, from, to, width } = data;
  const n = c.firstX.length;
  const threshold = gapThreshold(data);
  const starts = new Set(c.segments);
  // Nothing joins column `i` to the one before it.
  const parted = (i: number) => {
    if (i === 0 || i === n || starts.has(i)) return true;
    const [before, after] = [c.lastX[i - 1] as number, c.firstX[i] as number];
    return after - before > threshold || lost(c, before, after);
  };
  const toX = (px: number) => project.x(from + (px * (to - from)) / width);
  const line = new Pen();
  const upper = new Pen();
  const lower = new Pen();
  const dots = new Pen();
  const sparse = n > 0 && c.points < width / 24;
  for (let i = 0; i < n; i++) {
    const x0 = c.firstX[i] as number;
    const x1 = c.lastX[i] as number;
    if (parted(i)) for (const pen of [line, upper, lower]) pen.lift();
    const [first, min, max, last] = [c.first[i], c.min[i], c.max[i], c.last[i]] as [
      number,
      number,
      number,
      number,
    ];
    const alone = c.counts[i] === 1 && parted(i) && parted(i + 1);
    if (alone || sparse) dots.to(toX(x0), project.y(first));
    if (sparse && x1 > x0) dots.to(toX(x1), project.y(last));
    if ((c.counts[i] as number) <= 2) {
      // Exact, so the band has no height here.
      for (const pen of [line, upper, lower]) {
        pen.to(toX(x0), project.y(first));
        if (x1 > x0) pen.to(toX(x1), project.y(last));
      }
      continue;
    }
    const middle = toX((x0 + x1) / 2);
    line.to(middle, project.y(innerMiddle(first, min, max, last)));
    upper.to(middle, project.y(max));
    lower.to(middle, project.y(min));
  }
  return { line: line.points(), upper: upper.points(), lower: lower.points(), dots: dots.points() };
}

// The value nearest to a moment; in a gap and beyond the ends null, save within a usual spacing of a point.
export function valueAt(data: LineData, seconds: number): number | null {
  const { columns: c, from, to, width } = data;
  const n = c.firstX.length;
  if (n === 0) return null;
  const px = ((seconds - from) / (to - from)) * width;
  let low = 0;
  let high = n - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((c.firstX[middle] as number) <= px) low = middle;
    else high = middle - 1;
  }
  let best: number | null = null;
  let distance = Number.POSITIVE_INFINITY;
  for (let i = low; i <= Math.min(n - 1, low + 1); i++) {
    for (const [x, value] of [
      [c.firstX[i], c.first[i]],
      [c.minX[i], c.min[i]],
      [c.maxX[i], c.max[i]],
      [c.lastX[i], c.last[i]],
    ] as [number, number][]) {
      if (Math.abs(x - px) < distance) [distance, best] = [Math.abs(x - px), value];
    }
  }
  const reach = Math.max(kLeastPixels, (data.spacing * width) / (to - from));
  return distance <= reach || measuredAround(data, px, low) ? best : null;
}

// `px`, at or after column `at`, lies on the line: in that column, or before the next without a gap.
function measuredAround(data: LineData, px: number, at: number): boolean {
  const { firstX, lastX } = data.columns;
  if (px < (firstX[at] as number)) return false;
  if (px <= (lastX[at] as number)) return true;
  const next = firstX[at + 1];
  return next !== undefined && next - (lastX[at] as number) <= gapThreshold(data);
}
