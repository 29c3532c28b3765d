// Decodes the answer of POST /lines (docs/api.md, "Lines") and checks every bound before it reads. The arrays
// are views on the answer, one value per pixel column. Pure.
import { readCount } from "../format/nanos";
import { ChartFormatError } from "./columns";

export const kAcceptLines = "application/x-corral-lines";

export interface Smoothing {
  method: "ema" | "gaussian" | "mean";
  // ema: weight per second or step, in (0, 1); else the width in seconds or steps.
  amount: number;
}

export type LineQuestion = {
  series: number[];
  origins_ns?: string[];
  mode?: "auto" | "value" | "rate";
} & (
  | { kind: "mean" }
  | { kind: "smooth"; method: Smoothing["method"]; alpha?: number; unit?: number; window?: number }
  | { kind: "group"; repetitions?: boolean; confidence?: number }
);

const kKinds = ["mean", "smooth", "integral", "ratio", "group"] as const;

export interface LineAnswer {
  kind: (typeof kKinds)[number];
  exact: boolean;
  // For groups: 0 if the interval is given (n ≥ 2), 1 if the units are not repetitions, 2 if there is only one.
  interval: number;
  points: number;
  lost: number;
  units: number;
  merged: number;
  // In the order of docs/api.md.
  arrays: Float64Array[];
}

// Places in a group's arrays.
export const kGroup = {
  mean: 0,
  least: 1,
  greatest: 2,
  deviation: 3,
  interval: 4,
  low: 5,
  high: 6,
  n: 7,
  filled: 8,
  sum: 9,
  lowerQuartile: 10,
  median: 11,
  upperQuartile: 12,
};

const kMagic = 0x4e4c5243; // "CRLN", little-endian
const kHeader = 32;
const kLineHeader = 48;

export function decodeLines(buffer: ArrayBuffer): { width: number; lines: LineAnswer[] } {
  const view = new DataView(buffer);
  if (buffer.byteLength < kHeader) throw new ChartFormatError("shorter than its header");
  if (view.getUint32(0, true) !== kMagic) throw new ChartFormatError("not a lines answer");
  const version = view.getUint16(4, true);
  if (version !== 1) throw new ChartFormatError(`version ${version}, this page reads version 1`);
  const count = view.getUint16(6, true);
  const width = view.getUint32(8, true);
  const lines: LineAnswer[] = [];
  let at = kHeader;
  for (let i = 0; i < count; i++) {
    if (at + kLineHeader > buffer.byteLength) throw new ChartFormatError("a line is cut off");
    const arrays = view.getUint32(at + 4, true);
    const values = at + kLineHeader;
    const end = values + arrays * width * 8;
    if (end > buffer.byteLength) throw new ChartFormatError("a line is cut off");
    const kind = kKinds[view.getUint8(at)];
    if (kind === undefined) throw new ChartFormatError("a line of an unknown kind");
    lines.push({
      kind,
      exact: view.getUint8(at + 1) === 1,
      interval: view.getUint8(at + 3),
      points: readCount(view, at + 8),
      lost: readCount(view, at + 16),
      units: view.getUint32(at + 28, true),
      merged: view.getUint32(at + 32, true),
      arrays: Array.from(
        { length: arrays },
        (_, k) => new Float64Array(buffer, values + k * width * 8, width),
      ),
    });
    at = end;
  }
  if (at !== buffer.byteLength) throw new ChartFormatError("bytes after its last line");
  return { width, lines };
}
