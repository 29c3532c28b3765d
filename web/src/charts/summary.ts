// Parts that charts of summaries share (bars, boxes, scatter, parallel coordinates): places that can be pointed at, a
// table of the same numbers, the frame of values and categories, fills that differ without colour. Pure.
import { formatValue } from "../format/units";
import { fixedAxis, logAxis, type ValueAxis, valueAxis } from "./axis";
import { type FontMetrics, fitText } from "./font";
import type { HatchPattern, Mark, Picture, Rect } from "./marks";
import { hairline, inset, kTextSize, kTickAir, labelRoom, text, textSizeOf } from "./plot";
import type { ChartStyle } from "./spec";
import { type ChartTheme, monoStyle, seriesColour } from "./theme";
import { project } from "./yaxis";

// A place of the picture and its text.
export interface HitBox extends Rect {
  key: string;
  words: string;
}

export interface SummaryPicture extends Picture {
  plot: Rect;
  boxes: HitBox[];
  notes: string[];
}

export interface SummaryTable {
  head: string[];
  rows: string[][];
}

export interface SummarySpec {
  width: number;
  height: number;
  unit: string;
  theme: ChartTheme;
  // From–to of the values; from zero when absent.
  fixed?: { from: number; to: number };
  // Name of the values, for tables.
  label?: string;
  style?: ChartStyle;
}

// The box that a place lies in; of several the last, which is on top.
export function boxAt(boxes: readonly HitBox[], x: number, y: number): HitBox | null {
  return (
    boxes.findLast(
      (box) => x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height,
    ) ?? null
  );
}

export interface Fill {
  colour: string;
  alpha: number;
  pattern: HatchPattern | null;
}

const kPatterns: readonly (HatchPattern | null)[] = [
  null,
  "diagonal",
  "back",
  "level",
  "cross",
  "upright",
  "grid",
];

// The fill of a group's bars: a colour each, or a grey with hatching.
export function fillOf(spec: SummarySpec, index: number): Fill {
  if (spec.style?.monochrome) {
    const pattern = kPatterns[index % kPatterns.length] as HatchPattern | null;
    return { colour: monoStyle(spec.theme, index).colour, alpha: 0.75, pattern };
  }
  // After the last colour, hatching distinguishes the rounds.
  const round = Math.floor(index / spec.theme.series.length);
  const pattern = kPatterns[round % kPatterns.length] as HatchPattern | null;
  return { colour: seriesColour(spec.theme, index), alpha: 0.82, pattern };
}

export function fillMarks(rect: Rect, { colour, alpha, pattern }: Fill): Mark[] {
  const { x, y, width, height } = rect;
  const box = { kind: "rect", x, y, width, height, colour, radius: 0 } as const;
  if (pattern === null) return [{ ...box, alpha, hatch: false }];
  const right = x + width;
  const bottom = y + height;
  const points = Float64Array.of(x, y, right, y, right, bottom, x, bottom, x, y);
  return [
    { ...box, alpha: 0.12, hatch: false },
    { ...box, alpha: 0.9, hatch: true, pattern },
    { kind: "line", points, colour, width: 0.8, dash: [] },
  ];
}

export interface Frame {
  plot: Rect;
  axis: ValueAxis;
  y: (value: number) => number;
  size: number;
  // Start and width of a category's slot.
  slot: (category: number) => { x: number; width: number };
  marks: Mark[];
}

export interface FrameData {
  categories: readonly string[];
  groups: readonly string[];
  low: number;
  high: number;
  // Rows of small text between the plot and the categories' names.
  feet: number;
  // The axis begins at zero.
  zero: boolean;
  // It is logarithmic, if all values are above zero.
  log?: boolean;
}

const kSlotAir = 0.22;
const kMaxTurned = 96;

function frameAxis({ low, high, zero, log }: FrameData, { fixed, unit }: SummarySpec): ValueAxis {
  if (fixed) return fixedAxis(fixed.from, fixed.to, unit);
  if (log && low > 0) return logAxis(low, high, unit);
  return zero ? valueAxis(Math.min(0, low), Math.max(0, high), unit) : valueAxis(low, high, unit);
}

// The value axis at the left, categories below, groups named on top.
export function drawFrame(data: FrameData, spec: SummarySpec, font: FontMetrics): Frame {
  const size = textSizeOf(spec.style);
  const scale = size / kTextSize;
  const { categories } = data;
  const rough = (spec.width - 56) / Math.max(1, categories.length);
  const widest = Math.max(0, ...categories.map((name) => font.width(name, size, 400)));
  // Better turned than cut; short stays short.
  const turned = widest > rough - 6 && rough < 64;
  const names = turned ? Math.min(widest, kMaxTurned) + 8 : size + 8;
  const named = legendOf(data.groups, spec);
  const axis = frameAxis(data, spec);
  const plot = inset(
    { x: 0, y: 0, width: spec.width, height: spec.height },
    {
      left: Math.max(44 * scale, labelRoom(axis.ticks, { font, size })),
      right: 12,
      top: 14 * scale + (spec.style?.title ? 20 * scale : 0) + (named ? 18 * scale : 0),
      bottom: names + data.feet * (size + 2),
    },
  );
  const y = project(axis, plot);
  const marks: Mark[] = [];
  for (const tick of axis.ticks) {
    marks.push(hairline(plot, y(tick.value), spec.theme.grid));
    const at = {
      x: plot.x - kTickAir,
      y: y(tick.value) + 0.37 * size,
      colour: spec.theme.ink2,
      size,
    };
    marks.push(text(tick.text, { ...at, anchor: "end" }));
  }
  if (named)
    marks.push(...drawGroups(data.groups, spec, { font, y: plot.y - 8 * scale, x: plot.x }));
  const each = plot.width / Math.max(1, categories.length);
  const slot = (i: number) => ({
    x: plot.x + i * each + (each * kSlotAir) / 2,
    width: each * (1 - kSlotAir),
  });
  const below = plot.y + plot.height + data.feet * (size + 2);
  categories.forEach((name, i) => {
    const x = plot.x + (i + 0.5) * each;
    const colour = spec.theme.ink2;
    const room = turned ? kMaxTurned : each - 4;
    const words = fitText(name, room, { font, size, weight: 400 });
    if (turned)
      marks.push(
        text(words, { x: x + 0.37 * size, y: below + 5, colour, size, anchor: "end", turned }),
      );
    else marks.push(text(words, { x, y: below + size + 3, colour, size, anchor: "middle" }));
  });
  return { plot, axis, y, size, slot, marks };
}

function legendOf(groups: readonly string[], spec: SummarySpec): boolean {
  return groups.length > 1 && spec.style?.legend !== "none";
}

export function drawGroups(
  groups: readonly string[],
  spec: SummarySpec,
  at: { font: FontMetrics; x: number; y: number },
): Mark[] {
  const size = textSizeOf(spec.style);
  let { x } = at;
  return groups.flatMap((name, i): Mark[] => {
    const rest = spec.width - x - 24;
    const words = fitText(name, rest, { font: at.font, size, weight: 400 });
    if (words === "") return [];
    const rect = { x, y: at.y - 8, width: 12, height: 9 };
    const word = text(words, { x: x + 16, y: at.y, colour: spec.theme.ink1, size });
    x += 30 + at.font.width(words, size, 400);
    return [...fillMarks(rect, fillOf(spec, i)), word];
  });
}

// "1.84 k samples/s", with its unit also where the axis has it.
export const valueWords = (value: number, spec: SummarySpec) => formatValue(value, spec.unit, 4);

// Twice as much: "×2".
export const ratioWords = (ratio: number) =>
  `×${formatValue(ratio, "", Math.abs(ratio) < 1 ? 2 : 3)}`;

// "n = 3" when all are alike.
export function commonCount(counts: readonly (number | undefined)[]): number | null {
  const known = counts.filter((n): n is number => n !== undefined);
  const first = known[0];
  return first !== undefined && known.every((n) => n === first) ? first : null;
}
