// One line chart: (lines, spec, font metrics) → drawing list. The title line is not part of it: on the page
// it is text, so that it can be selected and read aloud. Pure.
import { formatScaled, type Scale } from "../format/units";
import { timeTicks, type ValueAxis, valueAxis } from "./axis";
import { type FontMetrics, fitText } from "./font";
import { spread } from "./labels";
import { type LineData, shapeLine } from "./line";
import type { Mark, Picture, Rect } from "./marks";
import type { ChartTheme } from "./theme";

export interface ChartLine {
  key: string;
  label: string;
  colour: string;
  dash: readonly number[];
  hidden: boolean;
  data: LineData | null;
}

export interface ChartSpec {
  width: number;
  height: number;
  from: number;
  to: number;
  unit: string;
  // Part of a longer range.
  zoomed: boolean;
  theme: ChartTheme;
}

export interface LabelBox extends Rect {
  key: string;
  hidden: boolean;
}

export interface ChartPicture extends Picture {
  plot: Rect;
  axis: ValueAxis | null;
  labels: LabelBox[];
}

export const kInsets = { left: 40, right: 116, top: 8, bottom: 22 };
const kLabelHeight = 13.5;
const kLabelRoom = kInsets.right - 9;
const kText = 11;

export function plotRect(width: number, height: number): Rect {
  return {
    x: kInsets.left,
    y: kInsets.top,
    width: Math.max(10, width - kInsets.left - kInsets.right),
    height: Math.max(10, height - kInsets.top - kInsets.bottom),
  };
}

// Smallest and largest value drawn; null when there is none.
export function valueRange(lines: readonly ChartLine[]): [number, number] | null {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const { data, hidden } of lines) {
    if (data === null || hidden) continue;
    for (const value of data.columns.min) if (value < low) low = value;
    for (const value of data.columns.max) if (value > high) high = value;
  }
  return low <= high ? [low, high] : null;
}

export function drawChart(
  lines: readonly ChartLine[],
  spec: ChartSpec,
  font: FontMetrics,
): ChartPicture {
  const { theme } = spec;
  const plot = plotRect(spec.width, spec.height);
  const range = valueRange(lines);
  const axis = range === null ? null : valueAxis(range[0], range[1], spec.unit);
  const x = (s: number) => plot.x + ((s - spec.from) / (spec.to - spec.from)) * plot.width;
  const marks: Mark[] = [...drawTimeAxis(plot, spec, font)];
  if (axis === null) {
    marks.push(hairline(plot, plot.y + plot.height, theme.grid), emptyText(lines, plot, spec));
    return {
      width: spec.width,
      height: spec.height,
      marks,
      plot,
      axis,
      labels: hiddenLabels(lines, plot),
    };
  }
  const y = (v: number) => plot.y + (1 - (v - axis.from) / (axis.to - axis.from)) * plot.height;
  for (const tick of axis.ticks) {
    marks.push(hairline(plot, y(tick.value), theme.grid));
    marks.push(
      text(tick.text, { x: plot.x - 7, y: y(tick.value) + 4, colour: theme.ink2, anchor: "end" }),
    );
  }
  const inside: Mark[] = [];
  for (const line of lines) if (!line.hidden) inside.push(...drawLine(line, { x, y }));
  // A little larger than the plot, or a line along its edge would be cut in half.
  const rect = { x: plot.x - 2, y: plot.y - 2, width: plot.width + 4, height: plot.height + 4 };
  marks.push({ kind: "clip", rect, marks: inside });
  const labels = drawLabels(lines, { plot, y, scale: axis.scale, theme, font }, marks);
  return { width: spec.width, height: spec.height, marks, plot, axis, labels };
}

function hairline(plot: Rect, y: number, colour: string): Mark {
  const points = Float64Array.of(
    plot.x,
    Math.round(y) + 0.5,
    plot.x + plot.width,
    Math.round(y) + 0.5,
  );
  return { kind: "line", points, colour, width: 1, dash: [] };
}

interface At {
  x: number;
  y: number;
  colour: string;
  anchor?: "start" | "middle" | "end";
  weight?: number;
}

function text(content: string, at: At): Mark {
  return { kind: "text", text: content, size: kText, weight: 400, anchor: "start", ...at };
}

function emptyWords(lines: readonly ChartLine[], spec: ChartSpec): string {
  if (lines.length > 0 && lines.every((line) => line.hidden))
    return "Every line is hidden; click a name at the right.";
  if (spec.zoomed) return "Nothing was measured in this range; double-click shows it all.";
  return "Too little was measured for a picture.";
}

function emptyText(lines: readonly ChartLine[], plot: Rect, spec: ChartSpec): Mark {
  const words = emptyWords(lines, spec);
  return text(words, {
    x: plot.x + plot.width / 2,
    y: plot.y + plot.height / 2,
    colour: spec.theme.ink3,
    anchor: "middle",
  });
}

function drawTimeAxis(plot: Rect, spec: ChartSpec, font: FontMetrics): Mark[] {
  const widest = font.width("00:00.00", kText, 400) + 24;
  return timeTicks(spec.from, spec.to, { width: plot.width, spacing: Math.max(64, widest) }).map(
    (tick) =>
      text(tick.text, {
        x: plot.x + ((tick.value - spec.from) / (spec.to - spec.from)) * plot.width,
        y: plot.y + plot.height + 16,
        colour: spec.theme.ink2,
        anchor: "middle",
      }),
  );
}

function drawLine(
  line: ChartLine,
  project: { x: (s: number) => number; y: (v: number) => number },
): Mark[] {
  if (line.data === null || line.data.columns.firstX.length === 0) return [];
  const shape = shapeLine(line.data, project);
  const { colour, dash } = line;
  return [
    { kind: "band", upper: shape.upper, lower: shape.lower, colour, alpha: 0.38 },
    { kind: "line", points: shape.line, colour, width: 1.15, dash },
    { kind: "dots", points: shape.dots, colour, radius: 1.9 },
  ];
}

interface LabelPlace {
  plot: Rect;
  y: (v: number) => number;
  scale: Scale;
  theme: ChartTheme;
  font: FontMetrics;
}

const last = (line: ChartLine) => line.data?.columns.last.at(-1);

// Three digits, or two where that leaves the name whole.
function endValue(line: ChartLine, value: number, { scale, font }: LabelPlace): string {
  const rest = kLabelRoom - 4 - font.width(line.label, kText, 600);
  const texts = [3, 2].map((digits) => formatScaled(value, scale, digits));
  return texts.find((text) => font.width(text, kText, 400) <= rest) ?? (texts[0] as string);
}

// More lines than labels fit: the last ones go without; the side panel and the footer name them all.
function drawLabels(lines: readonly ChartLine[], at: LabelPlace, marks: Mark[]): LabelBox[] {
  const { plot, y, theme, font } = at;
  const most = Math.floor((plot.height + kInsets.top) / kLabelHeight);
  const shown = lines.filter((line) => line.hidden || last(line) !== undefined).slice(0, most);
  const bottom = plot.y + plot.height;
  const wanted = shown.map((line) => {
    const value = last(line);
    return value === undefined ? bottom : Math.min(Math.max(y(value), plot.y), bottom);
  });
  const placed = spread(wanted, kLabelHeight, { top: plot.y - 7, bottom: bottom + 7 });
  const left = plot.x + plot.width + 9;
  const room = kLabelRoom;
  return shown.map((line, i) => {
    const value = last(line);
    const number = value === undefined || line.hidden ? "hidden" : endValue(line, value, at);
    const numberWidth = font.width(number, kText, 400);
    const name = fitText(line.label, room - numberWidth - 4, { font, size: kText, weight: 600 });
    const centre = placed[i] as number;
    const nameWidth = name === "" ? 0 : font.width(name, kText, 600) + 3.5;
    const colour = line.hidden ? theme.ink3 : line.colour;
    marks.push(text(name, { x: left, y: centre + 4, colour, weight: 600 }));
    marks.push(text(number, { x: left + nameWidth, y: centre + 4, colour: theme.ink2 }));
    const box = {
      x: left,
      y: centre - kLabelHeight / 2,
      width: nameWidth + numberWidth,
      height: kLabelHeight,
    };
    return { key: line.key, hidden: line.hidden, ...box };
  });
}

function hiddenLabels(lines: readonly ChartLine[], plot: Rect): LabelBox[] {
  return lines
    .filter((line) => line.hidden)
    .map((line, i) => ({
      key: line.key,
      hidden: true,
      x: plot.x + plot.width + 9,
      y: plot.y + i * kLabelHeight,
      width: kInsets.right - 9,
      height: kLabelHeight,
    }));
}

// What the picture says, for those who do not see it.
export function summarise(
  title: string,
  lines: readonly ChartLine[],
  spec: { unit: string },
): string {
  const parts = lines
    .filter((line) => line.data !== null && line.data.columns.last.length > 0 && !line.hidden)
    .map((line) => {
      const range = valueRange([line]) as [number, number];
      const { scale } = valueAxis(range[0], range[1], spec.unit);
      const [low, high] = range.map((v) => formatScaled(v, scale));
      return `${line.label}: last ${formatScaled(last(line) as number, scale)}, between ${low} and ${high} ${scale.unit}`.trimEnd();
    });
  return `${title}. ${parts.length === 0 ? "Nothing was measured in this range" : parts.join(". ")}.`;
}
