// Columns moved to another axis by a mapping that keeps their order, put together again where several fall into one
// pixel, and columns of pieces of an axis joined. Pure.
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

const kFloats = ["first", "min", "max", "last"] as const;
const kPlaces = ["firstX", "minX", "maxX", "lastX"] as const;

// The columns of one series, piece after piece from left to right; no line joins two pieces.
export function joinColumns(pieces: readonly Columns[]): Columns | null {
  const [head] = pieces;
  if (head === undefined) return null;
  const n = pieces.reduce((sum, piece) => sum + piece.firstX.length, 0);
  const joined = {
    ...head,
    points: pieces.reduce((sum, piece) => sum + piece.points, 0),
    nonFinite: pieces.reduce((sum, piece) => sum + piece.nonFinite, 0),
    exact: pieces.every((piece) => piece.exact),
    unknownGap: pieces.some((piece) => piece.unknownGap),
    gaps: pieces.flatMap((piece) => piece.gaps),
    counts: new Uint32Array(n),
  };
  for (const name of kFloats) joined[name] = new Float64Array(n);
  for (const name of kPlaces) joined[name] = new Float32Array(n);
  const begins: number[] = [];
  let at = 0;
  for (const piece of pieces) {
    for (const name of kFloats) joined[name].set(piece[name], at);
    for (const name of kPlaces) joined[name].set(piece[name], at);
    joined.counts.set(piece.counts, at);
    for (const begin of piece.segments) begins.push(at + begin);
    at += piece.firstX.length;
  }
  return { ...joined, segments: Uint32Array.from(begins) };
}
