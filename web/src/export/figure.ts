// A chart as a figure for a paper or a slide: the same pure drawing as on the page, at a size in points, as SVG with
// its fonts inside, as PDF with vectors and fonts, or as pixels. The same data give the same bytes; the drawn data are
// named by their hash, and by the link that shows them again.
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { paint } from "../charts/canvas";
import { type ChartSpec, drawChart } from "../charts/chart";
import type { FontMetrics } from "../charts/font";
import type { Picture } from "../charts/marks";
import type { ChartLine } from "../charts/spec";
import { toSvg } from "../charts/svg";
import { type ChartTheme, kDark, kLight, withPalette } from "../charts/theme";
import { drawnCsv } from "./csv";
import type { FigureOptions } from "./presets";

export interface FigureSource {
  lines: readonly ChartLine[];
  spec: ChartSpec;
  font: FontMetrics;
  // The address that shows the chart.
  link: string;
  xName: string;
  yName: string;
  // Name of the right axis.
  y2Name?: string;
}

export interface Figure {
  picture: Picture;
  background: string;
  // SHA-256 of the drawn numbers, as CSV.
  hash: string;
  link: string;
}

// Any other picture as a figure; `table`: the drawn numbers.
export function figureOf(
  picture: Picture,
  at: { background: string; link: string; table: readonly (readonly string[])[] },
): Figure {
  const { background, link, table } = at;
  const text = table.map((row) => row.join("\t")).join("\n");
  return { picture, background, link, hash: bytesToHex(sha256(utf8ToBytes(text))) };
}

// Colours of lines follow the theme they are drawn on.
function recoloured(lines: readonly ChartLine[], spec: ChartSpec, theme: ChartTheme): ChartLine[] {
  const index = (colour: string) => spec.theme.series.indexOf(colour);
  return lines.map((line) => {
    const at = index(line.colour);
    return { ...line, colour: at < 0 ? theme.ink2 : (theme.series[at] as string) };
  });
}

export function makeFigure(source: FigureSource, options: FigureOptions): Figure {
  const { width, height, dark, palette, axes, ...rest } = options;
  const { xName, yName, y2Name } = source;
  const names = { x: xName, y: yName, ...(y2Name === undefined ? {} : { y2: y2Name }) };
  const style = axes ? { ...rest, axes: names } : rest;
  const theme = withPalette(dark ? kDark : kLight, palette);
  const lines = recoloured(
    source.lines.filter((line) => !line.hidden),
    source.spec,
    theme,
  );
  const spec: ChartSpec = { ...source.spec, width, height, theme, style };
  const picture = drawChart(lines, spec, source.font);
  const hash = bytesToHex(sha256(utf8ToBytes(drawnCsv(lines, source.xName))));
  return { picture, background: theme.background, hash, link: source.link };
}

const escaped = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

let face: Promise<string> | undefined;

function fontFace(): Promise<string> {
  face ??= loadedFace();
  face.catch(() => {
    face = undefined;
  });
  return face;
}

async function loadedFace(): Promise<string> {
  const url = new URL(
    "@fontsource-variable/inter/files/inter-latin-wght-normal.woff2",
    import.meta.url,
  );
  const bytes = new Uint8Array(await (await fetch(url)).arrayBuffer());
  return `@font-face{font-family:"Inter Variable";font-weight:100 900;src:url(data:font/woff2;base64,${base64(bytes)}) format("woff2")}`;
}

export function base64(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.length; i += 0x8000)
    text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(text);
}

// The picture with its size in points, its source, and `style` inside.
function svgText(figure: Figure, style: string): string {
  const { picture, background, hash, link } = figure;
  const plain = toSvg(picture, background);
  const end = plain.indexOf(">");
  const size = ` width="${picture.width}pt" height="${picture.height}pt"`;
  const about = `<metadata>data sha256:${hash}; ${escaped(link)}</metadata>`;
  return `${plain.slice(0, end)}${size}>${about}${style}${plain.slice(end + 1)}`;
}

export async function svgOf(figure: Figure): Promise<string> {
  return svgText(figure, `<style>${await fontFace()}</style>`);
}

// For what brings the fonts itself.
export const plainSvg = (figure: Figure): string => svgText(figure, "");

const kPixelsPerPoint = 300 / 72;

export async function pixelsOf(figure: Figure, type: "image/png" | "image/jpeg"): Promise<Blob> {
  const { picture, background } = figure;
  const canvas = document.createElement("canvas");
  // In the document, so that the page's font is used.
  canvas.className = "measuring";
  canvas.style.width = `${picture.width}px`;
  canvas.style.height = `${picture.height}px`;
  document.body.append(canvas);
  try {
    const { width, height } = picture;
    const ground = { kind: "rect", x: 0, y: 0, width, height } as const;
    const full = { ...ground, colour: background, alpha: 1, radius: 0, hatch: false };
    paint(canvas, { ...picture, marks: [full, ...picture.marks] }, kPixelsPerPoint);
    return await new Promise((resolve, reject) =>
      canvas.toBlob(
        (blob) => (blob === null ? reject(new Error("the picture is too large")) : resolve(blob)),
        type,
        0.92,
      ),
    );
  } finally {
    canvas.remove();
  }
}
