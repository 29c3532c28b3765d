// The signs on lines as polygons around (0, 0) of unit size, and the strokes of hatching, for all painters. Pure.
import type { HatchPattern, MarkerShape, Rect } from "./marks";

type Path = readonly (readonly [number, number])[];

const r = 0.5;
const kPolygons: Record<"square" | "triangle" | "diamond", Path> = {
  square: [
    [-0.44, -0.44],
    [0.44, -0.44],
    [0.44, 0.44],
    [-0.44, 0.44],
  ],
  triangle: [
    [0, -0.58],
    [0.52, 0.36],
    [-0.52, 0.36],
  ],
  diamond: [
    [0, -0.62],
    [0.62, 0],
    [0, 0.62],
    [-0.62, 0],
  ],
};
const kStrokes: Record<"cross" | "plus", readonly Path[]> = {
  cross: [
    [
      [-0.42, -0.42],
      [0.42, 0.42],
    ],
    [
      [-0.42, 0.42],
      [0.42, -0.42],
    ],
  ],
  plus: [
    [
      [-r, 0],
      [r, 0],
    ],
    [
      [0, -r],
      [0, r],
    ],
  ],
};

// Filled polygons, strokes, or a circle that is filled or open.
export type ShapePath =
  | { kind: "polygon"; path: Path }
  | { kind: "strokes"; paths: readonly Path[] }
  | { kind: "circle"; open: boolean };

export function shapePath(shape: MarkerShape): ShapePath {
  switch (shape) {
    case "circle":
    case "ring":
      return { kind: "circle", open: shape === "ring" };
    case "cross":
    case "plus":
      return { kind: "strokes", paths: kStrokes[shape] };
    default:
      return { kind: "polygon", path: kPolygons[shape] };
  }
}

export const kHatchPitch = 5;

// In which directions a pattern's strokes run.
export function hatchStrokes(pattern: HatchPattern) {
  return {
    rising: pattern === "diagonal" || pattern === "cross",
    falling: pattern === "back" || pattern === "cross",
    level: pattern === "level" || pattern === "grid",
    upright: pattern === "upright" || pattern === "grid",
  };
}

// Strokes over a rectangle, and beyond it where they are diagonal: x0, y0, x1, y1 each.
export function hatchLines(rect: Rect, pattern: HatchPattern): [number, number, number, number][] {
  const { x, y, width, height } = rect;
  const strokes = hatchStrokes(pattern);
  const lines: [number, number, number, number][] = [];
  const from = Math.floor((x - height) / kHatchPitch) * kHatchPitch;
  for (let at = from; at < x + width; at += kHatchPitch) {
    if (strokes.rising) lines.push([at, y + height, at + height, y]);
    if (strokes.falling) lines.push([at, y, at + height, y + height]);
    if (strokes.upright && at >= x) lines.push([at, y, at, y + height]);
  }
  if (!strokes.level) return lines;
  for (let at = Math.ceil(y / kHatchPitch) * kHatchPitch; at < y + height; at += kHatchPitch)
    lines.push([x, at, x + width, at]);
  return lines;
}

// One tile of a pattern as the path of an SVG.
export function hatchTile(pattern: HatchPattern): string {
  const strokes = hatchStrokes(pattern);
  const p = kHatchPitch;
  const rising = strokes.rising ? `M0 ${p}L${p} 0` : "";
  const falling = strokes.falling ? `M0 0L${p} ${p}` : "";
  const level = strokes.level ? `M0 ${p / 2}H${p}` : "";
  const upright = strokes.upright ? `M${p / 2} 0V${p}` : "";
  return rising + falling + level + upright;
}

// The bar at `i` begins where the one before it ends.
export function touching(bars: Float64Array, i: number, width: number): boolean {
  return Math.abs((bars[i] as number) - (bars[i - 3] as number) - width) < width * 0.01;
}
