// One series' columns → a line, the fainter band behind it, and dots for points that stand alone. Pure.
//
// A column with one or two points is drawn exactly. In a column with more, the band is a bar as wide as the
// column over all that a line through all points would cross there, its parts from and to the neighbouring
// columns included; the line goes through the middle of the two inner of the four known values, which a single
// spike does not move, and never leaves the bars. So line and bars together cover, in every column, exactly
// the rows that a line through all points covers (fidelity.test.ts).
import type { Columns } from "../api/columns";
import { type LineData, partings } from "./gap";
import type { Points } from "./marks";
import { Pen } from "./pen";

export { gapThreshold, type LineData } from "./gap";
export { valueAt } from "./value";

export interface Shape {
  line: Points;
  // Left edge, top, bottom of each bar; all are one column wide.
  bars: Float64Array;
  barWidth: number;
  dots: Points;
}

export interface Projection {
  // Linear.
  x: (seconds: number) => number;
  // NaN for values that the axis cannot show.
  y: (value: number) => number;
  // The row, beyond the plot's edge, of values that the axis cannot show.
  floor?: number;
}

// The way two points are joined: straight, or staying at the earlier value until the later point.
export type Join = "straight" | "step";

function innerMiddle(a: number, b: number, c: number, d: number): number {
  return (a + b + c + d - Math.min(a, b, c, d) - Math.max(a, b, c, d)) / 2;
}

const clamp = (v: number, low: number, high: number) => Math.min(Math.max(v, low), high);

// The position of a column's line and bar, in column pixels and picture pixels.
interface Cell {
  pixel: number;
  x0: number;
  x1: number;
  first: number;
  last: number;
  // The highest and the lowest row, joins included.
  top: number;
  bottom: number;
  // The line's position: the middle of a dense column.
  middle: number;
  dense: boolean;
}

const blank = (): Cell => ({
  pixel: 0,
  x0: 0,
  x1: 0,
  first: 0,
  last: 0,
  top: 0,
  bottom: 0,
  middle: 0,
  dense: false,
});

// Makes a cell's bar reach a row.
function reach(cell: Cell, y: number): void {
  if (y < cell.top) cell.top = y;
  if (y > cell.bottom) cell.bottom = y;
}

// The row at `x` of the straight line between two cells' points.
function across(before: Cell, cell: Cell, x: number): number {
  if (cell.x0 <= before.x1) return before.last;
  const part = clamp((x - before.x1) / (cell.x0 - before.x1), 0, 1);
  return before.last + part * (cell.first - before.last);
}

// They may share their place.
const twoPoints = (cell: Cell) => cell.x1 > cell.x0 || cell.last !== cell.first;

const line = new Pen();
const bars = new Pen();
const dots = new Pen();

class Shaper {
  readonly #step: boolean;
  // Factor from column pixels to picture pixels.
  readonly #scale: number;
  readonly #offset: number;
  // Position of the line's pen, in column pixels.
  #x = 0;
  #y = 0;

  constructor(data: LineData, project: Projection, join: Join) {
    this.#step = join === "step";
    const { from, to, width } = data;
    this.#offset = project.x(from);
    this.#scale = (project.x(to) - this.#offset) / width;
  }

  at(px: number): number {
    return this.#offset + px * this.#scale;
  }

  #to(x: number, y: number): void {
    line.to(this.at(x), y);
    this.#x = x;
    this.#y = y;
  }

  // To a point from an earlier one.
  #join(x: number, y: number): void {
    if (this.#step) this.#to(x, this.#y);
    this.#to(x, y);
  }

  // A cell begins a line.
  begin(cell: Cell): void {
    if (cell.dense) this.#to((cell.x0 + cell.x1) / 2, cell.middle);
    else this.#exact(cell);
  }

  #exact(cell: Cell): void {
    this.#to(cell.x0, cell.first);
    if (twoPoints(cell)) this.#join(cell.x1, cell.last);
  }

  // From a cell to the next one: rows of the join are theirs, and the line stays inside them.
  follow(before: Cell, cell: Cell): void {
    let enter = before.last;
    if (this.#step) reach(cell, enter);
    else {
      reach(before, across(before, cell, before.pixel + 1));
      enter = across(before, cell, cell.pixel);
      reach(cell, enter);
    }
    if (cell.pixel === before.pixel + 1) this.#cross(before, cell, enter);
    else {
      if (before.dense) this.#join(before.x1, before.last);
      if (cell.dense) this.#join(cell.x0, cell.first);
    }
    if (cell.dense) this.#join((cell.x0 + cell.x1) / 2, cell.middle);
    else {
      this.#join(cell.x0, cell.first);
      if (twoPoints(cell)) this.#join(cell.x1, cell.last);
    }
  }

  // Over the edge between neighbours, at the height `y` of the points' own line.
  #cross(before: Cell, cell: Cell, y: number): void {
    const edge = cell.pixel;
    if (before.dense !== cell.dense) {
      this.#pass(before.x1, edge, y);
      return;
    }
    if (!cell.dense) return;
    const x = (cell.x0 + cell.x1) / 2;
    const part = this.#step ? 0 : (edge - this.#x) / (x - this.#x);
    const straight = this.#y + part * (cell.middle - this.#y);
    const top = Math.max(before.top, cell.top);
    const inside = clamp(straight, top, Math.max(top, Math.min(before.bottom, cell.bottom)));
    if (inside !== straight) this.#pass(before.x1, edge, inside);
  }

  // A step up or down belongs to the column that is left, at its last point.
  #pass(last: number, edge: number, y: number): void {
    if (this.#step) {
      this.#to(last, this.#y);
      this.#to(last, y);
    }
    this.#to(edge, y);
  }

  bar(cell: Cell): void {
    if (cell.dense) bars.bar(this.at(cell.pixel), cell.top, cell.bottom);
  }
}

// The row of a value, also of one that the axis cannot show.
function row(project: Projection, value: number): number {
  const y = project.y(value);
  return Number.isNaN(y) ? (project.floor ?? 0) : y;
}

function fill(cell: Cell, c: Columns, i: number, project: Projection): void {
  const first = c.first[i] as number;
  const last = c.last[i] as number;
  cell.x0 = c.firstX[i] as number;
  cell.x1 = c.lastX[i] as number;
  cell.pixel = Math.floor((cell.x0 + cell.x1) / 2);
  cell.dense = (c.counts[i] as number) > 2;
  cell.first = row(project, first);
  cell.last = row(project, last);
  cell.top = Math.min(cell.first, cell.last);
  cell.bottom = Math.max(cell.first, cell.last);
  if (!cell.dense) return;
  const min = c.min[i] as number;
  const max = c.max[i] as number;
  reach(cell, row(project, max));
  reach(cell, row(project, min));
  cell.middle = clamp(row(project, innerMiddle(first, min, max, last)), cell.top, cell.bottom);
}

export function shapeLine(data: LineData, project: Projection, join: Join = "straight"): Shape {
  const { columns: c, width } = data;
  const n = c.firstX.length;
  const parted = partings(data);
  for (const pen of [line, bars, dots]) pen.clear();
  const shaper = new Shaper(data, project, join);
  const sparse = n > 0 && c.points < width / 24;
  let before = blank();
  let cell = blank();
  // The column before is drawn, save for its bar, which still may grow.
  let drawn = false;
  for (let i = 0, apart = true, next = true; i < n; i++, apart = next) {
    next = parted(i + 1);
    const shown = !Number.isNaN(project.y(c.max[i] as number));
    if (drawn && (apart || !shown)) {
      shaper.bar(before);
      line.lift();
      drawn = false;
    }
    if (!shown) continue;
    fill(cell, c, i, project);
    if (drawn) {
      // Rounding may put the last of one column and the first of the next on one pixel.
      if (cell.pixel <= before.pixel) cell.pixel = before.pixel + 1;
      shaper.follow(before, cell);
      shaper.bar(before);
    } else shaper.begin(cell);
    if (sparse || (c.counts[i] === 1 && apart && next)) dots.to(shaper.at(cell.x0), cell.first);
    if (sparse && twoPoints(cell)) dots.to(shaper.at(cell.x1), cell.last);
    const spare = before;
    before = cell;
    cell = spare;
    drawn = true;
  }
  if (drawn) shaper.bar(before);
  const barWidth = shaper.at(1) - shaper.at(0);
  return { line: line.points(), bars: bars.points(), barWidth, dots: dots.points() };
}
