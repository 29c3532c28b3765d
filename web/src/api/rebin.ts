// Columns moved to another axis by a mapping that keeps their order, and put together again where several fall into
// one pixel. Pure.
import type { Columns } from "./columns";

// `move`: a pixel of the columns → a pixel of the new axis.
export function rebin(columns: Columns, move: (px: number) => number): Columns {
  const { first, min, max, last, counts, segments } = columns;
  const [firstX, minX, maxX, lastX] = [
    columns.firstX,
    columns.minX,
    columns.maxX,
    columns.lastX,
  ].map((xs) => xs.map(move)) as [Float32Array, Float32Array, Float32Array, Float32Array];
  const starts = new Set(segments);
  const out = {
    first: new Float64Array(first),
    min: new Float64Array(min),
    max: new Float64Array(max),
    last: new Float64Array(last),
    counts: new Uint32Array(counts),
  };
  const begins: number[] = [];
  let k = -1;
  for (let i = 0; i < firstX.length; i++) {
    const begin = starts.has(i);
    const same =
      k >= 0 && !begin && Math.floor(firstX[i] as number) === Math.floor(firstX[k] as number);
    if (!same) {
      k++;
      if (begin) begins.push(k);
      for (const part of [firstX, minX, maxX, lastX]) part[k] = part[i] as number;
      out.first[k] = first[i] as number;
      out.min[k] = min[i] as number;
      out.max[k] = max[i] as number;
      out.counts[k] = counts[i] as number;
    } else {
      if ((min[i] as number) < (out.min[k] as number)) {
        out.min[k] = min[i] as number;
        minX[k] = minX[i] as number;
      }
      if ((max[i] as number) > (out.max[k] as number)) {
        out.max[k] = max[i] as number;
        maxX[k] = maxX[i] as number;
      }
      out.counts[k] = (out.counts[k] as number) + (counts[i] as number);
    }
    out.last[k] = last[i] as number;
    lastX[k] = lastX[i] as number;
  }
  const n = k + 1;
  return {
    ...columns,
    first: out.first.subarray(0, n),
    min: out.min.subarray(0, n),
    max: out.max.subarray(0, n),
    last: out.last.subarray(0, n),
    counts: out.counts.subarray(0, n),
    firstX: firstX.subarray(0, n),
    minX: minX.subarray(0, n),
    maxX: maxX.subarray(0, n),
    lastX: lastX.subarray(0, n),
    segments: Uint32Array.from(begins),
    gaps: columns.gaps.map(([a, b]) => [move(a), move(b)] as const),
  };
}
