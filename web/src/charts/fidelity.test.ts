// The drawing shows exactly the measured data. An integer rasteriser lights, in every pixel column, each row that a
// polyline crosses there. Under one mapping of time to columns these light the same pixels:
//
// - the line through all finite points,
// - the M4 polyline through the columns' first, least, greatest and last points,
// - the line, bars and dots of `shapeLine`, the line without its width and dashes, the dots as their centres.
//
// Lines are interrupted where `gapThreshold` says so; points that are not finite are left out of all of them. The
// columns come from the reduction of testing.ts (the server's own is tested beside it), and places are multiples
// of 1/4096 of a pixel, which the answer's 32-bit places hold without loss.
import { describe, expect, it } from "vitest";
import { gapThreshold, type Join, type LineData, shapeLine } from "./line";
import { reduced } from "./testing";

const kTiny = 1e-9;
const kRows = 240;

class Raster {
  readonly lit: Uint8Array;
  constructor(readonly width: number) {
    this.lit = new Uint8Array(width * kRows);
  }

  rows(column: number, a: number, b: number): void {
    if (column < 0 || column >= this.width) return;
    const low = Math.floor(Math.min(a, b) + kTiny);
    const high = Math.floor(Math.max(a, b) + kTiny);
    this.lit.fill(1, column * kRows + low, column * kRows + high + 1);
  }

  segment(x0: number, y0: number, x1: number, y1: number): void {
    const [first, last] = [Math.floor(x0), Math.floor(x1)];
    if (first === last) {
      this.rows(first, y0, y1);
      return;
    }
    const at = (x: number) => y0 + ((y1 - y0) * (x - x0)) / (x1 - x0);
    for (let c = first; c <= last; c++) this.rows(c, at(Math.max(c, x0)), at(Math.min(c + 1, x1)));
  }

  // x, y, …; NaN lifts.
  path(points: Float64Array): void {
    const at = (i: number) => points[i] as number;
    for (let i = 0; i + 3 < points.length; i += 2) {
      if (Number.isNaN(at(i)) || Number.isNaN(at(i + 2))) continue;
      this.segment(at(i), at(i + 1), at(i + 2), at(i + 3));
    }
  }

  dots(points: Float64Array): void {
    for (let i = 0; i < points.length; i += 2)
      this.rows(Math.floor(points[i] as number), points[i + 1] as number, points[i + 1] as number);
  }

  bars(bars: Float64Array): void {
    for (let i = 0; i < bars.length; i += 3)
      this.rows(bars[i] as number, bars[i + 1] as number, bars[i + 2] as number);
  }
}

interface Points {
  x: Float64Array;
  y: Float64Array;
}

function allPoints({ x, y }: Points, data: LineData, join: Join): Raster {
  const raster = new Raster(data.width);
  const threshold = gapThreshold(data);
  let before = -1;
  for (let i = 0; i < x.length; i++) {
    if (!Number.isFinite(y[i] as number)) continue;
    const [x1, y1] = [x[i] as number, y[i] as number];
    raster.rows(Math.floor(x1), y1, y1);
    const [x0, y0] = [x[before] ?? Number.NEGATIVE_INFINITY, y[before] as number];
    if (before >= 0 && x1 - x0 <= threshold) {
      if (join === "step") {
        raster.segment(x0, y0, x1, y0);
        raster.rows(Math.floor(x1), y0, y1);
      } else raster.segment(x0, y0, x1, y1);
    }
    before = i;
  }
  return raster;
}

function m4(data: LineData): Raster {
  const { columns: c } = data;
  const [x, y]: [number[], number[]] = [[], []];
  for (let i = 0; i < c.first.length; i++) {
    const inner = [
      [c.minX[i], c.min[i]],
      [c.maxX[i], c.max[i]],
    ] as [number, number][];
    inner.sort((a, b) => a[0] - b[0]);
    const all = [[c.firstX[i], c.first[i]], ...inner, [c.lastX[i], c.last[i]]] as [
      number,
      number,
    ][];
    for (const [px, v] of all) {
      x.push(px);
      y.push(v);
    }
  }
  return allPoints({ x: Float64Array.from(x), y: Float64Array.from(y) }, data, "straight");
}

function drawn(data: LineData, join: Join): Raster {
  const raster = new Raster(data.width);
  const shape = shapeLine(data, { x: (s) => s, y: (v) => v }, join);
  raster.path(shape.line);
  expect(shape.barWidth).toBe(1);
  raster.bars(shape.bars);
  raster.dots(shape.dots);
  return raster;
}

// The first column and row that differ, for a message that helps.
function difference(a: Raster, b: Raster): string {
  const at = a.lit.findIndex((lit, i) => lit !== b.lit[i]);
  return at < 0 ? "" : `column ${Math.floor(at / kRows)}, row ${at % kRows}: ${a.lit[at]}`;
}

// Mulberry32.
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

type Signal = "noise" | "spikes" | "steps" | "holes" | "wave";
const kSignals: readonly Signal[] = ["noise", "spikes", "steps", "holes", "wave"];

function signal(kind: Signal, n: number, at: { width: number; seed: number }): Points {
  const random = generator(at.seed);
  const [x, y] = [new Float64Array(n), new Float64Array(n)];
  // Uneven: bursts and pauses of a few hundred different lengths.
  const pace = Float64Array.from({ length: 256 }, () => random() ** 3 + 0.01);
  let sum = 0;
  for (let i = 0; i < n; i++) {
    x[i] = sum;
    sum += (pace[Math.floor((i / n) * 256)] as number) * random();
  }
  let level = 100;
  for (let i = 0; i < n; i++) {
    x[i] = Math.floor((((x[i] as number) / sum) * at.width * 0.999 + 0.0005) * 4096) / 4096;
    if (kind === "steps" && random() < 20 / n + 0.0005) level = 20 + random() * 200;
    const wave = 120 + 80 * Math.sin((i / n) * 30);
    const value = { noise: 20 + random() * 200, steps: level, wave };
    const base = kind === "noise" || kind === "steps" ? value[kind] : wave;
    const spike = kind === "spikes" && random() < 3 / Math.sqrt(n) / 10;
    const hole = kind === "holes" && (Math.floor((i / n) * 40) % 7 === 3 || random() < 0.2);
    y[i] = hole ? Number.NaN : spike ? random() * 239 : base;
  }
  return { x, y };
}

function check(points: Points, width: number, spacing: number): void {
  const columns = reduced(points.x, points.y, { from: 0, to: width, width });
  const data: LineData = { columns, from: 0, to: width, width, spacing };
  for (const join of ["straight", "step"] as const) {
    const reference = allPoints(points, data, join);
    expect(difference(drawn(data, join), reference), join).toBe("");
    if (join === "straight") expect(difference(m4(data), reference), "m4").toBe("");
  }
}

describe("fidelity", () => {
  it.each(kSignals)(
    "lights the pixels of all points: %s, 1 to 10^5",
    (kind) => {
      const random = generator(kSignals.indexOf(kind) + 1);
      for (let k = 0; k < 90; k++) {
        const n = Math.max(1, Math.floor(10 ** (random() * (k % 20 === 0 ? 5 : 3.6))));
        const width = 20 + Math.floor(random() * 300);
        const points = signal(kind, n, { width, seed: k * 7919 + 13 });
        check(points, width, (random() * 2 * width) / n);
      }
    },
    60_000,
  );

  it.each(kSignals)(
    "lights the pixels of all points: %s, 10^6",
    (kind) => {
      check(signal(kind, 1_000_000, { width: 480, seed: 99 }), 480, 0.001);
    },
    60_000,
  );

  it("lights the pixels of 10^7 points", () => {
    check(signal("spikes", 10_000_000, { width: 480, seed: 5 }), 480, 0.0001);
  }, 60_000);

  it("would notice a lost spike", () => {
    const points = signal("noise", 5000, { width: 100, seed: 3 });
    const columns = reduced(points.x, points.y, { from: 0, to: 100, width: 100 });
    const data: LineData = { columns, from: 0, to: 100, width: 100, spacing: 0.02 };
    const reference = allPoints(points, data, "straight");
    const cut = { ...columns, max: columns.max.map((v, i) => (i === 50 ? v - 20 : v)) };
    expect(difference(drawn({ ...data, columns: cut }, "straight"), reference)).not.toBe("");
  });
});
