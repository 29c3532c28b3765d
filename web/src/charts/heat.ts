// Many lines as rows of colour: a row per line, a cell per pixel, cividis for the value. Pure.
import { place, type ValueAxis } from "./axis";
import { hiddenLabels } from "./ends";
import { type FontMetrics, fitText } from "./font";
import { drawEmpty, drawEvents, drawWindows, drawXAxis } from "./frame";
import { type LineData, partings } from "./gap";
import type { Mark, Rect } from "./marks";
import { axisTitles, labelRoom, marginsOf, plotOf, text, textSizeOf, titleMarks } from "./plot";
import type { ChartLine, ChartPicture, ChartSpec, LabelBox } from "./spec";
import { rampColours } from "./theme";
import { xOf } from "./xaxis";
import { chooseAxis, project } from "./yaxis";

export const kRampSteps = 64;
const kRamp = rampColours(kRampSteps);
const kBar = { width: 6, away: 8 };
const kBarAir = 3;
const kMinRow = 9;

export function drawHeat(
  lines: readonly ChartLine[],
  spec: ChartSpec,
  font: FontMetrics,
): ChartPicture {
  const x = xOf(spec);
  const chosen = chooseAxis(lines, { y: spec.y ?? { mode: "auto" }, unit: spec.unit, x });
  const room = { font, size: textSizeOf(spec.style), air: kBar.away + kBarAir };
  const asked = { left: labelRoom(chosen?.axis.ticks ?? [], room), right: 0 };
  const plot = plotOf(spec, asked);
  const axisX = drawXAxis(plot, spec, font);
  const marks: Mark[] = axisX.marks;
  const notes = axisX.note === "" ? [] : [axisX.note];
  const picture = {
    width: spec.width,
    height: spec.height,
    marks,
    plot,
    plots: [plot],
    axis2: null,
    margins: marginsOf(spec, asked),
  };
  if (chosen === null) {
    marks.push(...titleMarks(spec, spec.unit, font), ...drawEmpty(lines, plot, spec));
    return { ...picture, axis: null, notes, labels: hiddenLabels(lines, plot) };
  }
  const { axis } = chosen;
  marks.push(...titleMarks(spec, axis.scale.unit, font));
  const columns = Math.max(1, Math.round(plot.width));
  const cells = new Uint8Array(columns * lines.length);
  lines.forEach((line, row) => {
    if (line.hidden) return;
    fillRow(line, cells.subarray(row * columns, (row + 1) * columns), { axis, x });
  });
  const { x: left, y, width, height } = plot;
  const grid = { x: left, y, width, height };
  marks.push({ kind: "cells", ...grid, columns, rows: lines.length, cells, colours: kRamp });
  const over = [...drawWindows(plot, spec, font), ...drawEvents(plot, spec, font)];
  marks.push({ kind: "clip", rect: plot, marks: over });
  marks.push(...drawBar(axis, plot, spec));
  marks.push(...axisTitles(plot, spec, { unit: axis.scale.unit, unit2: "", second: 0 }));
  notes.push("colour = max of a column", ...chosen.notes);
  return { ...picture, axis, notes, labels: drawRows(lines, { plot, spec, font }, marks) };
}

interface RowPlace {
  axis: ValueAxis;
  x: { from: number; to: number };
}

// The values of one row's cells: in each the greatest that lies in it.
class Row {
  readonly values: Float64Array;
  readonly #x: { from: number; to: number };

  constructor(count: number, x: { from: number; to: number }) {
    this.values = new Float64Array(count).fill(Number.NaN);
    this.#x = x;
  }

  cell(x: number): number {
    const { from, to } = this.#x;
    return Math.floor(((x - from) / (to - from)) * this.values.length);
  }

  // Fills cells `a` to `b`, both included.
  put(a: number, b: number, value: number): void {
    if (Number.isNaN(value)) return;
    const end = Math.min(this.values.length - 1, b);
    for (let cell = Math.max(0, a); cell <= end; cell++)
      if (!((this.values[cell] as number) >= value)) this.values[cell] = value;
  }

  // Cells `a` to `b` without a value, `b` not included.
  hold(a: number, b: number, value: number): void {
    const end = Math.min(this.values.length, b);
    for (let cell = Math.max(0, a); cell < end; cell++)
      if (Number.isNaN(this.values[cell])) this.values[cell] = value;
  }
}

// Between two points the earlier one's value, save in gaps.
function putColumns(row: Row, data: LineData): void {
  const { columns: c } = data;
  const pixel = (data.to - data.from) / data.width;
  const cellOf = (px: number) => row.cell(data.from + px * pixel);
  const parted = partings(data);
  for (let i = 0; i < c.firstX.length; i++)
    row.put(cellOf(c.firstX[i] as number), cellOf(c.lastX[i] as number), c.max[i] as number);
  for (let i = 1; i < c.firstX.length; i++) {
    if (parted(i)) continue;
    const [a, b] = [cellOf(c.lastX[i - 1] as number), cellOf(c.firstX[i] as number)];
    row.hold(a, b, c.last[i - 1] as number);
  }
}

function fillRow(line: ChartLine, cells: Uint8Array, at: RowPlace): void {
  const row = new Row(cells.length, at.x);
  const { data, curve, pairs } = line;
  if (curve) {
    const step = (curve.to - curve.from) / curve.value.length;
    const cellAt = (i: number) => row.cell(curve.from + i * step);
    for (let i = 0; i < curve.value.length; i++)
      row.put(cellAt(i), Math.max(cellAt(i), cellAt(i + 1) - 1), curve.value[i] as number);
  } else if (data !== null) putColumns(row, data);
  else if (pairs) {
    for (let i = 0; i < pairs.x.length; i++) {
      const cell = row.cell(pairs.x[i] as number);
      row.put(cell, cell, pairs.y[i] as number);
    }
  }
  for (let i = 0; i < cells.length; i++) cells[i] = levelOf(at.axis, row.values[i] as number);
}

// 0 for nothing, else 1 to kRampSteps.
function levelOf(axis: ValueAxis, value: number): number {
  if (Number.isNaN(value)) return 0;
  const part = place(axis, value);
  if (Number.isNaN(part)) return 0;
  return 1 + Math.min(kRampSteps - 1, Math.max(0, Math.floor(part * kRampSteps)));
}

// In the place of the value axis: its ticks beside the colours.
function drawBar(axis: ValueAxis, plot: Rect, spec: ChartSpec): Mark[] {
  const size = textSizeOf(spec.style);
  const cells = Uint8Array.from({ length: kRampSteps }, (_, i) => kRampSteps - i);
  const x = plot.x - kBar.away;
  const rect = { x, y: plot.y, width: kBar.width, height: plot.height };
  const y = project(axis, plot);
  const colour = spec.theme.ink2;
  return [
    { kind: "cells", ...rect, columns: 1, rows: kRampSteps, cells, colours: kRamp },
    ...axis.ticks.map((tick) =>
      text(tick.text, {
        x: x - kBarAir,
        y: y(tick.value) + 0.37 * size,
        colour,
        anchor: "end",
        size,
      }),
    ),
  ];
}

// Names beside the rows; beside every second, third, … where they would touch.
function drawRows(
  lines: readonly ChartLine[],
  at: { plot: Rect; spec: ChartSpec; font: FontMetrics },
  marks: Mark[],
): LabelBox[] {
  const { plot, spec, font } = at;
  if ((spec.style?.legend ?? "ends") !== "ends") return [];
  const base = textSizeOf(spec.style);
  const row = plot.height / lines.length;
  const size = row >= base ? base : Math.max(kMinRow, Math.min(base, row));
  const every = Math.max(1, Math.ceil((size + 2) / row - 0.25));
  const left = plot.x + plot.width + 6;
  const room = spec.width - left - 3;
  const boxes: LabelBox[] = [];
  lines.forEach((line, i) => {
    if (i % every !== 0) return;
    const name = fitText(line.label, room, { font, size, weight: 400 });
    const centre = plot.y + (i + 0.5) * row;
    const colour = line.hidden ? spec.theme.ink3 : spec.theme.ink2;
    marks.push(text(name, { x: left, y: centre + 0.36 * size, colour, size }));
    const width = font.width(name, size, 400);
    const height = Math.max(row, size);
    boxes.push({
      key: line.key,
      hidden: line.hidden,
      x: left,
      y: centre - height / 2,
      width,
      height,
    });
  });
  return boxes;
}

// The line whose row is at a place of the picture.
export function heatRowAt(lines: readonly ChartLine[], plot: Rect, y: number): ChartLine | null {
  return lines[Math.floor(((y - plot.y) / plot.height) * lines.length)] ?? null;
}
