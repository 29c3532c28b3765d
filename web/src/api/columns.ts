// Decodes the answer of POST /charts (docs/api.md, "Charts") and checks every bound before it reads: a cut or
// foreign answer is a ChartFormatError, never a wrong picture. The arrays are views on the answer. Pure.
import { nanosBetween, readCount, readNanos } from "../format/nanos";

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
  // Index of each segment's first column. No line joins two segments (on the step axis, steps went back there).
  segments: Uint32Array;
  // Pixel ranges that hold points which could not be read.
  gaps: readonly (readonly [number, number])[];
  // Points are missing at unknown places.
  unknownGap: boolean;
}

export type ChartAxis = "time" | "relative" | "step";

export interface ChartAnswer {
  width: number;
  axis: ChartAxis;
  // On the axis: ns of UTC, ns since each series' origin, or steps.
  from: bigint;
  to: bigint;
  series: Map<number, Columns>;
}

export class ChartFormatError extends Error {}

const kMagic = 0x48435243; // "CRCH", little-endian
const kHeader = 32;
const kSeriesHeader = 72;
const kVersion = 2;
const kAxes: readonly ChartAxis[] = ["time", "relative", "step"];
const kUnknownGap = 2;

export function decodeCharts(buffer: ArrayBuffer): ChartAnswer {
  const view = new DataView(buffer);
  if (buffer.byteLength < kHeader) throw new ChartFormatError("shorter than its header");
  if (view.getUint32(0, true) !== kMagic) throw new ChartFormatError("not a chart answer");
  const version = view.getUint16(4, true);
  if (version !== kVersion) {
    throw new ChartFormatError(`version ${version}, this page reads version ${kVersion}`);
  }
  const count = view.getUint16(6, true);
  const width = view.getUint32(8, true);
  const axis = kAxes[view.getUint32(12, true)];
  if (axis === undefined) throw new ChartFormatError("an unknown axis");
  const from = readNanos(view, 16);
  const to = readNanos(view, 24);
  const span = nanosBetween(to, from);
  if (width === 0 || span <= 0) throw new ChartFormatError("an empty range");
  const series = new Map<number, Columns>();
  const pixel = (x: bigint) => (nanosBetween(x, from) / span) * width;
  let offset = kHeader;
  for (let i = 0; i < count; i++) {
    const [columns, next] = decodeSeries(view, offset, pixel);
    checkColumns(columns, width);
    series.set(columns.series, columns);
    offset = next;
  }
  if (offset !== buffer.byteLength) throw new ChartFormatError("bytes after its last series");
  return { width, axis, from, to, series };
}

function decodeSeries(
  view: DataView,
  start: number,
  pixel: (x: bigint) => number,
): [Columns, number] {
  if (start + kSeriesHeader > view.byteLength) throw new ChartFormatError("a series is cut off");
  const n = view.getUint32(start + 24, true);
  const flags = view.getUint16(start + 30, true);
  const segments = view.getUint32(start + 60, true);
  const notFinite = view.getUint32(start + 64, true);
  const gaps = view.getUint32(start + 68, true);
  const values = start + kSeriesHeader;
  const gapsAt = values + n * 32;
  const xs = gapsAt + gaps * 16;
  const counts = xs + n * 16;
  const end = counts + (n + segments + 2 * notFinite) * 4;
  const next = end + ((8 - (end % 8)) % 8);
  if (next > view.byteLength) throw new ChartFormatError("a series is cut off");
  const buffer = view.buffer as ArrayBuffer;
  const f64 = (i: number) => new Float64Array(buffer, values + i * n * 8, n);
  const f32 = (i: number) => new Float32Array(buffer, xs + i * n * 4, n);
  const gapEnd = (i: number) => pixel(readNanos(view, gapsAt + i * 8));
  const columns: Columns = {
    series: readCount(view, start),
    points: readCount(view, start + 8),
    nonFinite: readCount(view, start + 16),
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
    counts: new Uint32Array(buffer, counts, n),
    segments: new Uint32Array(buffer, counts + n * 4, segments),
    gaps: Array.from({ length: gaps }, (_, i) => [gapEnd(i), gapEnd(gaps + i)] as const),
    unknownGap: (flags & kUnknownGap) !== 0,
  };
  return [columns, next];
}

// Segments ascend, and columns within each of them.
function checkColumns(columns: Columns, width: number): void {
  const { segments, firstX: x } = columns;
  const n = x.length;
  if (n > 0 && segments[0] !== 0) throw new ChartFormatError("columns outside of all segments");
  for (let s = 0; s < segments.length; s++) {
    const begin = segments[s] as number;
    const end = s + 1 < segments.length ? (segments[s + 1] as number) : n;
    if (begin >= end || end > n) throw new ChartFormatError("segments out of order");
    if (end - begin > width) {
      throw new ChartFormatError(`${end - begin} columns in a width of ${width}`);
    }
    checkAscending(x.subarray(begin, end));
  }
}

function checkAscending(x: Float32Array): void {
  for (let i = 1; i < x.length; i++) {
    if (!((x[i] as number) >= (x[i - 1] as number))) {
      throw new ChartFormatError("columns out of order");
    }
  }
}
