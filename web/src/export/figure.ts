// A chart as a figure for a paper or a slide: the same drawing as on the page, at a size in points, as SVG with its font
// inside (pdf.ts: as PDF; pixels.ts: as pixels). The same data give the same bytes, on the page and by `corral plot`;
// the drawn data are named by their hash, and by the link that shows them again. Pure.
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { type ChartSpec, drawChart } from "../charts/chart";
import { kInter } from "../charts/inter";
import type { Picture } from "../charts/marks";
import type { ChartLine, ChartPicture } from "../charts/spec";
import { toSvg } from "../charts/svg";
import {
  type ChartTheme,
  kDark,
  kLight,
  seriesColour,
  seriesIndex,
  withPalette,
} from "../charts/theme";
import { drawnCsv } from "./csv";
import type { FigureOptions } from "./presets";

export interface FigureSource {
  lines: readonly ChartLine[];
  spec: ChartSpec;
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
  // SHA-256 of the drawn numbers.
  hash: string;
  link: string;
}

export interface ChartFigure extends Figure {
  picture: ChartPicture;
  // The drawn numbers.
  csv: string;
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
  return lines.map((line) => {
    const at = seriesIndex(spec.theme, line.colour);
    return { ...line, colour: at < 0 ? theme.ink2 : seriesColour(theme, at) };
  });
}

export function makeFigure(source: FigureSource, options: FigureOptions): ChartFigure {
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
  const picture = drawChart(lines, spec, kInter);
  const csv = drawnCsv(lines, source.xName);
  const hash = bytesToHex(sha256(utf8ToBytes(csv)));
  return { picture, background: theme.background, csv, hash, link: source.link };
}

const escaped = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

// The rule that makes a font file (WOFF2, base64) the font of figures.
export const faceRule = (face: string) =>
  `@font-face{font-family:"Inter Variable";font-weight:100 900;src:url(data:font/woff2;base64,${face}) format("woff2")}`;

// The figure as SVG. `face`: the font file that it brings along; without it, the reader's font is used. `prefix`: as in
// toSvg.
export function svgText(figure: Figure, face?: string, prefix = ""): string {
  const { picture, background, hash, link } = figure;
  const plain = toSvg(picture, background, prefix);
  const end = plain.indexOf(">");
  const size = ` width="${picture.width}pt" height="${picture.height}pt"`;
  const about = `<metadata>data sha256:${hash}; ${escaped(link)}</metadata>`;
  const style = face === undefined ? "" : `<style>${faceRule(face)}</style>`;
  return `${plain.slice(0, end)}${size}>${about}${style}${plain.slice(end + 1)}`;
}
