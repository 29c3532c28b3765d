// Parallel coordinates: an axis per parameter and metric, a line per run, coloured by its place on the last
// axis. Axes are numeric or a list of words; a run without a value passes below the axis, at "none". Pure.
import { natural } from "../format/order";
import { formatValue } from "../format/units";
import { logAxis, place, tightAxis, type ValueAxis } from "./axis";
import { type FontMetrics, fitText } from "./font";
import type { Mark, Rect } from "./marks";
import { inset, inside, kTextSize, labelRoom, text, textSizeOf, titleMarks } from "./plot";
import type { HitBox, SummaryPicture, SummarySpec, SummaryTable } from "./summary";
import { contrast, rampColours } from "./theme";

export interface ParallelAxis {
  name: string;
  unit: string;
  log?: boolean;
}

export interface ParallelRow {
  key: string;
  label: string;
  // One per axis.
  values: readonly (number | string | null)[];
}

export interface ParallelPicture extends SummaryPicture {
  // For each row, its crossings with the axes: x, y, …
  paths: { key: string; points: Float64Array }[];
}

interface Placed {
  // 0 at the bottom, 1 at the top; null for none.
  at: (value: number | string | null) => number | null;
  ticks: { at: number; text: string; value: number }[];
  // Not numbers, which are never cut.
  words: boolean;
}

const known = (value: number | string | null) =>
  value !== null && !(typeof value === "number" && !Number.isFinite(value));

function placed(axis: ParallelAxis, values: readonly (number | string | null)[]): Placed {
  const some = values.filter(known) as (number | string)[];
  if (some.length > 0 && some.every((v) => typeof v === "number")) {
    const numbers = some as number[];
    const usable = axis.log ? numbers.filter((v) => v > 0) : numbers;
    const [low, high] = usable.length === 0 ? [1, 1] : [Math.min(...usable), Math.max(...usable)];
    const scale: ValueAxis = axis.log
      ? logAxis(low, high, axis.unit)
      : tightAxis(low, high, axis.unit);
    const at = (value: number | string | null) => {
      const part = typeof value === "number" ? place(scale, value) : Number.NaN;
      return Number.isFinite(part) ? part : null;
    };
    const unit = scale.scale.unit;
    const ticks = scale.ticks.map((tick) => ({ ...tick, at: place(scale, tick.value) }));
    const last = ticks.at(-1);
    if (last !== undefined && unit !== "") last.text += ` ${unit}`;
    return { at, ticks, words: false };
  }
  const words = [...new Set(some.map(String))].sort(natural);
  const part = (word: string) => {
    const i = words.indexOf(word);
    if (i < 0) return null;
    return (i + 0.5) / words.length;
  };
  return {
    at: (value) => (value === null ? null : part(String(value))),
    ticks: words.map((word, value) => ({ at: part(word) as number, text: word, value })),
    words: true,
  };
}

const kRamp = 32;
const kNone = 16;

// The part of cividis that is visible on the background.
function rampFor(background: string): string[] {
  const all = rampColours(96).filter((colour) => contrast(colour, background) >= 2);
  return Array.from(
    { length: kRamp },
    (_, i) => all[Math.floor((i / (kRamp - 1)) * (all.length - 1))] as string,
  );
}

export function drawParallel(
  axes: readonly ParallelAxis[],
  rows: readonly ParallelRow[],
  at: { spec: SummarySpec; font: FontMetrics; chosen?: ReadonlySet<string> },
): ParallelPicture {
  const { spec, font } = at;
  const size = textSizeOf(spec.style);
  const scale = size / kTextSize;
  const found = axes.map((axis, i) =>
    placed(
      axis,
      rows.map((row) => row.values[i] ?? null),
    ),
  );
  const last = found.at(-1);
  const numbers = last === undefined || last.words ? [] : last.ticks;
  const plot = inset(
    { x: 0, y: 0, width: spec.width, height: spec.height },
    {
      left: 52 * scale,
      right: Math.max(64 * scale, labelRoom(numbers, { font, size })),
      top: (26 + (spec.style?.title ? 20 : 0)) * scale,
      bottom: 12 + kNone,
    },
  );
  const x = (i: number) => plot.x + (axes.length < 2 ? 0.5 : i / (axes.length - 1)) * plot.width;
  const bottom = plot.y + plot.height;
  const y = (part: number | null) =>
    part === null ? bottom + kNone : plot.y + (1 - part) * plot.height;
  const marks: Mark[] = titleMarks(spec, "", font);
  const ramp = rampFor(spec.theme.background);
  const boxes: HitBox[] = [];
  const paths = rows.map((row) => {
    const parts = found.map((one, i) => one.at(row.values[i] ?? null));
    const points = Float64Array.from(parts.flatMap((part, i) => [x(i), y(part)]));
    const last = parts.at(-1) ?? null;
    const own = last === null ? spec.theme.ink3 : (ramp[Math.round(last * (kRamp - 1))] as string);
    const colour = spec.style?.monochrome ? spec.theme.ink2 : own;
    const back = at.chosen !== undefined && at.chosen.size > 0 && !at.chosen.has(row.key);
    const dash = last === null ? [3, 2] : [];
    const width = spec.style?.lineWidth ?? 1.2;
    marks.push({ kind: "line", points, colour, width, dash, alpha: back ? 0.12 : 0.8 });
    parts.forEach((part, i) => {
      const value = row.values[i] ?? null;
      const words = `${row.label}: ${axes[i]?.name} ${wordsOf(value, axes[i] as ParallelAxis)}`;
      boxes.push({ key: row.key, x: x(i) - 4, y: y(part) - 4, width: 8, height: 8, words });
    });
    return { key: row.key, points };
  });
  const missing = rows.some((row) => axes.some((_, i) => !known(row.values[i] ?? null)));
  axes.forEach((axis, i) => {
    const room = plot.width / Math.max(1, axes.length - 1) - 8;
    marks.push(...drawAxis(axis, found[i] as Placed, { x: x(i), plot, spec, font, room, missing }));
  });
  const { width, height } = spec;
  return { width, height, marks, plot, boxes, notes: [], paths };
}

interface AxisPlace {
  x: number;
  plot: Rect;
  spec: SummarySpec;
  font: FontMetrics;
  room: number;
  missing: boolean;
}

function drawAxis(axis: ParallelAxis, found: Placed, at: AxisPlace): Mark[] {
  const { x, plot, spec, font, missing } = at;
  const size = textSizeOf(spec.style);
  const bottom = plot.y + plot.height;
  const points = Float64Array.of(x, plot.y, x, bottom);
  const room = Math.max(at.room, 40);
  const name = fitText(axis.name, room, { font, size, weight: 600 });
  const centred = { anchor: "middle", weight: 600, size, colour: spec.theme.ink1 } as const;
  const marks: Mark[] = [
    { kind: "line", points, colour: spec.theme.ink3, width: 1, dash: [] },
    inside(text(name, { ...centred, x, y: plot.y - size }), spec.width, font),
  ];
  const colour = spec.theme.ink2;
  let free = Number.POSITIVE_INFINITY;
  for (const tick of [...found.ticks].sort((a, b) => a.at - b.at)) {
    const row = plot.y + (1 - tick.at) * plot.height;
    if (row > free) continue;
    free = row - size;
    const most = Math.min(room / 2, spec.width - x - 6);
    const cut = () => fitText(tick.text, most, { font, size, weight: 400 });
    const words = found.words ? cut() : tick.text;
    const width = font.width(words, size, 400);
    const rect = { x: x + 3, y: row - size / 2, width: width + 3, height: size };
    const under = { ...rect, colour: spec.theme.background, alpha: 0.75, radius: 2, hatch: false };
    marks.push({ kind: "rect", ...under });
    marks.push(text(words, { x: x + 5, y: row + 0.37 * size, colour, size }));
  }
  if (missing) {
    const none = { x: x + 5, y: bottom + kNone + 0.37 * size, colour: spec.theme.ink3, size };
    marks.push(text("none", none));
  }
  return marks;
}

const wordsOf = (value: number | string | null, axis: ParallelAxis) =>
  typeof value === "number" ? formatValue(value, axis.unit) : (value ?? "none");

// The row whose line passes nearest to a place, within `reach` pixels.
export function rowAt(
  { paths }: ParallelPicture,
  at: { x: number; y: number },
  reach = 6,
): string | null {
  let best: string | null = null;
  let distance = reach;
  for (const { key, points } of paths) {
    // The axes are equally far apart, so the stretch is known at once.
    const n = points.length / 2;
    if (n < 2) continue;
    const [first, last] = [points[0] as number, points[2 * n - 2] as number];
    const part = ((at.x - first) / (last - first)) * (n - 1);
    const i = Math.min(Math.max(Math.floor(part), 0), n - 2);
    const [ya, yb] = [points[2 * i + 1] as number, points[2 * i + 3] as number];
    const step = (last - first) / (n - 1);
    const row = ya + Math.min(Math.max(part - i, 0), 1) * (yb - ya);
    const away = (Math.abs(row - at.y) * step) / Math.hypot(step, yb - ya);
    if (away < distance) [best, distance] = [key, away];
  }
  return best;
}

export function summariseParallel(
  title: string,
  axes: readonly ParallelAxis[],
  rows: readonly ParallelRow[],
): string {
  const words = rows.map((row) => {
    const parts = axes.map((axis, i) => `${axis.name} ${wordsOf(row.values[i] ?? null, axis)}`);
    return `${row.label}: ${parts.join(", ")}`;
  });
  return `${title}. ${words.length === 0 ? "No run is selected" : words.join("; ")}.`;
}

export function parallelTable(
  axes: readonly ParallelAxis[],
  rows: readonly ParallelRow[],
): SummaryTable {
  const head = ["run", ...axes.map((axis) => axis.name)];
  const cells = (row: ParallelRow) => axes.map((axis, i) => wordsOf(row.values[i] ?? null, axis));
  return { head, rows: rows.map((row) => [row.label, ...cells(row)]) };
}
