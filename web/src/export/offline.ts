// A board as one HTML file that needs no server: the lines of the board, of every kind (measured columns, computed
// curves with their bands, pairs), at fixed numbers of columns over the whole range and, if the board is zoomed in,
// again over the visible range. Pure.
import type { Columns } from "../api/columns";
import type { LineData } from "../charts/gap";
import type {
  ChartKind,
  ChartLine,
  CurveData,
  EventMark,
  PairData,
  WindowMark,
  XAxisSpec,
  YAxisSpec,
} from "../charts/spec";
import { base64 } from "./base64";

// Per line and layer. Computed lines have as many columns as on a wide screen: in columns finer than their points,
// groups would have one run here and another there.
export const kOfflineColumns = 4096;
export const kOfflineCurveColumns = 1024;

// f64 × 4 n (first, min, max, last), f32 × 4 n (their x), u32 × n (counts), u8 × n (1 where a stretch begins).
interface PackedColumns extends Omit<LineData, "columns"> {
  n: number;
  points: number;
  data: string;
  // Columns in which data are known to be lost.
  gaps: Columns["gaps"];
}

// f64 × n values, then with a band f64 × n of its lower ends and f64 × n of its upper ones.
interface PackedCurve extends Pick<CurveData, "from" | "to"> {
  n: number;
  data: string;
}

export interface PackedLine extends Pick<ChartLine, "key" | "label" | "dash"> {
  colour: { light: string; dark: string };
  axis?: 0 | 1;
  faint?: boolean;
  note?: string;
  columns?: PackedColumns;
  curve?: PackedCurve;
  // f64 × n of x, f64 × n of y.
  pairs?: { n: number; data: string };
}

export interface OfflineLayer {
  from: number;
  to: number;
  lines: PackedLine[];
}

export interface OfflineChart {
  name: string;
  unit: string;
  // Name and unit of the right axis.
  second: { name: string; unit: string } | null;
  y: YAxisSpec;
  y2: YAxisSpec;
  kind: ChartKind;
  marks: readonly EventMark[];
  // Absent in older files.
  windows?: readonly WindowMark[];
  // The range that is shown at first.
  from: number;
  to: number;
  // The first spans the whole board.
  layers: OfflineLayer[];
}

export interface OfflineBoard {
  title: string;
  link: string;
  made: string;
  // The axis in words, and how its places are written.
  words: string;
  x: Pick<XAxisSpec, "kind" | "unit">;
  charts: OfflineChart[];
}

function packed(parts: readonly ArrayBufferView[]): string {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.byteLength, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(new Uint8Array(part.buffer, part.byteOffset, part.byteLength), at);
    at += part.byteLength;
  }
  return base64(bytes);
}

// In memory of its own, so that arrays of any kind may begin at its start.
function unpacked(data: string): ArrayBuffer {
  const text = atob(data);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes.buffer;
}

export function packColumns({ columns: c, ...place }: LineData): PackedColumns {
  const n = c.firstX.length;
  const begins = new Uint8Array(n);
  for (const begin of c.segments) begins[begin] = 1;
  const values = [c.first, c.min, c.max, c.last, c.firstX, c.minX, c.maxX, c.lastX];
  return {
    ...place,
    n,
    points: c.points,
    data: packed([...values, c.counts, begins]),
    gaps: c.gaps,
  };
}

export function unpackColumns({ n, points, data, gaps, ...place }: PackedColumns): LineData {
  const buffer = unpacked(data);
  const f64 = (i: number) => new Float64Array(buffer, i * n * 8, n);
  const f32 = (i: number) => new Float32Array(buffer, n * 32 + i * n * 4, n);
  const begins = new Uint8Array(buffer, n * 52, n);
  const columns: Columns = {
    series: 0,
    points,
    nonFinite: 0,
    exact: true,
    rate: false,
    first: f64(0),
    min: f64(1),
    max: f64(2),
    last: f64(3),
    firstX: f32(0),
    minX: f32(1),
    maxX: f32(2),
    lastX: f32(3),
    counts: new Uint32Array(buffer, n * 48, n),
    segments: Uint32Array.from([...begins].flatMap((flag, i) => (flag === 1 ? [i] : []))),
    gaps,
    unknownGap: false,
  };
  return { columns, ...place };
}

function packCurve({ value, low, high, from, to }: CurveData): PackedCurve {
  const band = low !== null && high !== null ? [low, high] : [];
  return { from, to, n: value.length, data: packed([value, ...band]) };
}

function unpackCurve({ n, data, from, to }: PackedCurve): CurveData {
  const buffer = unpacked(data);
  const part = (i: number) => new Float64Array(buffer, i * n * 8, n);
  const band = buffer.byteLength === n * 24;
  return { value: part(0), low: band ? part(1) : null, high: band ? part(2) : null, from, to };
}

function unpackPairs({ n, data }: { n: number; data: string }): PairData {
  const buffer = unpacked(data);
  return { x: new Float64Array(buffer, 0, n), y: new Float64Array(buffer, n * 8, n) };
}

// A line as it is drawn; `dark`: its colour on the dark page.
export function packLine(line: ChartLine, dark: string): PackedLine {
  const { key, label, dash, colour: light, data, curve, pairs, axis, faint, note } = line;
  return {
    key,
    label,
    dash,
    colour: { light, dark },
    ...(axis === undefined ? {} : { axis }),
    ...(faint === undefined ? {} : { faint }),
    ...(note === undefined ? {} : { note }),
    ...(data === null ? {} : { columns: packColumns(data) }),
    ...(curve ? { curve: packCurve(curve) } : {}),
    ...(pairs ? { pairs: { n: pairs.x.length, data: packed([pairs.x, pairs.y]) } } : {}),
  };
}

export function unpackLine(line: PackedLine, dark: boolean): ChartLine {
  const { colour, columns, curve, pairs, ...rest } = line;
  return {
    ...rest,
    colour: dark ? colour.dark : colour.light,
    hidden: false,
    data: columns ? unpackColumns(columns) : null,
    curve: curve ? unpackCurve(curve) : null,
    pairs: pairs ? unpackPairs(pairs) : null,
  };
}

// Data inside a script element must not end it.
const inScript = (text: string) => text.replaceAll("<", "\\u003c");

export function offlineHtml(board: OfflineBoard, viewer: string): string {
  const title = board.title.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'">
<title>${title}</title></head><body><div id="board"></div>
<script id="data" type="application/json">${inScript(JSON.stringify(board))}</script>
<script type="module">${viewer.replaceAll("</script", "<\\/script")}</script>
</body></html>
`;
}

export interface OfflineCounts {
  // Number of lines of all charts: with columns, with a curve (a band makes three), with pairs.
  columns: number;
  curves: number;
  pairs: number;
  // The whole board's, and one of the visible range.
  layers: number;
}

const kColumnBytes = 53;
const kValueBytes = 8;
// The server's bound of a line of pairs, and one cut between any two.
const kMaxPairs = 2 ** 18;
const kRest = 250_000;

// The most that an offline page may become, in bytes: every column of every line, in base64, and the viewer.
export const offlineBound = ({ columns, curves, pairs, layers }: OfflineCounts): number =>
  Math.ceil(
    (layers *
      (kOfflineColumns * columns * kColumnBytes +
        kOfflineCurveColumns * curves * kValueBytes +
        pairs * 2 * kValueBytes * kMaxPairs) *
      4) /
      3,
  ) + kRest;
