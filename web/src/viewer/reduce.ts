// Raw points reduced for a picture: per pixel column the first, min, max and last, as the server does it. Pure.
import type { LineData } from "../charts/gap";
import type { CurveData } from "../charts/spec";
import type { Range } from "./board";

export interface Points {
  // Ascending.
  x: Float64Array;
  y: Float64Array;
}

// The first place at or after a value, in ascending numbers.
function firstFrom(x: Float64Array, value: number): number {
  let [low, high] = [0, x.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((x[middle] as number) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

// One point beyond each end goes along, where the line comes from and goes to.
export function columnsOf({ x, y }: Points, range: Range, width: number): LineData {
  const scale = width / (range.to - range.from);
  const begin = Math.max(0, firstFrom(x, range.from) - 1);
  const end = Math.min(x.length, firstFrom(x, range.to) + 1);
  const most = Math.min(end - begin, width + 2);
  const f64 = () => new Float64Array(most);
  const f32 = () => new Float32Array(most);
  const out = {
    ...{ first: f64(), min: f64(), max: f64(), last: f64(), counts: new Uint32Array(most) },
    ...{ firstX: f32(), minX: f32(), maxX: f32(), lastX: f32() },
  };
  let k = -1;
  let column = Number.NaN;
  for (let i = begin; i < end; i++) {
    const at = ((x[i] as number) - range.from) * scale;
    const value = y[i] as number;
    // All that lies beyond an end is one column there.
    const pixel = Math.min(width, Math.max(-1, Math.floor(at)));
    if (pixel !== column) {
      column = pixel;
      k++;
      for (const part of [out.first, out.min, out.max]) part[k] = value;
      for (const part of [out.firstX, out.minX, out.maxX]) part[k] = at;
    } else if (value < (out.min[k] as number)) {
      out.min[k] = value;
      out.minX[k] = at;
    } else if (value > (out.max[k] as number)) {
      out.max[k] = value;
      out.maxX[k] = at;
    }
    out.last[k] = value;
    out.lastX[k] = at;
    out.counts[k] = (out.counts[k] as number) + 1;
  }
  const n = k + 1;
  const columns = {
    ...{ series: 0, points: end - begin, nonFinite: 0, exact: true, rate: false },
    first: out.first.subarray(0, n),
    min: out.min.subarray(0, n),
    max: out.max.subarray(0, n),
    last: out.last.subarray(0, n),
    firstX: out.firstX.subarray(0, n),
    minX: out.minX.subarray(0, n),
    maxX: out.maxX.subarray(0, n),
    lastX: out.lastX.subarray(0, n),
    counts: out.counts.subarray(0, n),
    segments: new Uint32Array(n > 0 ? 1 : 0),
    gaps: [],
    unknownGap: false,
  };
  const life = (x.at(-1) ?? 0) - (x[0] ?? 0);
  return { columns, ...range, width, spacing: x.length < 2 ? 0 : life / (x.length - 1) };
}

// The moving average that counts every point alike; `weight` is that of the previous average.
export function average(y: Float64Array, weight: number): Float64Array {
  const out = new Float64Array(y.length);
  let before = y[0] ?? 0;
  for (let i = 0; i < y.length; i++) {
    before = (y[i] as number) * (1 - weight) + before * weight;
    out[i] = before;
  }
  return out;
}

// The mean of each pixel column, NaN where it has no point.
export function curveOf({ x, y }: Points, range: Range, width: number): CurveData {
  const sums = new Float64Array(width);
  const counts = new Uint32Array(width);
  const scale = width / (range.to - range.from);
  const end = firstFrom(x, range.to);
  for (let i = firstFrom(x, range.from); i < end; i++) {
    const pixel = Math.min(width - 1, Math.floor(((x[i] as number) - range.from) * scale));
    sums[pixel] = (sums[pixel] as number) + (y[i] as number);
    counts[pixel] = (counts[pixel] as number) + 1;
  }
  const value = sums.map((sum, i) => (counts[i] === 0 ? Number.NaN : sum / (counts[i] as number)));
  return { value, low: null, high: null, ...range };
}
