// The drawing list: what a picture consists of, in CSS pixels, colours resolved. Made by pure functions from
// (data, spec, font metrics), painted by one thin painter per surface (canvas.ts, svg.ts). No DOM.

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
}

// Filled between `upper` and `lower`, which share their x; a NaN pair in both parts it.
export interface BandMark {
  kind: "band";
  upper: Points;
  lower: Points;
  colour: string;
  alpha: number;
}

export interface DotsMark {
  kind: "dots";
  points: Points;
  colour: string;
  radius: number;
}

export interface RectMark extends Rect {
  kind: "rect";
  colour: string;
  alpha: number;
  radius: number;
  // Diagonal hatching instead of a fill: waiting.
  hatch: boolean;
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
}

// Marks of `marks` are drawn inside `rect` only.
export interface ClipMark {
  kind: "clip";
  rect: Rect;
  marks: Mark[];
}

export type Mark = LineMark | BandMark | DotsMark | RectMark | TextMark | ClipMark;

export interface Picture {
  width: number;
  height: number;
  marks: Mark[];
}
