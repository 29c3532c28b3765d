// The server's answers made by hand, for tests.

export interface Column {
  values: [number, number, number, number];
  x: [number, number, number, number];
  count: number;
}

export interface Series {
  id: bigint;
  columns: Column[];
  segments?: number[];
  gaps?: [bigint, bigint][];
}

export function encode(width: number, series: Series[]): ArrayBuffer {
  const sizes = series.map(({ columns, segments = [0], gaps = [] }) => {
    const starts = columns.length > 0 ? segments.length : 0;
    return Math.ceil((72 + columns.length * 52 + gaps.length * 16 + starts * 4 + 8) / 8) * 8;
  });
  const buffer = new ArrayBuffer(32 + sizes.reduce((a, b) => a + b, 0));
  const view = new DataView(buffer);
  for (const [i, c] of [..."CRCH"].entries()) view.setUint8(i, c.charCodeAt(0));
  view.setUint16(4, 2, true);
  view.setUint16(6, series.length, true);
  view.setUint32(8, width, true);
  view.setBigInt64(16, 1_000n, true);
  view.setBigInt64(24, 2_000n, true);
  let at = 32;
  series.forEach(({ id, columns, segments = [0], gaps = [] }, s) => {
    const n = columns.length;
    const starts = n > 0 ? segments : [];
    view.setBigInt64(at, id, true);
    view.setBigUint64(at + 8, 77n, true);
    view.setBigUint64(at + 16, 3n, true);
    view.setUint32(at + 24, n, true);
    view.setUint8(at + 28, 1);
    view.setUint8(at + 29, 1);
    view.setUint16(at + 30, gaps.length > 0 ? 2 : 0, true);
    view.setUint32(at + 60, starts.length, true);
    view.setUint32(at + 64, 1, true);
    view.setUint32(at + 68, gaps.length, true);
    const gapsAt = at + 72 + n * 32;
    gaps.forEach(([from, to], i) => {
      view.setBigInt64(gapsAt + i * 8, from, true);
      view.setBigInt64(gapsAt + (gaps.length + i) * 8, to, true);
    });
    const xs = gapsAt + gaps.length * 16;
    columns.forEach((column, k) => {
      for (let j = 0; j < 4; j++) {
        view.setFloat64(at + 72 + (j * n + k) * 8, column.values[j] as number, true);
        view.setFloat32(xs + (j * n + k) * 4, column.x[j] as number, true);
      }
      view.setUint32(xs + n * 16 + k * 4, column.count, true);
    });
    starts.forEach((start, i) => {
      view.setUint32(xs + n * 20 + i * 4, start, true);
    });
    at += sizes[s] as number;
  });
  return buffer;
}
