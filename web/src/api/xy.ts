// Decodes the answer of POST /xy (docs/api.md, "A metric over another"): pairs in order of time, a NaN pair where
// the line is cut. Pure.
import { readCount } from "../format/nanos";
import { ChartFormatError } from "./columns";

export interface XyAnswer {
  // Ends of both axes.
  x: [number, number];
  y: [number, number];
  lines: XyLine[];
}

export interface XyLine {
  x: Float64Array;
  y: Float64Array;
  pairs: number;
  unpaired: number;
  exact: boolean;
  byStep: boolean;
}

const kMagic = 0x59585243; // "CRXY", little-endian
const kHeader = 48;
const kLineHeader = 56;

export function decodeXy(buffer: ArrayBuffer): XyAnswer {
  const view = new DataView(buffer);
  if (buffer.byteLength < kHeader) throw new ChartFormatError("shorter than its header");
  if (view.getUint32(0, true) !== kMagic) throw new ChartFormatError("not a pairs answer");
  const version = view.getUint16(4, true);
  if (version !== 1) throw new ChartFormatError(`version ${version}, this page reads version 1`);
  const ends = [16, 24, 32, 40].map((at) => view.getFloat64(at, true));
  const lines: XyLine[] = [];
  let at = kHeader;
  for (let i = 0; i < view.getUint16(6, true); i++) {
    if (at + kLineHeader > buffer.byteLength) throw new ChartFormatError("a line is cut off");
    const n = view.getUint32(at + 40, true);
    const stretches = view.getUint32(at + 44, true);
    const end = at + kLineHeader + n * 24 + stretches * 4;
    if (end > buffer.byteLength) throw new ChartFormatError("a line is cut off");
    lines.push(decodeLine(view, { at, n, stretches }));
    at = end + ((8 - (end % 8)) % 8);
  }
  return {
    x: [ends[0] as number, ends[1] as number],
    y: [ends[2] as number, ends[3] as number],
    lines,
  };
}

function decodeLine(
  view: DataView,
  { at, n, stretches }: { at: number; n: number; stretches: number },
): XyLine {
  const buffer = view.buffer as ArrayBuffer;
  const values = at + kLineHeader;
  const x = new Float64Array(buffer, values, n);
  const y = new Float64Array(buffer, values + n * 8, n);
  const starts = new Uint32Array(buffer, values + n * 24, stretches);
  const cuts = new Set(starts.subarray(1));
  const out = { x: new Float64Array(n + cuts.size), y: new Float64Array(n + cuts.size) };
  let k = 0;
  for (let i = 0; i < n; i++) {
    if (cuts.has(i)) {
      out.x[k] = Number.NaN;
      out.y[k++] = Number.NaN;
    }
    out.x[k] = x[i] as number;
    out.y[k++] = y[i] as number;
  }
  return {
    ...out,
    pairs: readCount(view, at),
    unpaired: readCount(view, at + 8),
    exact: view.getUint8(at + 52) === 1,
    byStep: view.getUint8(at + 53) === 1,
  };
}
