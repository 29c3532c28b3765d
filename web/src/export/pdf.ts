// Pictures as the pages of a PDF file: vectors, and the glyphs that their texts need. Written from the drawing list, as
// svg.ts is, so that the page and `corral plot` give the same bytes. No date. Pure.
import { zlibSync } from "fflate";
import type { Mark, MarkersMark, Picture, Rect, RectMark, TextMark } from "../charts/marks";
import { hatchLines, shapePath } from "../charts/shapes";
import { band, cellPaths, number, path, signPath } from "../charts/svg";
import type { Figure } from "./figure";
import { joined, readTtf, type Ttf } from "./ttf";

export interface PdfFonts {
  // TrueType files of the weights 400 and 600.
  regular: Uint8Array;
  bold: Uint8Array;
}

interface Face {
  // Its name on the page, and in the file.
  name: "F4" | "F6";
  title: string;
  ttf: Ttf;
  // Glyphs in use, with the code point that each was drawn for.
  used: Map<number, number>;
}

interface Drawing {
  out: string[];
  faces: { regular: Face; bold: Face };
  // In use.
  alphas: Set<number>;
}

// A part of a file: ASCII text, or bytes.
type Piece = string | Uint8Array;

export interface About {
  title: string;
  subject: string;
  keywords: string;
  // 32 hexadecimal digits that tell files apart.
  id: string;
  // A line of ASCII near the beginning, for programs.
  comment?: string;
}

// With the data's hash and the link in its properties.
export function pdfOf({ picture, background, hash, link }: Figure, fonts: PdfFonts): Uint8Array {
  const about = { title: "Corral figure", subject: link, keywords: `sha256:${hash}` };
  return pdfOfPages([picture], background, { ...about, id: hash.slice(0, 32) }, fonts);
}

export function pdfOfPages(
  pages: readonly Picture[],
  background: string,
  about: About,
  fonts: PdfFonts,
): Uint8Array {
  const face = (name: Face["name"], title: string, file: Uint8Array): Face => ({
    ...{ name, title, ttf: readTtf(file) },
    used: new Map(),
  });
  const faces = {
    regular: face("F4", "CORRAL+Inter-Regular", fonts.regular),
    bold: face("F6", "CORRAL+Inter-SemiBold", fonts.bold),
  };
  const alphas = new Set<number>();
  const drawn = pages.map(({ width, height, marks }) => {
    const drawing: Drawing = { out: [], faces, alphas };
    // The picture counts downwards, a page upwards.
    drawing.out.push(`1 0 0 -1 0 ${number(height)} cm`);
    const ground = { kind: "rect", x: 0, y: 0, width, height, colour: background } as const;
    draw({ ...ground, alpha: 1, radius: 0, hatch: false }, drawing);
    for (const mark of marks) draw(mark, drawing);
    return { width, height, content: drawing.out.join("\n") };
  });
  return fileOf(drawn, about, { out: [], faces, alphas });
}

const kCellEdge = 0.5;

function draw(mark: Mark, to: Drawing): void {
  const { out } = to;
  switch (mark.kind) {
    case "clip": {
      out.push("q", `${rectangle(mark.rect)} W n`);
      for (const inner of mark.marks) draw(inner, to);
      out.push("Q");
      return;
    }
    case "line": {
      const dash = `[${mark.dash.join(" ")}] 0 d`;
      styled({ stroke: mark.colour, width: mark.width, alpha: mark.alpha ?? 1 }, to, () =>
        out.push(`1 j ${dash}`, `${operators(path(mark.points))} S`),
      );
      return;
    }
    case "band":
      styled({ fill: mark.colour, alpha: mark.alpha }, to, () =>
        out.push(`${operators(band(mark.upper, mark.lower))} f`),
      );
      return;
    case "bars":
      if (mark.bars.length === 0) return;
      styled({ fill: mark.colour, alpha: mark.alpha }, to, () => {
        for (let i = 0; i < mark.bars.length; i += 3) {
          const [x, y, bottom] = [mark.bars[i], mark.bars[i + 1], mark.bars[i + 2]] as Triple;
          out.push(rectangle({ x, y, width: mark.width, height: bottom - y }));
        }
        out.push("f");
      });
      return;
    case "dots":
      // Lines of no length with round ends, one by one, so that they darken one another.
      styled({ stroke: mark.colour, width: 2 * mark.radius, alpha: mark.alpha ?? 1 }, to, () => {
        out.push("1 J");
        for (let i = 0; i < mark.points.length; i += 2) {
          const at = `${number(mark.points[i] as number)} ${number(mark.points[i + 1] as number)}`;
          out.push(`${at} m ${at} l S`);
        }
      });
      return;
    case "markers":
      drawMarkers(mark, to);
      return;
    case "cells":
      // With a thin edge of their own colour, or the ground would shine through between two.
      for (const [colour, d] of cellPaths(mark))
        styled({ fill: colour, stroke: colour, width: kCellEdge, alpha: 1 }, to, () =>
          out.push(`${rectangles(d)}B`),
        );
      return;
    case "rect":
      drawRect(mark, to);
      return;
    case "text":
      drawText(mark, to);
  }
}

interface Look {
  fill?: string;
  stroke?: string;
  width?: number;
  alpha: number;
}

function styled({ fill, stroke, width, alpha }: Look, to: Drawing, inner: () => void): void {
  const { out, alphas } = to;
  out.push("q");
  if (fill !== undefined) out.push(`${channels(fill)} rg`);
  if (stroke !== undefined) out.push(`${channels(stroke)} RG ${width} w`);
  if (alpha !== 1) {
    alphas.add(alpha);
    out.push(`${alphaName(alpha)} gs`);
  }
  inner();
  out.push("Q");
}

const alphaName = (alpha: number) => `/A${Math.round(alpha * 1000)}`;

// "#rrggbb" as three shares.
const channels = (hex: string) =>
  [1, 3, 5]
    .map((at) =>
      String(Math.round((Number.parseInt(hex.slice(at, at + 2), 16) / 255) * 1000) / 1000),
    )
    .join(" ");

type Triple = [number, number, number];

const rectangle = ({ x, y, width, height }: Rect) =>
  `${number(x)} ${number(y)} ${number(width)} ${number(height)} re`;

// The length of a curve's handles that comes close to a quarter of a circle.
const kRound = 0.5523;

function circle({ x, y }: { x: number; y: number }, r: number): string {
  return rounded({ x: x - r, y: y - r, width: 2 * r, height: 2 * r }, r);
}

function rounded({ x, y, width, height }: Rect, radius: number): string {
  const r = Math.min(radius, width / 2, height / 2);
  if (!(r > 0)) return rectangle({ x, y, width, height });
  const [right, bottom, near] = [x + width, y + height, r * (1 - kRound)];
  const points = (...all: number[]) => all.map(number).join(" ");
  return [
    `${points(x + r, y)} m ${points(right - r, y)} l`,
    `${points(right - near, y, right, y + near, right, y + r)} c`,
    `${points(right, bottom - r)} l`,
    `${points(right, bottom - near, right - near, bottom, right - r, bottom)} c`,
    `${points(x + r, bottom)} l`,
    `${points(x + near, bottom, x, bottom - near, x, bottom - r)} c`,
    `${points(x, y + r)} l`,
    `${points(x, y + near, x + near, y, x + r, y)} c h`,
  ].join(" ");
}

// A path of svg.ts (M, L, Z) in PDF's words. Numbers stay as they are written: an interpreter takes long to read them.
const operators = (d: string): string =>
  d
    .split("M")
    .slice(1)
    .map((part) => {
      const closed = part.endsWith("Z");
      const points = (closed ? part.slice(0, -1) : part).split("L").join(" l ");
      const first = points.indexOf(" l ");
      const drawn =
        first < 0 ? `${points} m` : `${points.slice(0, first)} m${points.slice(first + 2)} l`;
      return closed ? `${drawn} h` : drawn;
    })
    .join(" ");

// A path of cells (M, h, v, h, z each).
const rectangles = (d: string): string =>
  d.replace(/M([^h]*)h([^v]*)v([^h]*)h[^z]*z/g, "$1 $2 $3 re ");

const kSignStroke = 1.2;

function drawMarkers({ points, shape, colour, background, size }: MarkersMark, to: Drawing): void {
  const found = shapePath(shape);
  const open = found.kind === "circle" && found.open;
  const stroked = open || found.kind === "strokes";
  const look = { fill: open ? background : colour, alpha: 1 };
  const paint = open ? "B" : stroked ? "S" : "f";
  styled(stroked ? { ...look, stroke: colour, width: kSignStroke } : look, to, () => {
    for (let i = 0; i < points.length; i += 2) {
      const [x, y] = [points[i] as number, points[i + 1] as number];
      const sign =
        found.kind === "circle"
          ? circle({ x, y }, size / 2)
          : operators(signPath(found, { x, y, size }));
      to.out.push(`${sign} ${paint}`);
    }
  });
}

function drawRect(mark: RectMark, to: Drawing): void {
  const shape = rounded(mark, mark.radius);
  if (!mark.hatch) {
    styled({ fill: mark.colour, alpha: mark.alpha }, to, () => to.out.push(`${shape} f`));
    return;
  }
  styled({ stroke: mark.colour, width: 1, alpha: mark.alpha }, to, () => {
    to.out.push(`${shape} W n`);
    for (const [x0, y0, x1, y1] of hatchLines(mark, mark.pattern ?? "diagonal"))
      to.out.push(`${number(x0)} ${number(y0)} m ${number(x1)} ${number(y1)} l`);
    to.out.push("S");
  });
}

const hex4 = (value: number) => value.toString(16).padStart(4, "0");

function drawText(mark: TextMark, to: Drawing): void {
  const { name, ttf, used } = mark.weight >= 600 ? to.faces.bold : to.faces.regular;
  let [glyphs, width] = ["", 0];
  for (let i = 0; i < mark.text.length; i++) {
    const code = mark.text.codePointAt(i) as number;
    if (code > 0xffff) i++;
    const glyph = ttf.glyphs.get(code) ?? 0;
    used.set(glyph, used.get(glyph) ?? code);
    glyphs += hex4(glyph);
    width += ttf.advance(glyph);
  }
  if (glyphs === "") return;
  const before = mark.anchor === "start" ? 0 : mark.anchor === "end" ? 1 : 0.5;
  const shift = (before * width * mark.size) / ttf.unitsPerEm;
  const place = mark.turned
    ? `0 -1 -1 0 ${number(mark.x)} ${number(mark.y + shift)}`
    : `1 0 0 -1 ${number(mark.x - shift)} ${number(mark.y)}`;
  to.out.push(
    `BT ${channels(mark.colour)} rg /${name} ${number(mark.size)} Tf ${place} Tm <${glyphs}> Tj ET`,
  );
}

// ---- the file

const encoder = new TextEncoder();
const bytesOf = (piece: Piece) => (typeof piece === "string" ? encoder.encode(piece) : piece);

// Any text as PDF's UTF-16.
const quoted = (text: string) =>
  `<feff${Array.from({ length: text.length }, (_, i) => hex4(text.charCodeAt(i))).join("")}>`;

function stream(content: Piece, entries = ""): Piece[] {
  const packed = zlibSync(bytesOf(content), { level: 1 });
  const head = `<<${entries} /Filter /FlateDecode /Length ${packed.length}>>`;
  return [`${head}\nstream\n`, packed, "\nendstream"];
}

// The objects of a font that is object `first`.
function fontObjects({ title, ttf, used }: Face, first: number): Piece[][] {
  const em = (value: number) => Math.round((value * 1000) / ttf.unitsPerEm);
  const glyphs = [...used.keys()].sort((a, b) => a - b);
  const widths = glyphs.map((glyph) => `${glyph} [${em(ttf.advance(glyph))}]`).join(" ");
  const file = ttf.subset(glyphs);
  const system = "/CIDSystemInfo <</Registry (Adobe) /Ordering (Identity) /Supplement 0>>";
  const metrics = `/Ascent ${em(ttf.ascent)} /Descent ${em(ttf.descent)} /CapHeight ${em(ttf.ascent)}`;
  return [
    [
      `<</Type /Font /Subtype /Type0 /BaseFont /${title} /Encoding /Identity-H /DescendantFonts [${first + 1} 0 R] /ToUnicode ${first + 4} 0 R>>`,
    ],
    [
      `<</Type /Font /Subtype /CIDFontType2 /BaseFont /${title} ${system} /FontDescriptor ${first + 2} 0 R /DW 0 /W [${widths}] /CIDToGIDMap /Identity>>`,
    ],
    [
      `<</Type /FontDescriptor /FontName /${title} /Flags 4 /FontBBox [${ttf.box.map(em).join(" ")}] /ItalicAngle 0 ${metrics} /StemV 80 /FontFile2 ${first + 3} 0 R>>`,
    ],
    stream(file, `/Length1 ${file.length}`),
    stream(unicodeMap(used)),
  ];
}

const kMostRows = 100;

// So that text can be selected and searched.
function unicodeMap(used: ReadonlyMap<number, number>): string {
  const utf16 = (code: number) =>
    code > 0xffff
      ? hex4(0xd800 + ((code - 0x10000) >> 10)) + hex4(0xdc00 + ((code - 0x10000) & 0x3ff))
      : hex4(code);
  // The first glyph stands for all signs that the font lacks.
  const rows = [...used]
    .filter(([glyph]) => glyph !== 0)
    .sort(([a], [b]) => a - b)
    .map(([glyph, code]) => `<${hex4(glyph)}> <${utf16(code)}>`);
  const parts: string[] = [];
  for (let i = 0; i < rows.length; i += kMostRows) {
    const some = rows.slice(i, i + kMostRows);
    parts.push(`${some.length} beginbfchar\n${some.join("\n")}\nendbfchar`);
  }
  return `/CIDInit /ProcSet findresource begin
12 dict begin
begincmap
/CIDSystemInfo <</Registry (Adobe) /Ordering (UCS) /Supplement 0>> def
/CMapName /Adobe-Identity-UCS def
/CMapType 2 def
1 begincodespacerange
<0000> <ffff>
endcodespacerange
${parts.join("\n")}
endcmap
CMapName currentdict /CMap defineresource pop
end
end`;
}

const kFontObjects = 5;

interface DrawnPage {
  width: number;
  height: number;
  content: string;
}

// Objects: the catalogue, the list of pages, each page with its content, the properties, the fonts.
function fileOf(pages: readonly DrawnPage[], about: About, { faces, alphas }: Drawing): Uint8Array {
  const used = [faces.regular, faces.bold].filter((face) => face.used.size > 0);
  const properties = 3 + 2 * pages.length;
  const firstFont = properties + 1;
  const fonts = used.map((face, i) => `/${face.name} ${firstFont + i * kFontObjects} 0 R`);
  const states = [...alphas]
    .sort((a, b) => a - b)
    .map((alpha) => `${alphaName(alpha)} <</ca ${number(alpha)} /CA ${number(alpha)}>>`);
  const resources = `<</Font <<${fonts.join(" ")}>> /ExtGState <<${states.join(" ")}>>>>`;
  const kids = pages.map((_, i) => `${3 + 2 * i} 0 R`).join(" ");
  const objects: Piece[][] = [
    ["<</Type /Catalog /Pages 2 0 R>>"],
    [`<</Type /Pages /Kids [${kids}] /Count ${pages.length}>>`],
    ...pages.flatMap(({ width, height, content }, i) => {
      const box = `/MediaBox [0 0 ${number(width)} ${number(height)}]`;
      const page = `<</Type /Page /Parent 2 0 R ${box} /Resources ${resources} /Contents ${4 + 2 * i} 0 R>>`;
      return [[page], stream(content)];
    }),
    [
      `<</Title ${quoted(about.title)} /Subject ${quoted(about.subject)} /Keywords ${quoted(about.keywords)}>>`,
    ],
    ...used.flatMap((face, i) => fontObjects(face, firstFont + i * kFontObjects)),
  ];
  return written(objects, properties, about);
}

// Objects from number 1 on, which is the catalogue.
function written(objects: readonly Piece[][], properties: number, about: About): Uint8Array {
  const { id, comment } = about;
  const parts: Uint8Array[] = [];
  let length = 0;
  const add = (piece: Piece) => {
    const bytes = bytesOf(piece);
    parts.push(bytes);
    length += bytes.length;
  };
  add("%PDF-1.5\n");
  // Tells that the file has binary parts.
  add(Uint8Array.of(0x25, 0xe2, 0xe3, 0xcf, 0xd3, 0x0a));
  if (comment !== undefined) add(`% ${comment}\n`);
  const places = objects.map((object, i) => {
    const place = length;
    add(`${i + 1} 0 obj\n`);
    for (const piece of object) add(piece);
    add("\nendobj\n");
    return place;
  });
  const start = length;
  const rows = places.map((place) => `${String(place).padStart(10, "0")} 00000 n \n`).join("");
  const count = objects.length + 1;
  add(`xref\n0 ${count}\n0000000000 65535 f \n${rows}`);
  add(`trailer\n<</Size ${count} /Root 1 0 R /Info ${properties} 0 R /ID [<${id}> <${id}>]>>\n`);
  add(`startxref\n${start}\n%%EOF\n`);
  return joined(parts);
}
