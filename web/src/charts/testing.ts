// Columns made by hand, for tests.
import type { Columns } from "../api/columns";
import type { LineData } from "./line";
import type { Mark } from "./marks";
import type { ChartLine, CurveData } from "./spec";

// One point per column at [x, value].
export function pointColumns(points: readonly (readonly [number, number])[]): Columns {
  const values = Float64Array.from(points, ([, v]) => v);
  const x = Float32Array.from(points, ([at]) => at);
  return {
    series: 1,
    points: points.length,
    nonFinite: 0,
    exact: true,
    rate: false,
    first: values,
    min: values,
    max: values,
    last: values,
    firstX: x,
    minX: x,
    maxX: x,
    lastX: x,
    counts: new Uint32Array(points.length).fill(1),
    segments: new Uint32Array(points.length > 0 ? 1 : 0),
    gaps: [],
    unknownGap: false,
  };
}

// Dense columns: [first, min, max, last] each, nine points over the middle of its pixel.
export function denseColumns(
  columns: readonly (readonly [number, number, number, number])[],
): Columns {
  const part = (k: number) => Float64Array.from(columns, (c) => c[k] as number);
  const at = (offset: number) => Float32Array.from(columns, (_, i) => i + offset);
  return {
    ...pointColumns([]),
    points: columns.length * 9,
    first: part(0),
    min: part(1),
    max: part(2),
    last: part(3),
    firstX: at(0.1),
    minX: at(0.3),
    maxX: at(0.6),
    lastX: at(0.9),
    counts: new Uint32Array(columns.length).fill(9),
    segments: new Uint32Array(columns.length > 0 ? 1 : 0),
  };
}

export function lineData(columns: Columns, width = 100): LineData {
  return { columns, from: 0, to: width, width, spacing: 1 };
}

// Rounded to hundredths, with typed arrays as lists, as golden files hold them.
export function rounded(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_, v) => {
      if (v instanceof Uint8Array) return Array.from(v);
      if (v instanceof Float64Array) return Array.from(v, (n) => (Number.isNaN(n) ? null : n));
      return typeof v === "number" ? Math.round(v * 100) / 100 : v;
    }),
  );
}

// Points reduced to columns as the server does: per pixel the first, least, greatest and last in order of
// time (the earliest where several are equal), points that are not finite left out.
export function reduced(
  x: ArrayLike<number>,
  y: ArrayLike<number>,
  at: { from: number; to: number; width: number },
): Columns {
  const scale = at.width / (at.to - at.from);
  const out: Record<"first" | "min" | "max" | "last" | "fx" | "nx" | "mx" | "lx" | "n", number[]> =
    {
      first: [],
      min: [],
      max: [],
      last: [],
      fx: [],
      nx: [],
      mx: [],
      lx: [],
      n: [],
    };
  let column = -1;
  let points = 0;
  for (let i = 0; i < x.length; i++) {
    const [px, v] = [((x[i] as number) - at.from) * scale, y[i] as number];
    if (!Number.isFinite(v) || px < 0 || px >= at.width) continue;
    points++;
    const k = out.first.length - 1;
    if (Math.floor(px) !== column) {
      column = Math.floor(px);
      for (const key of ["first", "min", "max", "last"] as const) out[key].push(v);
      for (const key of ["fx", "nx", "mx", "lx"] as const) out[key].push(px);
      out.n.push(1);
      continue;
    }
    out.n[k] = (out.n[k] as number) + 1;
    out.last[k] = v;
    out.lx[k] = px;
    if (v < (out.min[k] as number)) [out.min[k], out.nx[k]] = [v, px];
    if (v > (out.max[k] as number)) [out.max[k], out.mx[k]] = [v, px];
  }
  return {
    ...pointColumns([]),
    points,
    first: Float64Array.from(out.first),
    min: Float64Array.from(out.min),
    max: Float64Array.from(out.max),
    last: Float64Array.from(out.last),
    firstX: Float32Array.from(out.fx),
    minX: Float32Array.from(out.nx),
    maxX: Float32Array.from(out.mx),
    lastX: Float32Array.from(out.lx),
    counts: Uint32Array.from(out.n),
    segments: new Uint32Array(out.n.length > 0 ? 1 : 0),
  };
}

// A curve of `count` values over [0, 100).
export function curve(
  value: (i: number) => number,
  part: { count?: number; band?: number } = {},
): CurveData {
  const { count = 100, band } = part;
  const values = Float64Array.from({ length: count }, (_, i) => value(i));
  const low = band === undefined ? null : values.map((v) => v - band);
  const high = band === undefined ? null : values.map((v) => v + band);
  return { value: values, low, high, from: 0, to: 100 };
}

export function chartLine(key: string, part: Partial<ChartLine> = {}): ChartLine {
  return { key, label: key, colour: "#2f5fd0", dash: [], hidden: false, data: null, ...part };
}

// Every mark, also those inside others.
export function flat(marks: readonly Mark[]): Mark[] {
  return marks.flatMap((mark) => (mark.kind === "clip" ? flat(mark.marks) : [mark]));
}

export const textsOf = (marks: readonly Mark[]) =>
  flat(marks).flatMap((mark) => (mark.kind === "text" ? [mark.text] : []));
