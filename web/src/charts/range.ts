// The range of a chart's values: minimum and maximum, the values that a logarithmic axis can show, percentiles. Every
// drawn place counts once: a pixel column with its smallest and largest value, a column of a curve with its band, a
// pair. Pure.
import type { ChartLine, CurveData } from "./spec";

const kEverywhere = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY };

type Visit = (low: number, high: number) => void;

// The places of a line that lie in sight. All places of columns and curves count, since they are made for the range.
export function eachPlace(line: ChartLine, x: { from: number; to: number }, visit: Visit): void {
  const { data, curve, pairs, spreads = [] } = line;
  if (data !== null) {
    const { min, max } = data.columns;
    for (let i = 0; i < min.length; i++) visit(min[i] as number, max[i] as number);
  }
  if (curve) eachOfCurve(curve, kEverywhere, visit);
  for (const spread of spreads) eachOfCurve(spread, x, visit);
  if (pairs) {
    for (let i = 0; i < pairs.x.length; i++) {
      const [at, v] = [pairs.x[i] as number, pairs.y[i] as number];
      if (at >= x.from && at <= x.to && Number.isFinite(v)) visit(v, v);
    }
  }
}

function eachOfCurve(
  { value, low, high, from, to }: CurveData,
  x: { from: number; to: number },
  visit: Visit,
): void {
  const each = (to - from) / value.length;
  for (let i = 0; i < value.length; i++) {
    const v = value[i] as number;
    if (Number.isNaN(v) || from + i * each > x.to || from + (i + 1) * each < x.from) continue;
    const [least, most] = [low?.[i] ?? v, high?.[i] ?? v];
    visit(Number.isNaN(least) ? v : Math.min(v, least), Number.isNaN(most) ? v : Math.max(v, most));
  }
}

export interface Values {
  low: number;
  high: number;
  // Smallest value above zero; infinite when there is none.
  leastPositive: number;
  // Places with values at or below zero.
  notPositive: number;
  places: number;
}

export function valuesOf(
  lines: readonly ChartLine[],
  x: { from: number; to: number },
): Values | null {
  const found = {
    low: Number.POSITIVE_INFINITY,
    high: Number.NEGATIVE_INFINITY,
    leastPositive: Number.POSITIVE_INFINITY,
    notPositive: 0,
    places: 0,
  };
  const visit = (low: number, high: number) => {
    found.places++;
    if (low < found.low) found.low = low;
    if (high > found.high) found.high = high;
    if (low <= 0) found.notPositive++;
    const positive = low > 0 ? low : high;
    if (positive > 0 && positive < found.leastPositive) found.leastPositive = positive;
  };
  for (const line of lines) if (!line.hidden) eachPlace(line, x, visit);
  return found.low <= found.high ? found : null;
}

// Smallest and largest value drawn; null when there is none.
export function valueRange(lines: readonly ChartLine[]): [number, number] | null {
  const values = valuesOf(lines, kEverywhere);
  return values === null ? null : [values.low, values.high];
}

// Nearest-rank percentiles of the smallest and largest values of all places.
export function percentiles(
  lines: readonly ChartLine[],
  x: { from: number; to: number },
  at: { low: number; high: number; places: number },
): [number, number] {
  const all = new Float64Array(at.places * 2);
  let n = 0;
  for (const line of lines) {
    if (line.hidden) continue;
    eachPlace(line, x, (low, high) => {
      all[n++] = low;
      all[n++] = high;
    });
  }
  all.sort();
  const rank = (percent: number) =>
    all[Math.min(n - 1, Math.max(0, Math.ceil((percent / 100) * n) - 1))] as number;
  return [rank(at.low), rank(at.high)];
}

// Places that reach beyond an axis.
export function placesBeyond(
  lines: readonly ChartLine[],
  x: { from: number; to: number },
  axis: { from: number; to: number },
): number {
  let count = 0;
  const room = (axis.to - axis.from) * 1e-9;
  for (const line of lines) {
    if (line.hidden) continue;
    eachPlace(line, x, (low, high) => {
      if (low < axis.from - room || high > axis.to + room) count++;
    });
  }
  return count;
}
