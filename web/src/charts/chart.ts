// One chart: (lines, spec, font metrics) → drawing list. On the page the title line is not part of it: there it
// is text, so that it can be selected and read aloud. Pure.
import { formatScaled } from "../format/units";
import { type ValueAxis, valueAxis } from "./axis";
import { drawEnds, drawLegend, hiddenLabels, lastValue, layoutLegend } from "./ends";
import type { FontMetrics } from "./font";
import {
  drawEmpty,
  drawEvents,
  drawWindows,
  drawXAxis,
  kLineWidth,
  projectX,
  shapeFor,
  styledLines,
} from "./frame";
import { drawHeat } from "./heat";
import type { Mark, Rect } from "./marks";
import { drawMultiples } from "./multiples";
import {
  axisTitles,
  hairline,
  kInsets,
  kSecondRoom,
  kTextSize,
  kTickAir,
  labelRoom,
  marginsOf,
  plotOf,
  plotRect,
  text,
  textSizeOf,
  titleMarks,
} from "./plot";
import { eachPlace, valueRange } from "./range";
import { drawSeries } from "./series";
import type { ChartLine, ChartPicture, ChartSpec, LabelBox, Margins } from "./spec";
import { xOf } from "./xaxis";
import { type ChosenAxis, chooseAxis, project } from "./yaxis";

export type { ChartLine, ChartSpec } from "./spec";
export { kInsets, plotRect, valueRange };

// Beyond so many lines a plot is a tangle: `heat` and `multiples` say more.
export const kMaxTangled = 50;

export function drawChart(
  lines: readonly ChartLine[],
  spec: ChartSpec,
  font: FontMetrics,
): ChartPicture {
  const styled = styledLines(lines, spec);
  if (spec.kind === "heat") return drawHeat(styled, spec, font);
  if (spec.kind === "multiples") return drawMultiples(styled, spec, font);
  return drawPlot(styled, spec, font);
}

interface Side extends ChosenAxis {
  unit: string;
  y: (v: number) => number;
}

function chosenOf(lines: readonly ChartLine[], spec: ChartSpec, which: 0 | 1) {
  const mine = lines.filter((line) => (line.axis ?? 0) === which);
  const y = (which === 0 ? spec.y : spec.y2) ?? { mode: "auto" };
  const unit = which === 0 ? spec.unit : (spec.unit2 ?? "");
  const chosen = chooseAxis(mine, { y, unit, x: xOf(spec) });
  return chosen && { ...chosen, unit };
}

function drawPlot(lines: readonly ChartLine[], spec: ChartSpec, font: FontMetrics): ChartPicture {
  const { style } = spec;
  const size = textSizeOf(style);
  const legend = style?.legend ?? "ends";
  const across = { width: spec.width - kInsets.left - 16, size, font };
  const rows = legend === "top" ? 1 + (layoutLegend(lines, across).at(-1)?.row ?? -1) : 0;
  const chosen = [chosenOf(lines, spec, 0), chosenOf(lines, spec, 1)] as const;
  const [left, right] = chosen.map((one) => labelRoom(one?.axis.ticks ?? [], { font, size }));
  const asked = { left, right } as Margins;
  const plot = plotOf(spec, asked, rows);
  const marks: Mark[] = [];
  const axisX = drawXAxis(plot, spec, font);
  marks.push(...axisX.marks);
  const sides = chosen.map(
    (one) => one && { ...one, y: project(one.axis, plot) },
  ) as unknown as Sides;
  const margins = marginsOf(spec, asked);
  const { width, height } = spec;
  const picture = { width, height, marks, plot, plots: [plot], margins };
  const notes = axisX.note === "" ? [] : [axisX.note];
  const [axis, axis2] = sides.map((side) => side?.axis ?? null) as [
    ValueAxis | null,
    ValueAxis | null,
  ];
  if (axis === null && axis2 === null) {
    marks.push(...drawEmpty(lines, plot, spec));
    return { ...picture, axis, axis2, notes, labels: hiddenLabels(lines, plot) };
  }
  marks.push(...titleMarks(spec, unitsOf(sides), font), ...drawTicks(sides, plot, spec));
  const inside: Mark[] = [...drawWindows(plot, spec, font), ...drawEvents(plot, spec, font)];
  const order = lines.map((line, i) => ({ line, i }));
  // Faint lines are drawn first.
  order.sort((a, b) => Number(b.line.faint ?? false) - Number(a.line.faint ?? false) || a.i - b.i);
  const x = projectX(xOf(spec), plot);
  for (const { line, i } of order) {
    const side = sides[line.axis ?? 0];
    if (line.hidden || side === null) continue;
    const projection = { x, y: side.y, floor: plot.y + plot.height + 10 };
    inside.push(...drawSeries(line, projection, styleAt(spec, i)));
    if (side.cuts) inside.push(...edgeSigns(line, side, { plot, spec }));
  }
  // A little larger than the plot, or a line along its edge would be cut in half.
  const rect = { x: plot.x - 2, y: plot.y - 2, width: plot.width + 4, height: plot.height + 4 };
  marks.push({ kind: "clip", rect, marks: inside });
  for (const side of sides) if (side !== null) notes.push(...side.notes);
  const ticks = Math.max(kSecondRoom * (size / kTextSize), asked.right);
  const [unit, unit2] = sides.map((side) => side?.axis.scale.unit ?? "") as [string, string];
  marks.push(...axisTitles(plot, spec, { unit, unit2, second: ticks }));
  const second = ticks + (style?.axes?.y2 === undefined ? 0 : 1.5 * size);
  const names = drawNames(lines, { plot, spec, font, sides, rows, second }, marks);
  return { ...picture, axis, axis2, notes, labels: names };
}

function styleAt(spec: ChartSpec, index: number) {
  const marker = shapeFor(spec, index);
  return {
    kind: spec.kind ?? "line",
    width: spec.style?.lineWidth ?? kLineWidth,
    background: spec.theme.background,
    shift: (index * 29) % 72,
    ...(marker === undefined ? {} : { marker }),
  };
}

type Sides = readonly [Side | null, Side | null];

function unitsOf([left, right]: Sides): string {
  const unit = left?.axis.scale.unit ?? "";
  const second = right?.axis.scale.unit ?? "";
  return second === "" ? unit : `${unit} · right: ${second}`;
}

// Hairlines belong to the left axis, or to the right one where it is alone.
function drawTicks([left, right]: Sides, plot: Rect, spec: ChartSpec): Mark[] {
  const size = textSizeOf(spec.style);
  const marks: Mark[] = [];
  const colour = spec.theme.ink2;
  const y = (row: number) => row + 0.37 * size;
  for (const tick of left?.axis.ticks ?? []) {
    const row = (left as Side).y(tick.value);
    marks.push(hairline(plot, row, spec.theme.grid));
    marks.push(text(tick.text, { x: plot.x - kTickAir, y: y(row), colour, anchor: "end", size }));
  }
  for (const tick of right?.axis.ticks ?? []) {
    const row = (right as Side).y(tick.value);
    if (left === null) marks.push(hairline(plot, row, spec.theme.grid));
    marks.push(text(tick.text, { x: plot.x + plot.width + 6, y: y(row), colour, size }));
  }
  return marks;
}

interface NamesPlace {
  plot: Rect;
  spec: ChartSpec;
  font: FontMetrics;
  sides: Sides;
  rows: number;
  // Width of the second axis, before the names.
  second: number;
}

function drawNames(lines: readonly ChartLine[], at: NamesPlace, marks: Mark[]): LabelBox[] {
  const { plot, spec, font, sides, rows, second } = at;
  const { theme, style } = spec;
  const size = textSizeOf(style);
  const legend = style?.legend ?? "ends";
  if (legend === "none") return [];
  if (legend === "top") {
    const y = plot.y - rows * 16 * (size / 11) + size / 2;
    const place = { x: plot.x, y, width: spec.width - kInsets.left - 16, size, theme, font };
    const drawn = drawLegend(lines, place, (line, from, row) => {
      const style = styleAt(spec, lines.indexOf(line));
      const points = Float64Array.of(from, row, from + 18, row);
      const { colour, dash } = line;
      const { marker: shape, background, width } = style;
      const stroke: Mark = { kind: "line", points, colour, dash, width: Math.max(width, 1.5) };
      if (shape === undefined) return [stroke];
      const middle = Float64Array.of(from + 9, row);
      return [stroke, { kind: "markers", points: middle, shape, colour, background, size: 5 }];
    });
    marks.push(...drawn.marks);
    return drawn.labels;
  }
  const left = 9 * (size / kTextSize) + (sides[1] === null ? 0 : second);
  const room = spec.width - plot.x - plot.width - left;
  const axisOf = (line: ChartLine) => sides[line.axis ?? 0];
  const narrow = sides[1] !== null;
  return drawEnds(lines, { plot, left, room, narrow, axisOf, theme, font, size }, marks);
}

// A short stroke at the edge wherever a line is beyond it; one per pixel.
function edgeSigns(line: ChartLine, side: Side, at: { plot: Rect; spec: ChartSpec }): Mark[] {
  const { plot, spec } = at;
  const { from, to } = side.axis;
  const { data, curve, pairs } = line;
  const x = projectX(xOf(spec), plot);
  const places: number[] = [];
  if (data !== null)
    for (const px of data.columns.firstX)
      places.push(x(data.from + (px * (data.to - data.from)) / data.width));
  if (curve) {
    const step = (curve.to - curve.from) / curve.value.length;
    for (let i = 0; i < curve.value.length; i++)
      if (!Number.isNaN(curve.value[i] as number)) places.push(x(curve.from + (i + 0.5) * step));
  }
  if (pairs)
    for (let i = 0; i < pairs.x.length; i++) {
      const at = pairs.x[i] as number;
      if (at >= spec.from && at <= spec.to && Number.isFinite(pairs.y[i] as number))
        places.push(x(at));
    }
  const strokes: number[] = [];
  let i = 0;
  let [lastTop, lastBottom] = [-1, -1];
  eachPlace(line, xOf(spec), (low, high) => {
    const px = Math.round(places[i++] as number);
    if (high > to && px !== lastTop) {
      lastTop = px;
      strokes.push(px, plot.y - 2, px, plot.y + 2, Number.NaN, Number.NaN);
    }
    if (low < from && px !== lastBottom) {
      lastBottom = px;
      const bottom = plot.y + plot.height;
      strokes.push(px, bottom - 2, px, bottom + 2, Number.NaN, Number.NaN);
    }
  });
  const points = Float64Array.from(strokes);
  return [{ kind: "line", points, colour: line.colour, width: 1, dash: [], alpha: 0.6 }];
}

const kLowest = Number.NEGATIVE_INFINITY;

// Describes the chart in words for screen readers.
export function summarise(
  title: string,
  lines: readonly ChartLine[],
  spec: Pick<ChartSpec, "unit"> & Partial<ChartSpec>,
): string {
  const parts = lines.flatMap((line) => {
    const value = lastValue(line);
    const range = line.hidden ? null : valueRange([line]);
    if (value === undefined || range === null) return [];
    const unit = line.axis === 1 ? (spec.unit2 ?? "") : spec.unit;
    const { scale } = valueAxis(range[0], range[1], unit);
    const [low, high] = range.map((v) => formatScaled(v, scale));
    const words = `${line.label}: last ${formatScaled(value, scale)}, between ${low} and ${high} ${scale.unit}`;
    return [words.trimEnd()];
  });
  const { from: begin = kLowest, to: end = -kLowest, windows = [] } = spec;
  const seen = windows.filter(({ from, to }) => to >= begin && from <= end);
  const set = new Set(
    seen.map(({ label, kind }) =>
      kind === "note" ? `Note about a part of it: ${label}` : `Part of it was ${label}`,
    ),
  );
  const said = parts.length === 0 ? ["No data in this range"] : parts;
  return `${title}. ${[...said, ...set].join(". ")}.`;
}
