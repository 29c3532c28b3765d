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
import {
  drawGroups,
  type HitBox,
  type SummaryPicture,
  type SummarySpec,
  type SummaryTable,
} from "./summary";
import { lineRamp, markerShape, monoStyle, seriesColour } from "./theme";

export interface ScatterPoint {
  key: string;
  label: string;
  x: number | string;
  y: number;
  // Index in `groups`; sets the colour.
  group?: number;
  // Values that set the area and, instead of the group, the colour.
  size?: number | undefined;
  shade?: number | undefined;
}

export interface ScatterSpec extends SummarySpec {
  xLabel: string;
  xUnit?: string;
  xLog?: boolean;
  yLog?: boolean;
  groups?: readonly string[];
  // The metrics that the sizes and colours of the points stand for.
  size?: { name: string; unit: string } | undefined;
  shade?: { name: string; unit: string } | undefined;
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
  const more = (["size", "shade"] as const).flatMap((of) => {
    const named = spec[of];
    return named === undefined || point[of] === undefined
      ? []
      : [`, ${named.name} ${formatValue(point[of] ?? 0, named.unit)}`];
  });
  return `${point.label}: ${spec.xLabel} ${x}, ${formatValue(point.y, spec.unit)}${more.join("")}`;
};

export function drawScatter(
  points: readonly ScatterPoint[],
  spec: ScatterSpec,
  font: FontMetrics,
): SummaryPicture {
  const size = textSizeOf(spec.style);
  const scale = size / kTextSize;
  const keyed =
    spec.size ?? spec.shade ?? ((spec.groups?.length ?? 0) > 1 ? spec.groups : undefined);
  const top = (14 + (spec.style?.title ? 20 : 0) + (keyed === undefined ? 0 : 20)) * scale;
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
  const looks = looksOf(drawable, spec);
  const boxes = drawPoints(drawable, { x, y, spec, font, plot, looks }, marks);
  if (keyed !== undefined) marks.push(...drawKey(drawable, { spec, font, plot }));
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
  looks: (point: ScatterPoint) => Look;
}

const kRadius = 4;
const kLeastRadius = 3;
const kMostRadius = 12;

interface Look {
  radius: number;
  colour: string;
}

type Of = "size" | "shade";

function rangeOf(points: readonly ScatterPoint[], of: Of): [number, number] | null {
  const known = points.flatMap((point) => point[of] ?? []);
  return known.length === 0 ? null : [Math.min(...known), Math.max(...known)];
}

// The place of a value in its range, 0–1; null without a value.
function partOf(value: number | undefined, range: [number, number] | null): number | null {
  if (value === undefined || range === null) return null;
  return range[1] > range[0] ? (value - range[0]) / (range[1] - range[0]) : 0.5;
}

// A point's area grows with the value; one without is as small as the least.
const radiusOf = (part: number | null) =>
  Math.sqrt(kLeastRadius ** 2 + (part ?? 0) * (kMostRadius ** 2 - kLeastRadius ** 2));

function looksOf(
  points: readonly ScatterPoint[],
  spec: ScatterSpec,
): (point: ScatterPoint) => Look {
  const { theme, style } = spec;
  const [sizes, shades] = [rangeOf(points, "size"), rangeOf(points, "shade")];
  const ramp = lineRamp(theme.background);
  const shaded = (part: number | null) =>
    part === null ? theme.ink3 : (ramp[Math.round(part * (ramp.length - 1))] as string);
  return ({ size, shade, group = 0 }) => ({
    radius: spec.size === undefined ? kRadius : radiusOf(partOf(size, sizes)),
    colour: style?.monochrome
      ? monoStyle(theme, group).colour
      : spec.shade === undefined
        ? seriesColour(theme, group)
        : shaded(partOf(shade, shades)),
  });
}

const kStops = 24;

// The names of the groups, or the scales of sizes and colours, above the plot.
function drawKey(
  points: readonly ScatterPoint[],
  { spec, font, plot }: { spec: ScatterSpec; font: FontMetrics; plot: Rect },
): Mark[] {
  const { theme } = spec;
  const size = textSizeOf(spec.style);
  const y = plot.y - size - 2;
  let x = plot.x;
  const marks: Mark[] = [];
  const word = (words: string, colour: string) => {
    marks.push(text(words, { x, y, colour, size }));
    x += font.width(words, size, 400) + 6;
  };
  const scale = (of: Of, sign: (part: number) => void) => {
    const [named, range] = [spec[of], rangeOf(points, of)];
    if (named === undefined || range === null) return;
    word(named.name, theme.ink1);
    word(formatValue(range[0], named.unit), theme.ink2);
    sign(0);
    word(formatValue(range[1], named.unit), theme.ink2);
    const without = points.filter((point) => point[of] === undefined).length;
    if (without > 0) word(`(${without} without)`, theme.ink3);
    x += 18;
  };
  const middle = y - size * 0.36;
  scale("shade", () => {
    const ramp = lineRamp(theme.background);
    for (let i = 0; i < kStops; i++) {
      const colour = ramp[Math.round((i / (kStops - 1)) * (ramp.length - 1))] as string;
      const box = { x: x + i * 4, y: middle - 4, width: 5, height: 8 };
      marks.push({ kind: "rect", ...box, colour, alpha: 1, radius: 0, hatch: false });
    }
    x += kStops * 4 + 6;
  });
  scale("size", () => {
    for (const part of [0, 1]) {
      const radius = Math.min(radiusOf(part), size * 0.7);
      const at = Float64Array.of(x + radius, middle);
      marks.push({ kind: "dots", points: at, colour: theme.ink3, radius, alpha: 0.85 });
      x += 2 * radius + 4;
    }
    x += 2;
  });
  if (spec.shade !== undefined || spec.groups === undefined) return marks;
  return [...marks, ...drawGroups(spec.groups, spec, { font, x, y })];
}

function drawPoints(points: readonly ScatterPoint[], at: PointsPlace, marks: Mark[]): HitBox[] {
  const { spec, font, plot } = at;
  const size = textSizeOf(spec.style);
  const boxes: HitBox[] = [];
  // Large ones are below small ones.
  const byRadius = points.toSorted((a, b) => at.looks(b).radius - at.looks(a).radius);
  for (const point of byRadius) {
    const [x, y] = [at.x(point.x), at.y(point.y)];
    if (Number.isNaN(x) || Number.isNaN(y)) continue;
    const group = point.group ?? 0;
    const mono = spec.style?.monochrome ?? false;
    const { colour, radius } = at.looks(point);
    const place = Float64Array.of(x, y);
    const { background } = spec.theme;
    const sign = { colour, background, points: place, size: radius * 1.8 };
    if (mono) marks.push({ kind: "markers", shape: markerShape(group), ...sign });
    else marks.push({ kind: "dots", points: place, colour, radius, alpha: 0.85 });
    const box = { x: x - radius, y: y - radius, width: 2 * radius, height: 2 * radius };
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
    const y = box.y + box.height / 2 - size / 2;
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
  const named = (["size", "shade"] as const).flatMap((of) => {
    const metric = spec[of];
    return metric === undefined ? [] : [{ of, ...metric }];
  });
  return {
    head: ["run", spec.xLabel, spec.label ?? "value", ...named.map(({ name }) => name)],
    rows: points.map((point) => [
      ...[point.label, x(point.x), formatValue(point.y, spec.unit)],
      ...named.map(({ of, unit }) => formatValue(point[of] ?? null, unit)),
    ]),
  };
}
