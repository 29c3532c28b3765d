// Paints a drawing list as SVG text, for export: the same picture as on the screen. Pure.
import { kFamily } from "./font";
import type { CellsMark, Mark, MarkersMark, Picture, TextMark } from "./marks";
import { hatchTile, type ShapePath, shapePath, touching } from "./shapes";

interface Ids {
  next: number;
  prefix: string;
}

export const number = (value: number) => String(Math.round(value * 100) / 100);

// Signs that XML has no way to write.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const kNoXml = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

const escaped = (text: string) =>
  text
    .replace(kNoXml, "\ufffd")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");

// `prefix` keeps the names of several pictures on one page apart.
export function toSvg(picture: Picture, background: string, prefix = ""): string {
  const ids: Ids = { next: 0, prefix };
  const body = picture.marks.map((mark) => svgMark(mark, ids)).join("");
  const size = `${number(picture.width)} ${number(picture.height)}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size}" font-family="${escaped(kFamily)}"><rect width="100%" height="100%" fill="${background}"/>${body}</svg>`;
}

// The path of a line; a NaN pair lifts the pen.
export function path(points: Float64Array): string {
  const out: string[] = [];
  let down = false;
  for (let i = 0; i < points.length; i += 2) {
    const [x, y] = [points[i] as number, points[i + 1] as number];
    if (Number.isNaN(x)) down = false;
    else {
      out.push(down ? "L" : "M", number(x), " ", number(y));
      down = true;
    }
  }
  return out.join("");
}

export function band(upper: Float64Array, lower: Float64Array): string {
  let out = "";
  let start = 0;
  for (let i = 0; i <= upper.length; i += 2) {
    if (i < upper.length && !Number.isNaN(upper[i])) continue;
    if (i > start) {
      const back: number[] = [];
      for (let k = i - 2; k >= start; k -= 2) back.push(lower[k] as number, lower[k + 1] as number);
      out += `${path(upper.subarray(start, i))}${path(Float64Array.from(back)).replace("M", "L")}Z`;
    }
    start = i + 2;
  }
  return out;
}

// Neighbours are one outline.
function outline(bars: Float64Array, width: number): string {
  const out: string[] = [];
  for (let start = 0, end = 3; start < bars.length; start = end, end += 3) {
    while (end < bars.length && touching(bars, end, width)) end += 3;
    for (let i = start; i < end; i += 3) {
      const left = bars[i] as number;
      const top = number(bars[i + 1] as number);
      out.push(`${i === start ? `M${number(left)} ` : "V"}${top}H${number(left + width)}`);
    }
    for (let i = end - 3; i >= start; i -= 3)
      out.push(`V${number(bars[i + 2] as number)}H${number(bars[i] as number)}`);
    out.push("Z");
  }
  return out.join("");
}

function svgMark(mark: Mark, ids: Ids): string {
  switch (mark.kind) {
    case "clip": {
      const id = `${ids.prefix}c${ids.next++}`;
      const { x, y, width, height } = mark.rect;
      const inner = mark.marks.map((m) => svgMark(m, ids)).join("");
      return `<clipPath id="${id}"><rect x="${number(x)}" y="${number(y)}" width="${number(width)}" height="${number(height)}"/></clipPath><g clip-path="url(#${id})">${inner}</g>`;
    }
    case "line": {
      const dash = mark.dash.length > 0 ? ` stroke-dasharray="${mark.dash.join(" ")}"` : "";
      return `<path d="${path(mark.points)}" fill="none" stroke="${mark.colour}" stroke-width="${mark.width}" stroke-linejoin="round"${dash}${opacity(mark.alpha, "stroke-opacity")}/>`;
    }
    case "band":
      return `<path d="${band(mark.upper, mark.lower)}" fill="${mark.colour}" fill-opacity="${mark.alpha}"/>`;
    case "bars":
      if (mark.bars.length === 0) return "";
      return `<path d="${outline(mark.bars, mark.width)}" fill="${mark.colour}" fill-opacity="${mark.alpha}"/>`;
    case "dots": {
      let out = "";
      for (let i = 0; i < mark.points.length; i += 2) {
        out += `<circle cx="${number(mark.points[i] as number)}" cy="${number(mark.points[i + 1] as number)}" r="${mark.radius}"/>`;
      }
      return `<g fill="${mark.colour}"${opacity(mark.alpha, "fill-opacity")}>${out}</g>`;
    }
    case "markers":
      return markers(mark);
    case "cells":
      return cells(mark);
    case "rect": {
      const place = `x="${number(mark.x)}" y="${number(mark.y)}" width="${number(mark.width)}" height="${number(mark.height)}" rx="${mark.radius}"`;
      if (!mark.hatch) return `<rect ${place} fill="${mark.colour}" fill-opacity="${mark.alpha}"/>`;
      const id = `${ids.prefix}h${ids.next++}`;
      return `<pattern id="${id}" width="5" height="5" patternUnits="userSpaceOnUse"><path d="${hatchTile(mark.pattern ?? "diagonal")}" stroke="${mark.colour}" stroke-opacity="${mark.alpha}"/></pattern><rect ${place} fill="url(#${id})"/>`;
    }
    case "text":
      return text(mark);
  }
}

function text(mark: TextMark): string {
  const [x, y] = [number(mark.x), number(mark.y)];
  const turned = mark.turned ? ` transform="rotate(-90 ${x} ${y})"` : "";
  return `<text x="${x}" y="${y}" fill="${mark.colour}" font-size="${mark.size}" font-weight="${mark.weight}" text-anchor="${mark.anchor}"${turned}>${escaped(mark.text)}</text>`;
}

function opacity(alpha: number | undefined, name: string): string {
  return alpha === undefined || alpha === 1 ? "" : ` ${name}="${number(alpha)}"`;
}

// The path of a sign that is no circle.
export function signPath(
  found: Exclude<ShapePath, { kind: "circle" }>,
  { x, y, size }: { x: number; y: number; size: number },
): string {
  const paths = found.kind === "polygon" ? [found.path] : found.paths;
  const end = found.kind === "polygon" ? "Z" : "";
  const at = paths.map((part) =>
    part.map(([dx, dy]) => `${number(x + dx * size)} ${number(y + dy * size)}`),
  );
  return at.map((part) => `M${part.join("L")}${end}`).join("");
}

function markers({ points, shape, colour, background, size }: MarkersMark): string {
  const found = shapePath(shape);
  let out = "";
  for (let i = 0; i < points.length; i += 2) {
    const [x, y] = [points[i] as number, points[i + 1] as number];
    if (found.kind === "circle") {
      out += `<circle cx="${number(x)}" cy="${number(y)}" r="${number(size / 2)}"/>`;
      continue;
    }
    out += `<path d="${signPath(found, { x, y, size })}"/>`;
  }
  const open = found.kind === "circle" && found.open;
  if (found.kind === "strokes")
    return `<g fill="none" stroke="${colour}" stroke-width="1.2">${out}</g>`;
  const stroke = open ? ` stroke="${colour}" stroke-width="1.2"` : "";
  return `<g fill="${open ? background : colour}"${stroke}>${out}</g>`;
}

// The path of each colour. Neighbours of one colour in a row are one rectangle.
export function cellPaths(mark: CellsMark): [colour: string, path: string][] {
  const { x, y, width, height, columns, rows, cells, colours } = mark;
  const [w, h] = [width / columns, height / rows];
  const paths = new Map<number, string>();
  for (let row = 0; row < rows; row++) {
    for (let a = 0, b = 0; a < columns; a = b) {
      const level = cells[row * columns + a] as number;
      while (b < columns && cells[row * columns + b] === level) b++;
      if (level === 0) continue;
      const rect = `M${number(x + a * w)} ${number(y + row * h)}h${number((b - a) * w)}v${number(h)}h${number((a - b) * w)}z`;
      paths.set(level, (paths.get(level) ?? "") + rect);
    }
  }
  return [...paths]
    .sort(([a], [b]) => a - b)
    .map(([level, d]) => [colours[level - 1] as string, d]);
}

function cells(mark: CellsMark): string {
  const out = cellPaths(mark).map(([colour, d]) => `<path fill="${colour}" d="${d}"/>`);
  return `<g shape-rendering="crispEdges">${out.join("")}</g>`;
}
