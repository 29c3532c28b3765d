// A small plot per line on shared axes: values at the left of each row, x below each column. Pure.

import { formatScaled } from "../format/units";
import { hiddenLabels, lastValue } from "./ends";
import { type FontMetrics, fitText } from "./font";
import { drawEmpty, drawWindows, drawXAxis, kLineWidth, projectX } from "./frame";
import type { Mark, Rect } from "./marks";
import {
  axisTitles,
  hairline,
  kInsets,
  kTextSize,
  kTickAir,
  labelRoom,
  marginsOf,
  text,
  textSizeOf,
  titleMarks,
} from "./plot";
import { drawSeries } from "./series";
import type { ChartLine, ChartPicture, ChartSpec, LabelBox } from "./spec";
import { readable } from "./theme";
import { xOf } from "./xaxis";
import { type ChosenAxis, chooseAxis, project } from "./yaxis";

const kAir = 14;
// Room for a plot's name: the values at the left of the plot above reach into it.
const kTitle = 20;
const kMinWidth = 130;
const kMinHeight = 34;

// Cells across and down for a number of lines; of the ways to fit them the one whose cells are nearest to twice
// as wide as high.
function gridOf(count: number, inner: Rect): { across: number; down: number } {
  const most = Math.max(1, Math.floor((inner.width + kAir) / (kMinWidth + kAir)));
  let best = { across: 1, down: count };
  let worst = Number.POSITIVE_INFINITY;
  for (let across = 1; across <= Math.min(most, count); across++) {
    const down = Math.ceil(count / across);
    const width = (inner.width - (across - 1) * kAir) / across;
    const height = inner.height / down - kTitle;
    const off = Math.abs(Math.log(width / Math.max(height, 1) / 2.2));
    if (off < worst) [best, worst] = [{ across, down }, off];
  }
  return best;
}

// The height at which `count` plots are large enough to be read.
export function multiplesHeight(count: number, width: number): number {
  const inner = width - kInsets.left - kAir;
  const most = Math.max(1, Math.floor((inner + kAir) / (kMinWidth + kAir)));
  const down = Math.ceil(count / most);
  return Math.max(180, down * (kTitle + kMinHeight * 2) + kInsets.top + kInsets.bottom);
}

export function drawMultiples(
  lines: readonly ChartLine[],
  spec: ChartSpec,
  font: FontMetrics,
): ChartPicture {
  const size = textSizeOf(spec.style);
  const scale = size / kTextSize;
  const top = (spec.style?.title ? 20 : 0) * scale + kInsets.top;
  const y = spec.y ?? { mode: "auto" };
  const chosen = chooseAxis(lines, { y, unit: spec.unit, x: xOf(spec) });
  const asked = { left: labelRoom(chosen?.axis.ticks ?? [], { font, size }), right: 0 };
  const { left } = marginsOf(spec, asked);
  const titles = spec.style?.axes === undefined ? 0 : 1.5 * size;
  const inner = {
    x: left,
    y: top,
    width: spec.width - left - kAir,
    height: spec.height - top - kInsets.bottom * scale - titles,
  };
  const marks: Mark[] = [];
  const margins = { left, right: kAir };
  const { width: all, height: full } = spec;
  const picture = { width: all, height: full, marks, plot: inner, axis2: null, margins };
  if (chosen === null) {
    marks.push(...drawXAxis(inner, spec, font).marks, ...drawEmpty(lines, inner, spec));
    return { ...picture, plots: [], axis: null, notes: [], labels: hiddenLabels(lines, inner) };
  }
  marks.push(...titleMarks(spec, chosen.axis.scale.unit, font));
  const unit = chosen.axis.scale.unit;
  marks.push(...axisTitles(inner, spec, { unit, unit2: "", second: 0 }));
  const { across, down } = gridOf(lines.length, inner);
  const fits = Math.max(1, Math.min(down, Math.floor(inner.height / (kTitle + 10))));
  const shown = lines.slice(0, across * fits);
  const width = (inner.width - (across - 1) * kAir) / across;
  const height = inner.height / fits - kTitle * scale;
  const plots = shown.map((_, i) => ({
    x: inner.x + (i % across) * (width + kAir),
    y: inner.y + Math.floor(i / across) * (height + kTitle * scale) + kTitle * scale,
    width,
    height,
  }));
  const notes = [...chosen.notes];
  const labels = shown.map((line, i) => {
    const place = { plot: plots[i] as Rect, chosen, spec, font, index: i };
    marks.push(...drawCell(line, { ...place, first: i % across === 0 }));
    if (i + across >= shown.length) {
      const axis = drawXAxis(place.plot, spec, font);
      marks.push(...axis.marks.map((mark) => inwards(mark, place.plot, font)));
      if (i === shown.length - 1 && axis.note !== "") notes.push(axis.note);
    }
    return drawTitle(line, place, marks);
  });
  if (shown.length < lines.length) notes.push(`${shown.length} of ${lines.length} lines shown`);
  return { ...picture, plots, axis: chosen.axis, notes, labels };
}

interface CellPlace {
  plot: Rect;
  chosen: ChosenAxis;
  spec: ChartSpec;
  font: FontMetrics;
  index: number;
}

function drawCell(line: ChartLine, at: CellPlace & { first: boolean }): Mark[] {
  const { plot, chosen, spec } = at;
  const { theme, style } = spec;
  const size = textSizeOf(style);
  const marks: Mark[] = [];
  const y = project(chosen.axis, plot);
  let free = Number.POSITIVE_INFINITY;
  for (const tick of chosen.axis.ticks) {
    const row = y(tick.value);
    if (row > free) continue;
    free = row - size;
    marks.push(hairline(plot, row, theme.grid));
    if (!at.first) continue;
    const place = { x: plot.x - kTickAir, y: row + 0.37 * size, colour: theme.ink2, size };
    marks.push(text(tick.text, { ...place, anchor: "end" }));
  }
  if (line.hidden) return marks;
  const projection = {
    x: projectX(xOf(spec), plot),
    y,
    floor: plot.y + plot.height + 10,
  };
  const look = { kind: "line", width: style?.lineWidth ?? kLineWidth, shift: 0 } as const;
  const inside = drawSeries({ ...line, faint: false, dash: [] }, projection, {
    ...look,
    background: theme.background,
  });
  const rect = { x: plot.x - 2, y: plot.y - 2, width: plot.width + 4, height: plot.height + 4 };
  const windows = drawWindows(plot, spec, at.font);
  return [...marks, { kind: "clip", rect, marks: [...windows, ...inside] }];
}

// A tick at a plot's edge must not run into the neighbour's.
function inwards(mark: Mark, plot: Rect, font: FontMetrics): Mark {
  if (mark.kind !== "text") return mark;
  const half = font.width(mark.text, mark.size, mark.weight) / 2;
  if (mark.x - half < plot.x - 2) return { ...mark, anchor: "start", x: plot.x };
  const right = plot.x + plot.width;
  return mark.x + half > right + 2 ? { ...mark, anchor: "end", x: right } : mark;
}

function drawTitle(line: ChartLine, at: CellPlace, marks: Mark[]): LabelBox {
  const { plot, chosen, spec, font } = at;
  const size = textSizeOf(spec.style);
  const value = line.hidden ? undefined : lastValue(line);
  const number = value === undefined ? "hidden" : formatScaled(value, chosen.axis.scale, 3);
  const words = line.hidden || value !== undefined ? number : "";
  const room = plot.width - font.width(words, size, 400) - 8;
  const name = fitText(line.label, room, { font, size, weight: 600 });
  const y = plot.y - 5;
  const colour = line.hidden ? spec.theme.ink3 : readable(spec.theme, line.colour);
  const width = font.width(name, size, 600) + 3.5;
  marks.push(text(name, { x: plot.x, y, colour, weight: 600, size }));
  marks.push(text(words, { x: plot.x + width, y, colour: spec.theme.ink2, size }));
  return {
    key: line.key,
    hidden: line.hidden,
    x: plot.x,
    y: y - size,
    width: width + font.width(words, size, 400),
    height: size + 3,
  };
}
