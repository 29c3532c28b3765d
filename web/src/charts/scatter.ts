// A parameter against a summary metric: a point per run, with its name where there is room. The parameter is
// numeric, on a linear or logarithmic axis, or one of a few words. Pure.
import { natural } from "../format/order";
import { formatNumber, formatValue } from "../format/units";
import { fixedAxis, logAxis, place, tightAxis, type ValueAxis } from "./axis";
import { type FontMetrics, fitText } from "./font";
import type { Mark, Rect } from "./marks";
import {
  hairline,
  inset,
  inside,
  kTextSize,
  kTickAir,
  labelRoom,
  text,
  textSizeOf,
  titleMarks,
} from "./plot";
import type { HitBox, SummaryPicture, SummarySpec, SummaryTable } from "./summary";
import { markerShape, monoStyle, seriesColour } from "./theme";

export interface ScatterPoint {
  key: string;
  label: string;
  x: number | string;
  y: number;
  // Index in `groups`; sets the colour.
  group?: number;
}

export interface ScatterSpec extends SummarySpec {
  xLabel: string;
  xUnit?: string;
  xLog?: boolean;
  yLog?: boolean;
  groups?: readonly string[];
}

// Positions of the values of x, 0–1, and the labels below.
interface Across {
  at: (x: number | string) => number;
  ticks: { at: number; text: string }[];
  // Not numbers, which are never cut.
  words: boolean;
}

function axisOf(values: readonly number[], unit: string, log: boolean): ValueAxis {
  const usable = log ? values.filter((v) => v > 0) : values;
  const [low, high] = usable.length === 0 ? [1, 1] : [Math.min(...usable), Math.max(...usable)];
  return log ? logAxis(low, high, unit) : tightAxis(low, high, unit);
}

function acrossOf(points: readonly ScatterPoint[], spec: ScatterSpec): Across {
  const numbers = points.map(({ x }) => (typeof x === "number" ? x : Number.NaN));
  if (numbers.every(Number.isFinite)) {
    const axis = axisOf(numbers, spec.xUnit ?? "", spec.xLog ?? false);
    const ticks = axis.ticks.map((tick) => ({ at: place(axis, tick.value), text: tick.text }));
    return { at: (x) => place(axis, x as number), ticks, words: false };
  }
  const words = [...new Set(points.map(({ x }) => String(x)))].sort(natural);
  const at = (x: number | string) => (words.indexOf(String(x)) + 0.5) / words.length;
  return { at, ticks: words.map((word) => ({ at: at(word), text: word })), words: true };
}

const wordsOf = (point: ScatterPoint, spec: ScatterSpec) => {
  const x = typeof point.x === "number" ? formatValue(point.x, spec.xUnit ?? "") : point.x;
  return `${point.label}: ${spec.xLabel} ${x}, ${formatValue(point.y, spec.unit)}`;
};

export function drawScatter(
  points: readonly ScatterPoint[],
  spec: ScatterSpec,
  font: FontMetrics,
): SummaryPicture {
  const size = textSizeOf(spec.style);
  const scale = size / kTextSize;
  const top = (14 + (spec.style?.title ? 20 : 0)) * scale;
  const drawable = points.filter(
    ({ x, y }) =>
      Number.isFinite(y) && (!spec.yLog || y > 0) && (!spec.xLog || typeof x !== "number" || x > 0),
  );
  const axis = spec.fixed
    ? fixedAxis(spec.fixed.from, spec.fixed.to, spec.unit)
    : axisOf(
        drawable.map(({ y }) => y),
        spec.unit,
        spec.yLog ?? false,
      );
  const left = Math.max(44 * scale, labelRoom(axis.ticks, { font, size }));
  const plot = inset(
    { x: 0, y: 0, width: spec.width, height: spec.height },
    { left, right: 16, top, bottom: 38 * scale },
  );
  const across = acrossOf(drawable, spec);
  const x = (v: number | string) => plot.x + across.at(v) * plot.width;
  const y = (v: number) => plot.y + (1 - place(axis, v)) * plot.height;
  const marks: Mark[] = titleMarks(spec, axis.scale.unit, font);
  const colour = spec.theme.ink2;
  for (const tick of axis.ticks) {
    marks.push(hairline(plot, y(tick.value), spec.theme.grid));
    const at = { x: plot.x - kTickAir, y: y(tick.value) + 0.37 * size, colour, size };
    marks.push(text(tick.text, { ...at, anchor: "end" }));
  }
  marks.push(...below(across, { plot, spec, font }));
  const boxes = drawPoints(drawable, { x, y, spec, font, plot }, marks);
  const missing = points.length - drawable.length;
  const notes = missing > 0 ? [`${missing} of ${points.length} runs have no value to draw`] : [];
  return { width: spec.width, height: spec.height, marks, plot, boxes, notes };
}

function below(across: Across, at: { plot: Rect; spec: ScatterSpec; font: FontMetrics }): Mark[] {
  const { plot, spec, font } = at;
  const size = textSizeOf(spec.style);
  const colour = spec.theme.ink2;
  const bottom = plot.y + plot.height;
  const room = plot.width / Math.max(1, across.ticks.length) - 4;
  const middle = plot.x + plot.width / 2;
  const name = { x: middle, y: bottom + 2 * size + 10, colour: spec.theme.ink3, size };
  return [
    ...across.ticks.map((tick): Mark => {
      const cut = () => fitText(tick.text, Math.max(room, 12), { font, size, weight: 400 });
      const words = across.words ? cut() : tick.text;
      const x = plot.x + tick.at * plot.width;
      const label = text(words, { x, y: bottom + size + 5, colour, size, anchor: "middle" });
      return inside(label, spec.width, font);
    }),
    text(spec.xLabel, { ...name, anchor: "middle" }),
  ];
}

interface PointsPlace {
  x: (v: number | string) => number;
  y: (v: number) => number;
  spec: ScatterSpec;
  font: FontMetrics;
  plot: Rect;
}

const kRadius = 4;

function drawPoints(points: readonly ScatterPoint[], at: PointsPlace, marks: Mark[]): HitBox[] {
  const { spec, font, plot } = at;
  const size = textSizeOf(spec.style);
  const boxes: HitBox[] = [];
  for (const point of points) {
    const [x, y] = [at.x(point.x), at.y(point.y)];
    if (Number.isNaN(x) || Number.isNaN(y)) continue;
    const group = point.group ?? 0;
    const mono = spec.style?.monochrome ?? false;
    const colour = mono ? monoStyle(spec.theme, group).colour : seriesColour(spec.theme, group);
    const place = Float64Array.of(x, y);
    const { background } = spec.theme;
    const sign = { colour, background, points: place, size: kRadius * 1.8 };
    if (mono) marks.push({ kind: "markers", shape: markerShape(group), ...sign });
    else marks.push({ kind: "dots", points: place, colour, radius: kRadius, alpha: 0.85 });
    const box = { x: x - kRadius, y: y - kRadius, width: 2 * kRadius, height: 2 * kRadius };
    boxes.push({ key: point.key, ...box, words: wordsOf(point, spec) });
  }
  // Names where they touch neither a point nor another name.
  const taken: Rect[] = [...boxes];
  const free = (rect: Rect) =>
    rect.x >= plot.x &&
    rect.x + rect.width <= spec.width &&
    taken.every(
      (other) =>
        other.x > rect.x + rect.width ||
        other.x + other.width < rect.x ||
        other.y > rect.y + rect.height ||
        other.y + other.height < rect.y,
    );
  boxes.forEach((box) => {
    const label = points.find(({ key }) => key === box.key)?.label ?? "";
    const width = font.width(label, size, 400);
    const y = box.y + kRadius - size / 2;
    const rects = [box.x + box.width + 2, box.x - width - 2].map((x) => ({
      x,
      y,
      width,
      height: size,
    }));
    const rect = rects.find(free);
    if (rect === undefined) return;
    taken.push(rect);
    marks.push(text(label, { x: rect.x, y: y + 0.87 * size, colour: spec.theme.ink2, size }));
  });
  return boxes;
}

export function summariseScatter(
  title: string,
  points: readonly ScatterPoint[],
  spec: ScatterSpec,
): string {
  const words = points.map((point) => wordsOf(point, spec));
  return `${title}. ${words.length === 0 ? "No run has a value for this" : words.join("; ")}.`;
}

export function scatterTable(points: readonly ScatterPoint[], spec: ScatterSpec): SummaryTable {
  const x = (v: number | string) => (typeof v === "number" ? formatNumber(v) : v);
  return {
    head: ["run", spec.xLabel, spec.label ?? "value"],
    rows: points.map((point) => [point.label, x(point.x), formatValue(point.y, spec.unit)]),
  };
}
