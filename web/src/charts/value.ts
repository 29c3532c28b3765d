// The value of a measured line at a place. Pure.
import type { Columns } from "../api/columns";
import { gapThreshold, kMinPixels, type LineData } from "./gap";

// The last of columns [begin, end) that begins at or before a pixel; `begin` when all begin after it.
function columnAt({ firstX }: Columns, px: number, begin: number, end: number): number {
  let low = begin;
  let high = end - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((firstX[middle] as number) <= px) low = middle;
    else high = middle - 1;
  }
  return low;
}

interface Nearest {
  value: number;
  distance: number;
  // The pixel is on the line of that segment.
  on: boolean;
}

function nearestIn(data: LineData, px: number, begin: number, end: number): Nearest {
  const { columns: c } = data;
  const at = columnAt(c, px, begin, end);
  const best = { value: Number.NaN, distance: Number.POSITIVE_INFINITY };
  const consider = (x: number | undefined, value: number | undefined) => {
    const distance = Math.abs((x as number) - px);
    if (distance >= best.distance) return;
    best.distance = distance;
    best.value = value as number;
  };
  for (let i = at; i <= Math.min(end - 1, at + 1); i++) {
    consider(c.firstX[i], c.first[i]);
    consider(c.minX[i], c.min[i]);
    consider(c.maxX[i], c.max[i]);
    consider(c.lastX[i], c.last[i]);
  }
  return { ...best, on: measuredAround(data, px, at, end) };
}

// The value nearest to a moment; in a gap and beyond the ends null, save within a usual spacing of a point. Among
// equally near ones of overlapping segments, the later segment's counts. Logarithmic in the columns of a segment.
export function valueAt(data: LineData, seconds: number): number | null {
  const { columns: c, from, to, width } = data;
  const n = c.firstX.length;
  if (n === 0) return null;
  const px = ((seconds - from) / (to - from)) * width;
  const reach = Math.max(kMinPixels, (data.spacing * width) / (to - from));
  let best: Nearest | null = null;
  for (let s = 0; s < c.segments.length; s++) {
    const found = nearestIn(data, px, c.segments[s] as number, c.segments[s + 1] ?? n);
    if (!found.on && found.distance > reach) continue;
    if (best === null || found.distance <= best.distance) best = found;
  }
  return best?.value ?? null;
}

// `px`, at or after column `at`, lies on the line: in that column, or before the next without a gap.
function measuredAround(data: LineData, px: number, at: number, end: number): boolean {
  const { firstX, lastX } = data.columns;
  if (px < (firstX[at] as number)) return false;
  if (px <= (lastX[at] as number)) return true;
  if (at + 1 >= end) return false;
  return (firstX[at + 1] as number) - (lastX[at] as number) <= gapThreshold(data);
}
