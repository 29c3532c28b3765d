// Answers written here byte by byte, by docs/api.md.
import { describe, expect, it } from "vitest";
import { ChartFormatError } from "./columns";
import { decodeLines } from "./lines";
import { decodeXy } from "./xy";

// Little-endian parts one after another: [bytes, value].
type Part = [1 | 2 | 4, number] | ["f64" | "i64", number];

function bytes(parts: readonly Part[]): ArrayBuffer {
  const size = (part: Part) => (typeof part[0] === "number" ? part[0] : 8);
  const buffer = new ArrayBuffer(parts.reduce((sum, part) => sum + size(part), 0));
  const view = new DataView(buffer);
  let at = 0;
  for (const part of parts) {
    const [kind, value] = part;
    if (kind === 1) view.setUint8(at, value);
    else if (kind === 2) view.setUint16(at, value, true);
    else if (kind === 4) view.setUint32(at, value, true);
    else if (kind === "f64") view.setFloat64(at, value, true);
    else view.setBigInt64(at, BigInt(value), true);
    at += size(part);
  }
  return buffer;
}

const text = (word: string): Part[] => [...word].map((c): Part => [1, c.charCodeAt(0)]);

function lines(arrays: readonly number[][], { count = 1, version = 1 } = {}): ArrayBuffer {
  const width = arrays[0]?.length ?? 0;
  const head: Part[] = [
    [2, version],
    [2, count],
    [4, width],
    [4, 0],
    ["i64", 0],
    ["i64", 100],
  ];
  const line: Part[] = [
    [1, 4], // a group
    [1, 1],
    [1, 0],
    [1, 2],
    [4, arrays.length],
    ["i64", 41],
    ["i64", 3],
    [4, 0],
    [4, 5],
    [4, 1],
    [4, 0],
    ["f64", 0],
  ];
  const values = arrays.flat().map((value): Part => ["f64", value]);
  return bytes([...text("CRLN"), ...head, ...line, ...values]);
}

describe("decodeLines", () => {
  it("reads what the line is and its arrays", () => {
    const { width, lines: found } = decodeLines(
      lines([
        [1, 2, Number.NaN],
        [4, 5, 6],
      ]),
    );
    expect(width).toBe(3);
    const line = found[0];
    expect(line).toMatchObject({ kind: "group", exact: true, interval: 2, units: 5, merged: 1 });
    expect(line).toMatchObject({ points: 41, lost: 3 });
    expect(line?.arrays.map((array) => [...array])).toEqual([
      [1, 2, Number.NaN],
      [4, 5, 6],
    ]);
  });

  it("refuses what is cut, longer or of another kind", () => {
    const whole = lines([[1, 2]]);
    for (let n = 0; n < whole.byteLength; n += 3)
      expect(() => decodeLines(whole.slice(0, n))).toThrow(ChartFormatError);
    const longer = new Uint8Array(whole.byteLength + 8);
    longer.set(new Uint8Array(whole));
    expect(() => decodeLines(longer.buffer)).toThrow(ChartFormatError);
    expect(() => decodeLines(lines([[1]], { version: 2 }))).toThrow("version 2");
    expect(() => decodeLines(lines([[1]], { count: 2 }))).toThrow("cut off");
  });
});

function xy(points: readonly [number, number][], starts: readonly number[]): ArrayBuffer {
  const head: Part[] = [
    [2, 1],
    [2, 1],
    [4, 100],
    [4, 50],
  ];
  const ends = [0, 10, -1, 1].map((value): Part => ["f64", value]);
  const counts: Part[] = [
    ["i64", 9],
    ["i64", 2],
    ["i64", 0],
    ["i64", 0],
    ["i64", 0],
  ];
  const flags: Part[] = [
    [4, points.length],
    [4, starts.length],
    [4, 0],
    [1, 1],
    [1, 1],
    [1, 1],
    [1, 0],
  ];
  const of = (i: 0 | 1) => points.map((point): Part => ["f64", point[i]]);
  const times = points.map((_, i): Part => ["i64", i]);
  const stretches = starts.map((start): Part => [4, start]);
  const padding = (8 - ((points.length * 24 + starts.length * 4) % 8)) % 8;
  const zeros = Array.from({ length: padding }, (): Part => [1, 0]);
  return bytes([
    ...text("CRXY"),
    ...head,
    ...ends,
    ...counts,
    ...flags,
    ...of(0),
    ...of(1),
    ...times,
    ...stretches,
    ...zeros,
  ]);
}

describe("decodeXy", () => {
  it("cuts the line where a stretch begins", () => {
    const answer = decodeXy(
      xy(
        [
          [1, 10],
          [2, 20],
          [3, 30],
        ],
        [0, 2],
      ),
    );
    expect(answer).toMatchObject({ x: [0, 10], y: [-1, 1] });
    const line = answer.lines[0];
    expect([...(line?.x ?? [])]).toEqual([1, 2, Number.NaN, 3]);
    expect([...(line?.y ?? [])]).toEqual([10, 20, Number.NaN, 30]);
    expect(line).toMatchObject({ pairs: 9, unpaired: 2, exact: true, byStep: true });
  });

  it("refuses what is cut", () => {
    const whole = xy(
      [
        [1, 10],
        [2, 20],
      ],
      [0],
    );
    for (let n = 0; n < whole.byteLength - 8; n += 3)
      expect(() => decodeXy(whole.slice(0, n))).toThrow(ChartFormatError);
  });
});
