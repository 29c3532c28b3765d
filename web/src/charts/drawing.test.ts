// For any data, axes and names, a drawing list has numbers where numbers belong, stays in its picture, and is
// well-formed as SVG.
import { expect, it } from "vitest";
import { drawChart } from "./chart";
import { kFixedFont } from "./font";
import type { Mark } from "./marks";
import type { ChartKind, ChartLine, ChartSpec, ChartStyle, XKind, YAxisSpec } from "./spec";
import { toSvg } from "./svg";
import { chartLine, lineData, reduced } from "./testing";
import { kDark, kLight } from "./theme";

function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const kNames = [
  "run",
  "<script>alert(1)</script>",
  '\u202eevil & "quoted"',
  "x".repeat(250),
  "🏇🏽 horse",
  "",
  "]]>",
  "\u0000\u0007bell",
];
const kHuge = [0, 1, -1, 1e-300, 1e300, -1e300, 1e15, 3.5, -2e-9, 42, Number.MIN_VALUE];

type Random = () => number;
const pick = <T>(random: Random, of: readonly T[]): T => of[Math.floor(random() * of.length)] as T;

function anyLine(random: Random, i: number): ChartLine {
  const n = Math.floor(random() ** 2 * 400);
  const scale = 10 ** Math.floor(random() * 12 - 6);
  const values = Float64Array.from({ length: n }, () => {
    if (random() < 0.05) return Number.NaN;
    return random() < 0.02 ? pick(random, kHuge) : (random() - 0.4) * scale;
  });
  const x = Float64Array.from({ length: n }, () => random() * 100).sort();
  const width = 1 + Math.floor(random() * 300);
  const part: Partial<ChartLine> = {
    label: pick(random, kNames),
    hidden: random() < 0.15,
    axis: random() < 0.2 ? 1 : 0,
    faint: random() < 0.2,
    ...(random() < 0.3 ? { note: "n = 3" } : {}),
  };
  const what = random();
  if (what < 0.6) {
    const columns = reduced(x, values, { from: 0, to: 100, width });
    part.data = { ...lineData(columns, width), from: 0, to: 100, spacing: random() * 2 };
  }
  if (what > 0.4) {
    const band = random() < 0.5;
    const low = band ? values.map((v) => v - scale * random()) : null;
    const high = band ? values.map((v) => v + scale * random()) : null;
    part.curve = { value: values, low, high, from: random() * 10, to: 60 + random() * 60 };
  }
  if (what > 0.9) part.pairs = { x, y: values };
  return chartLine(`k${i}`, part);
}

function anySpec(random: Random): ChartSpec {
  const from = random() < 0.2 ? 99.9 * random() : 0;
  const range = { from, to: from + 10 ** (random() * 8 - 4) };
  const y = pick<YAxisSpec>(random, [
    { mode: "auto" },
    { mode: "zero" },
    { mode: "log" },
    { mode: "clip" },
    { mode: "clip", low: 10, high: 60 },
    { mode: "fixed", from: -1, to: 1 },
    { mode: "fixed", from: 5 },
  ]);
  const kind = pick<ChartKind>(random, ["line", "step", "band", "scatter", "heat", "multiples"]);
  const style: ChartStyle = {
    monochrome: random() < 0.3,
    markers: random() < 0.3,
    legend: pick(random, ["ends", "top", "none"]),
    ...(random() < 0.5 ? { title: pick(random, kNames), textSize: 6 + random() * 12 } : {}),
  };
  const xKind = pick<XKind>(random, ["time", "wall", "step", "epoch", "number"]);
  return {
    ...range,
    width: 60 + random() * 900,
    height: 30 + random() * 400,
    unit: pick(random, ["", "%", "B", "s", "W", "samples/s", "ratio"]),
    zoomed: random() < 0.5,
    theme: random() < 0.5 ? kLight : kDark,
    x: { kind: xKind, ...range, zone: "Asia/Kolkata" },
    y,
    unit2: "W",
    kind,
    marks: [{ at: range.from, label: pick(random, kNames) }],
    ...(random() < 0.5 ? { style } : {}),
  };
}

// Every number of a mark that says where it is.
function placesOf(mark: Mark): number[] {
  switch (mark.kind) {
    case "clip":
      return [mark.rect.x, mark.rect.y, mark.rect.width, mark.rect.height];
    case "line":
    case "dots":
    case "markers":
      return [...pairs(mark.points)];
    case "band":
      expect(mark.upper.length).toBe(mark.lower.length);
      return [...pairs(mark.upper), ...pairs(mark.lower)];
    case "bars":
      expect(mark.bars.length % 3).toBe(0);
      return [...mark.bars, mark.width];
    case "text":
      return [mark.x, mark.y, mark.size];
    default:
      return [mark.x, mark.y, mark.width, mark.height];
  }
}

// Without those that lift the pen, which come in twos.
function pairs(points: Float64Array): Float64Array {
  expect(points.length % 2).toBe(0);
  for (let i = 0; i < points.length; i += 2)
    expect(Number.isNaN(points[i])).toBe(Number.isNaN(points[i + 1]));
  return points.filter((v) => !Number.isNaN(v));
}

function check(marks: readonly Mark[]): void {
  for (const mark of marks) {
    expect(placesOf(mark).every(Number.isFinite), mark.kind).toBe(true);
    if (mark.kind === "rect") expect(Math.min(mark.width, mark.height)).toBeGreaterThanOrEqual(0);
    if (mark.kind === "cells") expect(mark.cells.length).toBe(mark.columns * mark.rows);
    if (mark.kind === "clip") check(mark.marks);
  }
}

it("draws anything", () => {
  for (let seed = 1; seed <= 400; seed++) {
    const random = generator(seed * 2654435761);
    const lines = Array.from({ length: Math.floor(random() * 9) }, (_, i) => anyLine(random, i));
    const spec = anySpec(random);
    const picture = drawChart(lines, spec, kFixedFont);
    check(picture.marks);
    const keys = lines.map((line) => line.key);
    for (const label of picture.labels) expect(keys).toContain(label.key);
    const svg = toSvg(picture, spec.theme.background);
    expect(svg).not.toMatch(/NaN|Infinity|undefined|<script/);
    const parsed = new DOMParser().parseFromString(svg, "image/svg+xml");
    expect(parsed.querySelector("parsererror"), `seed ${seed}`).toBeNull();
    expect(parsed.documentElement.tagName).toBe("svg");
    // The same data give the same bytes.
    if (seed % 20 === 0)
      expect(toSvg(drawChart(lines, spec, kFixedFont), spec.theme.background)).toBe(svg);
  }
}, 300_000);
