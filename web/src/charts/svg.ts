// Paints a drawing list as SVG text, for export: the same picture as on the screen. Pure.
import { kFamily } from "./font";
import type { Mark, Picture } from "./marks";

const number = (value: number) => String(Math.round(value * 100) / 100);

const escaped = (text: string) =>
  text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");

export function toSvg(picture: Picture, background: string): string {
  const ids = { next: 0 };
  const body = picture.marks.map((mark) => svgMark(mark, ids)).join("");
  const size = `${number(picture.width)} ${number(picture.height)}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size}" font-family="${escaped(kFamily)}"><rect width="100%" height="100%" fill="${background}"/>${body}</svg>`;
}

function path(points: Float64Array): string {
  let out = "";
  let down = false;
  for (let i = 0; i < points.length; i += 2) {
    const [x, y] = [points[i] as number, points[i + 1] as number];
    if (Number.isNaN(x)) down = false;
    else {
      out += `${down ? "L" : "M"}${number(x)} ${number(y)}`;
      down = true;
    }
  }
  return out;
}

function band(upper: Float64Array, lower: Float64Array): string {
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

function svgMark(mark: Mark, ids: { next: number }): string {
  switch (mark.kind) {
    case "clip": {
      const id = `c${ids.next++}`;
      const { x, y, width, height } = mark.rect;
      const inner = mark.marks.map((m) => svgMark(m, ids)).join("");
      return `<clipPath id="${id}"><rect x="${number(x)}" y="${number(y)}" width="${number(width)}" height="${number(height)}"/></clipPath><g clip-path="url(#${id})">${inner}</g>`;
    }
    case "line": {
      const dash = mark.dash.length > 0 ? ` stroke-dasharray="${mark.dash.join(" ")}"` : "";
      return `<path d="${path(mark.points)}" fill="none" stroke="${mark.colour}" stroke-width="${mark.width}" stroke-linejoin="round"${dash}/>`;
    }
    case "band":
      return `<path d="${band(mark.upper, mark.lower)}" fill="${mark.colour}" fill-opacity="${mark.alpha}"/>`;
    case "dots": {
      let out = "";
      for (let i = 0; i < mark.points.length; i += 2) {
        out += `<circle cx="${number(mark.points[i] as number)}" cy="${number(mark.points[i + 1] as number)}" r="${mark.radius}"/>`;
      }
      return `<g fill="${mark.colour}">${out}</g>`;
    }
    case "rect": {
      const place = `x="${number(mark.x)}" y="${number(mark.y)}" width="${number(mark.width)}" height="${number(mark.height)}" rx="${mark.radius}"`;
      if (!mark.hatch) return `<rect ${place} fill="${mark.colour}" fill-opacity="${mark.alpha}"/>`;
      const id = `h${ids.next++}`;
      return `<pattern id="${id}" width="5" height="5" patternUnits="userSpaceOnUse"><path d="M0 5L5 0" stroke="${mark.colour}" stroke-opacity="${mark.alpha}"/></pattern><rect ${place} fill="url(#${id})"/>`;
    }
    case "text":
      return `<text x="${number(mark.x)}" y="${number(mark.y)}" fill="${mark.colour}" font-size="${mark.size}" font-weight="${mark.weight}" text-anchor="${mark.anchor}">${escaped(mark.text)}</text>`;
  }
}
