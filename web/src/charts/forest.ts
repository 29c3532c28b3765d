// Ratios to a baseline with their intervals, a row each: a logarithmic axis with 1 marked and the margin within which
// differences do not matter shaded. Pure.
import { ticks } from "d3-array";
import { formatNumber } from "../format/units";
import { kGreatest, logAxis, place, type Tick } from "./axis";
import { type FontMetrics, fitText } from "./font";
import type { Mark, Rect } from "./marks";
import { inside, kTextSize, text } from "./plot";
import type { SummaryPicture } from "./summary";
import type { ChartTheme } from "./theme";

export interface ForestRow {
  name: string;
  // null where they are not known.
  ratio: number | null;
  low: number | null;
  high: number | null;
  // A difference or an equivalence was shown; others look neutral.
  shown: boolean;
}

export interface ForestSpec {
  width: number;
  theme: ChartTheme;
  // Ratios between 1 / (1 + margin) and 1 + margin do not matter.
  margin: number;
  baseline: string;
}

export interface RatioAxis {
  from: number;
  to: number;
  ticks: Tick[];
}

// Intervals that reach farther from all ratios and from 1 are cut.
const kReach = 4;
const kAir = 0.06;
const kFewTicks = 5;
const kLinear = 3;

export function ratioAxis(rows: readonly ForestRow[], margin: number): RatioAxis {
  const known = (values: readonly (number | null)[]) =>
    values.filter((value): value is number => value !== null && value > 0);
  const centres = [1, ...known(rows.map(({ ratio }) => ratio))];
  const [least, most] = [Math.min(...centres), Math.max(...centres)];
  const band = 1 + margin * 1.5;
  const low = Math.min(1 / band, ...known(rows.map((row) => row.low)));
  const high = Math.max(band, ...known(rows.map((row) => row.high)));
  const ends = [Math.max(low, least / kReach), Math.min(high, most * kReach)] as const;
  const air = (ends[1] / ends[0]) ** kAir;
  const from = Math.max(Math.min(ends[0], least) / air, 1 / kGreatest);
  const to = Math.min(Math.max(ends[1], most) * air, kGreatest);
  return { from, to, ticks: ratioTicks(from, to) };
}

// Steps of equal size on a short axis, decades with 2 and 5 on a long one; 1 is always among them.
function ratioTicks(from: number, to: number): Tick[] {
  const short = to / from < kLinear;
  const values = short
    ? ticks(from, to, kFewTicks)
    : logAxis(from, to, "").ticks.map(({ value }) => value);
  const all = values.includes(1) ? values : [...values, 1];
  return all
    .filter((value) => value >= from && value <= to)
    .sort((a, b) => a - b)
    .map((value) => ({ value, text: formatNumber(value, 4) }));
}

// "1.31 × (1.27 to 1.35)"
export function ratioText({ ratio, low, high }: Omit<ForestRow, "name" | "shown">): string {
  if (ratio === null) return "no ratio";
  const digits = (value: number | null) => (value === null ? "∞" : formatNumber(value, 3));
  const interval = low === null ? "" : ` (${digits(low)} to ${digits(high)})`;
  return `${digits(ratio)} ×${interval}`;
}

const kRow = 28;
const kStackedRow = 42;
const kNarrow = 560;
const kTop = 6;
const kBottom = 36;
const kGap = 14;

interface Place {
  plot: Rect;
  row: number;
  // Names and ratios stand above the intervals instead of beside them.
  stacked: boolean;
  names: number;
}

function placeOf(rows: readonly ForestRow[], spec: ForestSpec, font: FontMetrics): Place {
  const stacked = spec.width < kNarrow;
  const widest = (words: readonly string[]) =>
    Math.ceil(Math.max(0, ...words.map((one) => font.width(one, kTextSize, 400))));
  const names = Math.min(widest(rows.map(({ name }) => name)), spec.width * 0.3);
  const left = stacked ? kGap : names + kGap;
  const right = stacked ? kGap : widest(rows.map(ratioText)) + kGap;
  const row = stacked ? kStackedRow : kRow;
  const width = Math.max(10, spec.width - left - right);
  const plot = { x: left, y: kTop, width, height: Math.max(1, rows.length) * row };
  return { plot, row, stacked, names: stacked ? spec.width * 0.55 : names };
}

export function drawForest(
  rows: readonly ForestRow[],
  spec: ForestSpec,
  font: FontMetrics,
): SummaryPicture {
  const at = placeOf(rows, spec, font);
  const { plot } = at;
  const axis = ratioAxis(rows, spec.margin);
  const x = (ratio: number) => plot.x + place({ ...axis, log: true }, ratio) * plot.width;
  const marks = frameOf(axis, { plot, x, spec, font });
  const boxes = rows.map((row, i) => {
    const top = plot.y + i * at.row;
    marks.push(...wordsOf(row, top, { at, spec, font }));
    const y = top + (at.stacked ? 30 : at.row / 2);
    marks.push(...intervalOf(row, y, { plot, x, spec }));
    const words = `${row.name} against ${spec.baseline}: ${ratioText(row)}`;
    return { key: String(i), x: 0, y: top, width: spec.width, height: at.row, words };
  });
  const height = plot.y + plot.height + kBottom;
  return { width: spec.width, height, marks, plot, boxes, notes: [] };
}

interface Frame {
  plot: Rect;
  x: (ratio: number) => number;
  spec: ForestSpec;
}

function frameOf(axis: RatioAxis, at: Frame & { font: FontMetrics }): Mark[] {
  const { plot, x, spec, font } = at;
  const { theme, margin } = spec;
  const bottom = plot.y + plot.height;
  const upright = (value: number, colour: string): Mark => {
    const column = Math.round(x(value)) + 0.5;
    const points = Float64Array.of(column, plot.y, column, bottom);
    return { kind: "line", points, colour, width: 1, dash: [] };
  };
  const [left, right] = [x(1 / (1 + margin)), x(1 + margin)];
  const band = { x: left, y: plot.y, width: right - left, height: plot.height };
  const label = { colour: theme.ink2, anchor: "middle" } as const;
  let free = Number.NEGATIVE_INFINITY;
  const ticks = axis.ticks.flatMap(({ value, text: words }) => {
    const mark = inside(text(words, { ...label, x: x(value), y: bottom + 14 }), spec.width, font);
    const half = font.width(words, kTextSize, 400) / 2;
    // On a phone some have no room.
    if (mark.kind !== "text" || (mark.x - half < free && value !== 1)) return [];
    free = mark.x + half + 6;
    return [mark];
  });
  const title = fitText(`ratio to ${spec.baseline}`, spec.width, {
    font,
    size: kTextSize,
    weight: 400,
  });
  const middle = { ...label, colour: theme.ink3, x: plot.x + plot.width / 2, y: bottom + 30 };
  return [
    { kind: "rect", ...band, colour: theme.ink3, alpha: 0.14, radius: 0, hatch: false },
    ...axis.ticks.map(({ value }) => upright(value, theme.grid)),
    upright(1, theme.ink3),
    ...ticks,
    inside(text(title, middle), spec.width, font),
  ];
}

function wordsOf(
  row: ForestRow,
  top: number,
  { at, spec, font }: { at: Place; spec: ForestSpec; font: FontMetrics },
): Mark[] {
  const y = top + (at.stacked ? 14 : at.row / 2 + 0.37 * kTextSize);
  const name = fitText(row.name, at.names, { font, size: kTextSize, weight: 400 });
  const end = { x: spec.width, y, colour: spec.theme.ink2, anchor: "end" } as const;
  return [text(name, { x: 0, y, colour: spec.theme.ink1 }), text(ratioText(row), end)];
}

// An interval that leaves the plot ends in the tip of an arrow.
function intervalOf(row: ForestRow, y: number, { plot, x, spec }: Frame): Mark[] {
  if (row.ratio === null) return [];
  const { theme } = spec;
  const colour = row.shown ? (theme.series[0] as string) : theme.ink2;
  const line = { kind: "line", colour, width: 1.4, dash: [] } as const;
  const marks: Mark[] = [];
  if (row.low !== null) {
    const right = plot.x + plot.width;
    const from = Math.max(plot.x, x(row.low));
    const to = Math.min(right, row.high === null ? Number.POSITIVE_INFINITY : x(row.high));
    marks.push({ ...line, points: Float64Array.of(from, y, to, y) });
    const tip = (at: number, back: number) =>
      Float64Array.of(at + back, y - 3, at, y, at + back, y + 3);
    const cap = (at: number) => Float64Array.of(at, y - 3, at, y + 3);
    marks.push({ ...line, points: x(row.low) < plot.x ? tip(from, 4) : cap(from) });
    marks.push({ ...line, points: to === right ? tip(to, -4) : cap(to) });
  }
  const points = Float64Array.of(x(row.ratio), y);
  marks.push(
    row.shown
      ? { kind: "dots", points, colour, radius: 4 }
      : { kind: "markers", points, shape: "ring", colour, background: theme.background, size: 8 },
  );
  return marks;
}
