// Decodes the answer of POST /charts (docs/api.md, "Charts") and checks every bound before it reads: a cut or
// foreign answer is a ChartFormatError, never a wrong picture. The arrays are views on the answer. Pure.

export interface Columns {
  series: number;
  points: number;
  nonFinite: number;
  exact: boolean;
  rate: boolean;
  // One entry per pixel column that holds a finite point, ascending.
  first: Float64Array;
  min: Float64Array;
  max: Float64Array;
  last: Float64Array;
  // Device pixels from the left edge.
  firstX: Float32Array;
  minX: Float32Array;
  maxX: Float32Array;
  lastX: Float32Array;
  counts: Uint32Array;
}

export interface ChartAnswer {
  width: number;
  fromNs: bigint;
  toNs: bigint;
  series: Map<number, Columns>;
}

export class ChartFormatError extends Error {}

const kMagic = 0x48435243; // "CRCH", little-endian
const kHeader = 32;
const kSeriesHeader = 32;
const kBytesPerColumn = 4 * 8 + 4 * 4 + 4;

export function decodeCharts(buffer: ArrayBuffer): ChartAnswer {
  const view = new DataView(buffer);
  if (buffer.byteLength < kHeader) throw new ChartFormatError("shorter than its header");
  if (view.getUint32(0, true) !== kMagic) throw new ChartFormatError("not a chart answer");
  const version = view.getUint16(4, true);
  if (version !== 1) throw new ChartFormatError(`version ${version}, this page reads version 1`);
  const count = view.getUint16(6, true);
  const width = view.getUint32(8, true);
  const fromNs = view.getBigInt64(16, true);
  const toNs = view.getBigInt64(24, true);
  if (width === 0 || toNs <= fromNs) throw new ChartFormatError("an empty range");
  const series = new Map<number, Columns>();
  let offset = kHeader;
  for (let i = 0; i < count; i++) {
    const [columns, next] = decodeSeries(view, offset, width);
    series.set(columns.series, columns);
    offset = next;
  }
  if (offset !== buffer.byteLength) throw new ChartFormatError("bytes after its last series");
  return { width, fromNs, toNs, series };
}

function decodeSeries(view: DataView, start: number, width: number): [Columns, number] {
  if (start + kSeriesHeader > view.byteLength) throw new ChartFormatError("a series is cut off");
  const n = view.getUint32(start + 24, true);
  if (n > width) throw new ChartFormatError(`${n} columns in a width of ${width}`);
  const body = start + kSeriesHeader;
  const end = body + n * kBytesPerColumn;
  const next = end + ((8 - (end % 8)) % 8);
  if (next > view.byteLength) throw new ChartFormatError("a series is cut off");
  const f64 = (i: number) => new Float64Array(view.buffer as ArrayBuffer, body + i * n * 8, n);
  const f32 = (i: number) =>
    new Float32Array(view.buffer as ArrayBuffer, body + n * 32 + i * n * 4, n);
  const columns: Columns = {
    series: Number(view.getBigInt64(start, true)),
    points: Number(view.getBigUint64(start + 8, true)),
    nonFinite: Number(view.getBigUint64(start + 16, true)),
    exact: view.getUint8(start + 28) === 1,
    rate: view.getUint8(start + 29) === 1,
    first: f64(0),
    min: f64(1),
    max: f64(2),
    last: f64(3),
    firstX: f32(0),
    minX: f32(1),
    maxX: f32(2),
    lastX: f32(3),
    counts: new Uint32Array(view.buffer as ArrayBuffer, body + n * 48, n),
  };
  checkAscending(columns.firstX);
  return [columns, next];
}

function checkAscending(x: Float32Array): void {
  for (let i = 1; i < x.length; i++) {
    if (!((x[i] as number) >= (x[i - 1] as number))) {
      throw new ChartFormatError("columns out of order");
    }
  }
}
