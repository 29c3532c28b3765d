// Which value a line has at a place, and which line passes nearest to a pointer. Logarithmic in the points of a
// line. Pure.
import type { ChartPicture } from "./chart";
import { valueAt } from "./line";
import type { ChartLine, CurveData, PairData } from "./spec";
import { project } from "./yaxis";

// The value of a curve's column at a place on its axis, null where there is none.
export function curveAt({ value, from, to }: CurveData, x: number): number | null {
  const found = value[Math.floor(((x - from) / (to - from)) * value.length)];
  return found === undefined || Number.isNaN(found) ? null : found;
}

const orders = new WeakMap<PairData, Uint32Array>();

// Pairs that have both values, by x.
function orderOf(pairs: PairData): Uint32Array {
  let order = orders.get(pairs);
  if (order === undefined) {
    const { x, y } = pairs;
    order = Uint32Array.from(x.keys())
      .filter((i) => Number.isFinite(x[i] as number) && Number.isFinite(y[i] as number))
      .sort((a, b) => (x[a] as number) - (x[b] as number) || a - b);
    orders.set(pairs, order);
  }
  return order;
}

// The pair whose x is nearest, within `reach`; of several at one x the latest.
export function pairAt(pairs: PairData, x: number, reach: number): number | null {
  const order = orderOf(pairs);
  const xAt = (i: number) => pairs.x[order[i] as number] as number;
  let low = 0;
  let high = order.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xAt(middle) <= x) low = middle + 1;
    else high = middle;
  }
  const near = [low - 1, low].filter((i) => i >= 0 && i < order.length);
  near.sort((a, b) => Math.abs(xAt(a) - x) - Math.abs(xAt(b) - x));
  const best = near[0];
  if (best === undefined || Math.abs(xAt(best) - x) > reach) return null;
  return pairs.y[order[best] as number] as number;
}

// `reach`: on the x axis, of pairs.
export function lineAt(line: ChartLine, x: number, reach: number): number | null {
  if (line.curve) return curveAt(line.curve, x);
  if (line.pairs) return pairAt(line.pairs, x, reach);
  return line.data === null ? null : valueAt(line.data, x);
}

// The key of the line that is nearest above or below a place of the picture, within `reach` pixels.
export function nearestLine(
  lines: readonly ChartLine[],
  picture: ChartPicture,
  at: { x: number; y: number; range: { from: number; to: number }; reach?: number },
): string | null {
  const { plot, axis, axis2 } = picture;
  const { from, to } = at.range;
  const pixel = (to - from) / plot.width;
  const x = from + (at.x - plot.x) * pixel;
  const rows = [axis, axis2].map((one) => one && project(one, plot));
  let best: string | null = null;
  let distance = at.reach ?? 24;
  for (const line of lines) {
    const y = rows[line.axis ?? 0];
    const value = line.hidden || !y ? null : lineAt(line, x, pixel * 6);
    if (value === null || !y) continue;
    const away = Math.abs(y(value) - at.y);
    if (away < distance) [best, distance] = [line.key, away];
  }
  return best;
}
