// Columns made by hand, for tests.
import type { Columns } from "../api/columns";
import type { LineData } from "./line";

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
      if (v instanceof Float64Array) return Array.from(v, (n) => (Number.isNaN(n) ? null : n));
      return typeof v === "number" ? Math.round(v * 100) / 100 : v;
    }),
  );
}
