// The position of the plot in a chart, and the plain marks that every chart is made of. Pure.
import type { Tick } from "./axis";
import type { FontMetrics } from "./font";
import type { Mark, Rect } from "./marks";
import type { ChartSpec, ChartStyle, Margins } from "./spec";
import { xOf, xUnit } from "./xaxis";

export const kInsets = { left: 40, right: 116, top: 8, bottom: 22 };
export const kTextSize = 11;
const kTitleRoom = 20;

export function plotRect(width: number, height: number): Rect {
  return inset({ x: 0, y: 0, width, height }, kInsets);
}

export function inset(rect: Rect, by: typeof kInsets): Rect {
  return {
    x: rect.x + by.left,
    y: rect.y + by.top,
    width: Math.max(10, rect.width - by.left - by.right),
    height: Math.max(10, rect.height - by.top - by.bottom),
  };
}

export const textSizeOf = (style: ChartStyle | undefined) => style?.textSize ?? kTextSize;

// Between labels and the plot, and between labels and the picture's edge.
export const kTickAir = 7;
const kEdgeAir = 1;
const kStep = 4;

// The room that labels ask for beside a plot, whole steps of the page's grid so that it seldom changes.
export function labelRoom(
  ticks: readonly Tick[],
  at: { font: FontMetrics; size: number; air?: number },
): number {
  const widest = Math.max(0, ...ticks.map(({ text }) => at.font.width(text, at.size, 400)));
  const room = widest + (at.air ?? kTickAir) + kEdgeAir;
  return ticks.length === 0 ? 0 : Math.ceil(room / kStep) * kStep;
}

// A second axis has this much before the names.
export const kSecondRoom = 38;

// Room for the title of an axis.
const axisTitleRoom = (style: ChartStyle | undefined) =>
  style?.axes === undefined ? 0 : textSizeOf(style) * 1.5;

// The margins of a chart whose labels ask for `left` and, of a second axis, `right`. The page's own style keeps at
// least the page's margins; others grow with the text and need no room for names that stand elsewhere.
export function marginsOf(spec: ChartSpec, asked: Margins): Margins {
  const { style } = spec;
  const scale = textSizeOf(style) / kTextSize;
  const ends = (style?.legend ?? "ends") === "ends";
  const second = spec.unit2 === undefined ? 16 : kInsets.left;
  const right = ends
    ? kInsets.right * scale + Math.max(0, asked.right - kSecondRoom * scale)
    : Math.max(second * scale, asked.right);
  const titles = axisTitleRoom(style);
  const left = Math.max(kInsets.left * scale, asked.left) + titles;
  return { left, right: right + (style?.axes?.y2 === undefined ? 0 : titles) };
}

const withUnit = (name: string, unit: string) => (unit === "" ? name : `${name} (${unit})`);

// The axes' names beside a plot, each in the middle of its axis; `second`: where that of the right axis begins.
export function axisTitles(
  plot: Rect,
  spec: Pick<ChartSpec, "style" | "theme" | "x" | "from" | "to">,
  { unit, unit2, second }: { unit: string; unit2: string; second: number },
): Mark[] {
  const { style, theme } = spec;
  if (style?.axes === undefined) return [];
  const size = textSizeOf(style);
  const look = { colour: theme.ink2, anchor: "middle", size } as const;
  const [middle, centre] = [plot.x + plot.width / 2, plot.y + plot.height / 2];
  const below = plot.y + plot.height + 5 + 2.4 * size;
  const { x, y, y2 } = style.axes;
  const marks = [
    text(withUnit(x, xUnit(xOf(spec))), { ...look, x: middle, y: below }),
    text(withUnit(y, unit), { ...look, x: 1.1 * size, y: centre, turned: true }),
  ];
  if (y2 !== undefined) {
    const at = plot.x + plot.width + second + 1.1 * size;
    marks.push(text(withUnit(y2, unit2), { ...look, x: at, y: centre, turned: true }));
  }
  return marks;
}

// `legendRows`: of a legend on top.
export function plotOf(spec: ChartSpec, asked: Margins, legendRows = 0): Rect {
  const { style, margins } = spec;
  const scale = textSizeOf(style) / kTextSize;
  const title = style?.title ? kTitleRoom : 0;
  const { left, right } = marginsOf(spec, asked);
  return inset(
    { x: 0, y: 0, width: spec.width, height: spec.height },
    {
      left: Math.max(left, margins?.left ?? 0),
      right: Math.max(right, margins?.right ?? 0),
      top: (kInsets.top + title + legendRows * 16) * scale,
      bottom: kInsets.bottom * scale + axisTitleRoom(style),
    },
  );
}

// A centred label at the picture's edge is moved until it is inside.
export function inside(mark: Mark, width: number, font: FontMetrics): Mark {
  if (mark.kind !== "text" || mark.anchor !== "middle") return mark;
  const half = font.width(mark.text, mark.size, mark.weight) / 2;
  return { ...mark, x: Math.min(Math.max(mark.x, half), Math.max(half, width - half)) };
}

export function hairline(plot: Rect, y: number, colour: string): Mark {
  // A row in the middle between two must not depend on the last bit of how it was computed.
  const at = Math.round(y + 1e-6) + 0.5;
  const points = Float64Array.of(plot.x, at, plot.x + plot.width, at);
  return { kind: "line", points, colour, width: 1, dash: [] };
}

export interface At {
  x: number;
  y: number;
  colour: string;
  anchor?: "start" | "middle" | "end";
  weight?: number;
  size?: number;
  turned?: boolean;
}

export function text(content: string, at: At): Mark {
  return { kind: "text", text: content, size: kTextSize, weight: 400, anchor: "start", ...at };
}

// The title of a figure, and its unit after it. On the page both are text beside the picture.
export function titleMarks(
  { style, theme }: Pick<ChartSpec, "style" | "theme">,
  unit: string,
  font: FontMetrics,
): Mark[] {
  if (!style?.title) return [];
  const size = textSizeOf(style) * 1.1;
  const at = { x: 0.65 * size, y: 1.4 * size, size };
  const title = text(style.title, { ...at, colour: theme.ink1, weight: 600 });
  if (unit === "" || style.axes !== undefined) return [title];
  const x = at.x + font.width(style.title, size, 600) + size / 2;
  return [title, text(unit, { ...at, x, colour: theme.ink2 })];
}
