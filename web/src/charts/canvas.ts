// Paints a drawing list on a canvas in device pixels. Knows nothing of charts.
import { kFamily } from "./font";
import type {
  BandMark,
  BarsMark,
  CellsMark,
  Mark,
  MarkersMark,
  Picture,
  RectMark,
  TextMark,
} from "./marks";
import { hatchLines, shapePath, touching } from "./shapes";

// Strokes of one device pixel take browsers a tenth of the time of slightly wider ones, and look the same.
const kHairline = 1.25;

export function paint(canvas: HTMLCanvasElement, picture: Picture, ratio: number): void {
  const width = Math.round(picture.width * ratio);
  const height = Math.round(picture.height * ratio);
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  const context = canvas.getContext("2d");
  if (context === null) return;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, picture.width, picture.height);
  context.lineJoin = "round";
  for (const mark of picture.marks) paintMark(context, mark, ratio);
}

function paintMark(context: CanvasRenderingContext2D, mark: Mark, ratio: number): void {
  switch (mark.kind) {
    case "clip":
      context.save();
      context.beginPath();
      context.rect(mark.rect.x, mark.rect.y, mark.rect.width, mark.rect.height);
      context.clip();
      for (const inner of mark.marks) paintMark(context, inner, ratio);
      context.restore();
      return;
    case "line":
      context.beginPath();
      trace(context, mark.points);
      context.strokeStyle = mark.colour;
      context.lineWidth = mark.width * ratio <= kHairline ? 1 / ratio : mark.width;
      if (mark.alpha !== undefined) context.globalAlpha = mark.alpha;
      if (mark.dash.length > 0) context.setLineDash(mark.dash as number[]);
      context.stroke();
      if (mark.dash.length > 0) context.setLineDash([]);
      context.globalAlpha = 1;
      return;
    case "band":
      paintBand(context, mark);
      return;
    case "bars":
      paintBars(context, mark, ratio);
      return;
    case "dots":
      if (mark.points.length === 0) return;
      context.fillStyle = mark.colour;
      if (mark.alpha !== undefined) context.globalAlpha = mark.alpha;
      context.beginPath();
      for (let i = 0; i < mark.points.length; i += 2) {
        const [x, y] = [mark.points[i] as number, mark.points[i + 1] as number];
        context.moveTo(x + mark.radius, y);
        context.arc(x, y, mark.radius, 0, 2 * Math.PI);
      }
      context.fill();
      context.globalAlpha = 1;
      return;
    case "markers":
      paintMarkers(context, mark);
      return;
    case "cells":
      paintCells(context, mark);
      return;
    case "rect":
      paintRect(context, mark);
      return;
    case "text":
      paintText(context, mark);
  }
}

function paintText(context: CanvasRenderingContext2D, mark: TextMark): void {
  context.font = `${mark.weight} ${mark.size}px ${kFamily}`;
  context.textAlign = mark.anchor === "middle" ? "center" : mark.anchor;
  context.fillStyle = mark.colour;
  if (!mark.turned) {
    context.fillText(mark.text, mark.x, mark.y);
    return;
  }
  context.save();
  context.translate(mark.x, mark.y);
  context.rotate(-Math.PI / 2);
  context.fillText(mark.text, 0, 0);
  context.restore();
}

function paintMarkers(context: CanvasRenderingContext2D, mark: MarkersMark): void {
  const { points, size } = mark;
  const shape = shapePath(mark.shape);
  context.beginPath();
  for (let i = 0; i < points.length; i += 2) {
    const [x, y] = [points[i] as number, points[i + 1] as number];
    if (shape.kind === "circle") {
      context.moveTo(x + size / 2, y);
      context.arc(x, y, size / 2, 0, 2 * Math.PI);
      continue;
    }
    for (const path of shape.kind === "polygon" ? [shape.path] : shape.paths) {
      path.forEach(([dx, dy], k) => {
        if (k === 0) context.moveTo(x + dx * size, y + dy * size);
        else context.lineTo(x + dx * size, y + dy * size);
      });
      if (shape.kind === "polygon") context.closePath();
    }
  }
  const open = shape.kind === "circle" && shape.open;
  context.fillStyle = open ? mark.background : mark.colour;
  context.strokeStyle = mark.colour;
  context.lineWidth = 1.2;
  if (shape.kind !== "strokes") context.fill();
  if (open || shape.kind === "strokes") context.stroke();
}

// "#rrggbb" as the bytes of a little-endian pixel.
const pixelOf = (hex: string) =>
  (0xff000000 |
    (Number.parseInt(hex.slice(5, 7), 16) << 16) |
    (Number.parseInt(hex.slice(3, 5), 16) << 8) |
    Number.parseInt(hex.slice(1, 3), 16)) >>>
  0;

// As a small image that is scaled without smoothing: one write per cell instead of one path.
function paintCells(context: CanvasRenderingContext2D, mark: CellsMark): void {
  const { columns, rows, cells } = mark;
  if (columns === 0 || rows === 0) return;
  const pixels = new Uint32Array(columns * rows);
  const colours = Uint32Array.from([0, ...mark.colours.map(pixelOf)]);
  for (let i = 0; i < pixels.length; i++) pixels[i] = colours[cells[i] as number] as number;
  const small = context.canvas.ownerDocument.createElement("canvas");
  small.width = columns;
  small.height = rows;
  const image = new ImageData(new Uint8ClampedArray(pixels.buffer), columns, rows);
  small.getContext("2d")?.putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, mark.x, mark.y, mark.width, mark.height);
}

function trace(context: CanvasRenderingContext2D, points: Float64Array): void {
  let down = false;
  for (let i = 0; i < points.length; i += 2) {
    const x = points[i] as number;
    if (Number.isNaN(x)) down = false;
    else if (down) context.lineTo(x, points[i + 1] as number);
    else {
      context.moveTo(x, points[i + 1] as number);
      down = true;
    }
  }
}

function paintBand(context: CanvasRenderingContext2D, mark: BandMark): void {
  const { upper, lower } = mark;
  if (upper.length === 0) return;
  context.globalAlpha = mark.alpha;
  context.fillStyle = mark.colour;
  context.beginPath();
  let start = 0;
  for (let i = 0; i <= upper.length; i += 2) {
    if (i < upper.length && !Number.isNaN(upper[i])) continue;
    if (i > start) {
      context.moveTo(upper[start] as number, upper[start + 1] as number);
      for (let k = start + 2; k < i; k += 2)
        context.lineTo(upper[k] as number, upper[k + 1] as number);
      for (let k = i - 2; k >= start; k -= 2)
        context.lineTo(lower[k] as number, lower[k + 1] as number);
      context.closePath();
    }
    start = i + 2;
  }
  context.fill();
  context.globalAlpha = 1;
}

// Bars of one device pixel are strokes, which take a third of the time.
function paintBars(context: CanvasRenderingContext2D, mark: BarsMark, ratio: number): void {
  const { bars, width } = mark;
  if (bars.length === 0) return;
  context.globalAlpha = mark.alpha;
  context.beginPath();
  if (Math.abs(width * ratio - 1) < 0.02) {
    for (let i = 0; i < bars.length; i += 3) {
      const x = (bars[i] as number) + width / 2;
      context.moveTo(x, bars[i + 1] as number);
      context.lineTo(x, bars[i + 2] as number);
    }
    context.strokeStyle = mark.colour;
    context.lineWidth = width;
    context.stroke();
  } else {
    traceBars(context, mark);
    context.fillStyle = mark.colour;
    context.fill();
  }
  context.globalAlpha = 1;
}

// Neighbours are one outline: along the tops and back along the bottoms.
function traceBars(context: CanvasRenderingContext2D, { bars, width }: BarsMark): void {
  for (let start = 0, end = 3; start < bars.length; start = end, end += 3) {
    while (end < bars.length && touching(bars, end, width)) end += 3;
    for (let i = start; i < end; i += 3) {
      const x = bars[i] as number;
      if (i === start) context.moveTo(x, bars[i + 1] as number);
      else context.lineTo(x, bars[i + 1] as number);
      context.lineTo(x + width, bars[i + 1] as number);
    }
    for (let i = end - 3; i >= start; i -= 3) {
      const x = bars[i] as number;
      context.lineTo(x + width, bars[i + 2] as number);
      context.lineTo(x, bars[i + 2] as number);
    }
    context.closePath();
  }
}

function paintRect(context: CanvasRenderingContext2D, mark: RectMark): void {
  context.save();
  context.beginPath();
  context.roundRect(mark.x, mark.y, mark.width, mark.height, mark.radius);
  context.globalAlpha = mark.alpha;
  if (mark.hatch) {
    context.clip();
    context.strokeStyle = mark.colour;
    context.lineWidth = 1;
    context.beginPath();
    for (const [x0, y0, x1, y1] of hatchLines(mark, mark.pattern ?? "diagonal")) {
      context.moveTo(x0, y0);
      context.lineTo(x1, y1);
    }
    context.stroke();
  } else {
    context.fillStyle = mark.colour;
    context.fill();
  }
  context.restore();
}
