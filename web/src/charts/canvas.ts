// Paints a drawing list on a canvas in device pixels. Knows nothing of charts.
import { kFamily } from "./font";
import type { BandMark, Mark, Picture, RectMark } from "./marks";

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
  for (const mark of picture.marks) paintMark(context, mark);
}

function paintMark(context: CanvasRenderingContext2D, mark: Mark): void {
  switch (mark.kind) {
    case "clip":
      context.save();
      context.beginPath();
      context.rect(mark.rect.x, mark.rect.y, mark.rect.width, mark.rect.height);
      context.clip();
      for (const inner of mark.marks) paintMark(context, inner);
      context.restore();
      return;
    case "line":
      context.beginPath();
      trace(context, mark.points);
      context.strokeStyle = mark.colour;
      context.lineWidth = mark.width;
      context.setLineDash(mark.dash as number[]);
      context.stroke();
      context.setLineDash([]);
      return;
    case "band":
      paintBand(context, mark);
      return;
    case "dots":
      context.fillStyle = mark.colour;
      context.beginPath();
      for (let i = 0; i < mark.points.length; i += 2) {
        const [x, y] = [mark.points[i] as number, mark.points[i + 1] as number];
        context.moveTo(x + mark.radius, y);
        context.arc(x, y, mark.radius, 0, 2 * Math.PI);
      }
      context.fill();
      return;
    case "rect":
      paintRect(context, mark);
      return;
    case "text":
      context.font = `${mark.weight} ${mark.size}px ${kFamily}`;
      context.textAlign = mark.anchor === "middle" ? "center" : mark.anchor;
      context.fillStyle = mark.colour;
      context.fillText(mark.text, mark.x, mark.y);
  }
}

function trace(context: CanvasRenderingContext2D, points: Float64Array): void {
  let down = false;
  for (let i = 0; i < points.length; i += 2) {
    const [x, y] = [points[i] as number, points[i + 1] as number];
    if (Number.isNaN(x)) down = false;
    else if (down) context.lineTo(x, y);
    else {
      context.moveTo(x, y);
      down = true;
    }
  }
}

function paintBand(context: CanvasRenderingContext2D, mark: BandMark): void {
  const { upper, lower } = mark;
  context.save();
  context.globalAlpha = mark.alpha;
  context.fillStyle = mark.colour;
  context.strokeStyle = mark.colour;
  context.lineWidth = 0.6;
  context.beginPath();
  let start = 0;
  for (let i = 0; i <= upper.length; i += 2) {
    if (i < upper.length && !Number.isNaN(upper[i])) continue;
    for (let k = start; k < i; k += 2) {
      if (k === start) context.moveTo(upper[k] as number, upper[k + 1] as number);
      else context.lineTo(upper[k] as number, upper[k + 1] as number);
    }
    for (let k = i - 2; k >= start; k -= 2)
      context.lineTo(lower[k] as number, lower[k + 1] as number);
    if (i > start) context.closePath();
    start = i + 2;
  }
  context.fill();
  context.restore();
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
    const from = Math.floor((mark.x - mark.height) / 5) * 5;
    for (let x = from; x < mark.x + mark.width; x += 5) {
      context.moveTo(x, mark.y + mark.height);
      context.lineTo(x + mark.height, mark.y);
    }
    context.stroke();
  } else {
    context.fillStyle = mark.colour;
    context.fill();
  }
  context.restore();
}
