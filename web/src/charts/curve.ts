// Computed curves and pairs → points of lines, bands and dots. Pure.
import type { Join, Projection } from "./line";
import type { Points } from "./marks";
import { Pen } from "./pen";
import type { CurveData, PairData } from "./spec";

export interface CurveShape {
  line: Points;
  upper: Points;
  lower: Points;
  dots: Points;
}

const line = new Pen();
const upper = new Pen();
const lower = new Pen();
const dots = new Pen();

const kTimesUsual = 10;
const kMinColumns = 3;

// Returns the number of columns that may lie between two values before the line is interrupted: ten times the usual
// distance, as for measured points (gap.ts). A series that is slower than the pixels is no row of dots.
export function bridgeOf(value: Float64Array): number {
  const between: number[] = [];
  let last = -1;
  for (let i = 0; i < value.length; i++) {
    if (Number.isNaN(value[i] as number)) continue;
    if (last >= 0) between.push(i - last);
    last = i;
  }
  between.sort((a, b) => a - b);
  return Math.max(kMinColumns, kTimesUsual * (between[between.length >> 1] ?? 1));
}

// Through the middle of each column that holds a value; what stands alone is a dot.
export function shapeCurve(curve: CurveData, project: Projection, join: Join): CurveShape {
  const { value, low, high, from, to } = curve;
  for (const pen of [line, upper, lower, dots]) pen.clear();
  const n = value.length;
  const bridge = bridgeOf(value);
  const x = (i: number) => project.x(from + ((i + 0.5) / n) * (to - from));
  let held = Number.NaN;
  let last = Number.NEGATIVE_INFINITY;
  let joined = true;
  for (let i = 0; i < n; i++) {
    if (Number.isNaN(value[i] as number)) continue;
    const y = project.y(value[i] as number);
    // There is a value, only no place for it, as below zero on a logarithm: nothing leads across it.
    if (Number.isNaN(y)) {
      if (!joined) dots.to(x(last), held);
      joined = true;
      last = Number.NEGATIVE_INFINITY;
      continue;
    }
    if (i - last > bridge) {
      if (!joined) dots.to(x(last), held);
      line.lift();
      joined = false;
    } else {
      if (join === "step") line.to(x(i), held);
      joined = true;
    }
    line.to(x(i), y);
    held = y;
    last = i;
  }
  if (!joined) dots.to(x(last), held);
  if (low !== null && high !== null) shapeBand(curve, { low, high }, { project, x, bridge });
  return { line: line.points(), upper: upper.points(), lower: lower.points(), dots: dots.points() };
}

// Parted as the line is, and where a column has a value but no band.
function shapeBand(
  { value }: CurveData,
  { low, high }: { low: Float64Array; high: Float64Array },
  at: { project: Projection; x: (i: number) => number; bridge: number },
): void {
  const { project, x, bridge } = at;
  let last = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < low.length; i++) {
    const top = project.y(high[i] as number);
    const end = project.y(low[i] as number);
    // A lower end that a logarithmic axis cannot show lies below the plot.
    const bottom = Number.isNaN(end) && !Number.isNaN(low[i] as number) ? project.floor : end;
    if (Number.isNaN(top) || bottom === undefined || Number.isNaN(bottom)) {
      if (!Number.isNaN(value[i] as number)) last = Number.NEGATIVE_INFINITY;
      continue;
    }
    if (i - last > bridge) {
      upper.lift();
      lower.lift();
    }
    upper.to(x(i), top);
    lower.to(x(i), bottom);
    last = i;
  }
}

// Joined in the order that they come in, which is that of time.
export function shapePairs(pairs: PairData, project: Projection, join: Join): Points {
  line.clear();
  let held = Number.NaN;
  for (let i = 0; i < pairs.x.length; i++) {
    const x = project.x(pairs.x[i] as number);
    const y = project.y(pairs.y[i] as number);
    if (Number.isNaN(x) || Number.isNaN(y)) {
      line.lift();
      held = Number.NaN;
      continue;
    }
    if (join === "step" && !Number.isNaN(held)) line.to(x, held);
    line.to(x, y);
    held = y;
  }
  return line.points();
}

export function pairDots(pairs: PairData, project: Projection): Points {
  dots.clear();
  for (let i = 0; i < pairs.x.length; i++) {
    const x = project.x(pairs.x[i] as number);
    const y = project.y(pairs.y[i] as number);
    if (!Number.isNaN(x) && !Number.isNaN(y)) dots.to(x, y);
  }
  return dots.points();
}
