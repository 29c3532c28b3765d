// The drawing list: the marks of a picture, in CSS pixels, colours resolved. Made by pure functions from (data, spec,
// font metrics), painted by one thin painter per surface (canvas.ts, svg.ts). No DOM.

// x, y, x, y, …; a NaN pair lifts the pen.
export type Points = Float64Array;

export interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface LineMark {
  kind: "line";
  points: Points;
  colour: string;
  width: number;
  dash: readonly number[];
  // Opaque when absent.
  alpha?: number;
}

// Filled between `upper` and `lower`, which share their x; a NaN pair in both parts it.
export interface BandMark {
  kind: "band";
  upper: Points;
  lower: Points;
  colour: string;
  alpha: number;
}

// Upright bars of one width, not on one another: left edge, top, bottom, left edge, …
export interface BarsMark {
  kind: "bars";
  bars: Float64Array;
  width: number;
  colour: string;
  alpha: number;
}

export interface DotsMark {
  kind: "dots";
  points: Points;
  colour: string;
  radius: number;
  alpha?: number;
}

export type MarkerShape = "circle" | "square" | "triangle" | "diamond" | "cross" | "plus" | "ring";

// One sign of `size` pixels at each point: distinguishes lines without colour.
export interface MarkersMark {
  kind: "markers";
  points: Points;
  shape: MarkerShape;
  colour: string;
  // Behind the open shapes, so that the line does not run through them.
  background: string;
  size: number;
}

// A grid of `columns` × `rows` cells, row after row. A cell is 0 for nothing, else 1 + its place in `colours`.
export interface CellsMark extends Rect {
  kind: "cells";
  columns: number;
  rows: number;
  cells: Uint8Array;
  colours: readonly string[];
}

export type HatchPattern = "diagonal" | "back" | "cross" | "level" | "upright" | "grid";

export interface RectMark extends Rect {
  kind: "rect";
  colour: string;
  alpha: number;
  radius: number;
  // Diagonal hatching instead of a fill: waiting.
  hatch: boolean;
  // Another pattern than diagonals, to tell bars apart without colour.
  pattern?: HatchPattern;
}

export interface TextMark {
  kind: "text";
  x: number;
  y: number;
  text: string;
  colour: string;
  size: number;
  weight: number;
  anchor: "start" | "middle" | "end";
  // Turned to be read from the right: the title of a vertical axis.
  turned?: boolean;
}

// Marks of `marks` are drawn inside `rect` only.
export interface ClipMark {
  kind: "clip";
  rect: Rect;
  marks: Mark[];
}

export type Mark =
  | LineMark
  | BandMark
  | BarsMark
  | DotsMark
  | MarkersMark
  | CellsMark
  | RectMark
  | TextMark
  | ClipMark;

export interface Picture {
  width: number;
  height: number;
  marks: Mark[];
}
