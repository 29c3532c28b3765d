// A report of `corral report` as PDF: headings, paragraphs, tables and figures, one below the other, on pages of A4. A
// table goes on on the next page with its head. Pure.
import type { FontMetrics } from "../charts/font";
import { kInter } from "../charts/inter";
import type { Mark, MarkerShape, Picture, TextMark } from "../charts/marks";
import { type About, type PdfFonts, pdfOfPages } from "../export/pdf";

export type Block =
  | { kind: "heading"; level: number; text: string }
  | { kind: "text" | "command"; text: string }
  | { kind: "table"; head: string[]; rows: string[][] }
  | { kind: "figure"; figure: Drawn };

// A figure of src/cli/figure.h, in its own units.
export interface Drawn {
  width: number;
  height: number;
  bands: { x: number; y: number; width: number; height: number }[];
  lines: { points: number[]; colour: string; width: number }[];
  marks: { points: number[]; colour: string; shape: MarkerShape }[];
  texts: { x: number; y: number; text: string; anchor: TextMark["anchor"] }[];
}

export interface Document {
  title: string;
  blocks: Block[];
  id: string;
  comment: string;
}

const kPage = { width: 595, height: 842 };
const kMargin = 54;
const kRoom = kPage.width - 2 * kMargin;
const kBottom = kPage.height - kMargin;
const kBody = 9;
const kSmall = 8;
const kLine = 1.4;
const kHeads = [16, 12, 10.5, 9.5];
const kGap = 10;
const kInk = "#1b1c1e";
const kQuiet = "#62666b";
const kRule = "#d4d4cf";
const kGround = "#f4f4f1";
const kBand = "#e8eef5";

interface Look {
  size: number;
  weight: number;
}

// Lines that fit; a word that is too long is cut.
export function wrapped(text: string, room: number, look: Look, font: FontMetrics = kInter) {
  const fits = (line: string) => font.width(line, look.size, look.weight) <= room;
  const lines: string[] = [];
  let line = "";
  for (let word of text.split(/\s+/)) {
    if (line !== "" && fits(`${line} ${word}`)) {
      line = `${line} ${word}`;
      continue;
    }
    if (line !== "") lines.push(line);
    while (!fits(word)) {
      let keep = word.length - 1;
      while (keep > 1 && !fits(word.slice(0, keep))) keep--;
      lines.push(word.slice(0, keep));
      word = word.slice(keep);
    }
    line = word;
  }
  return [...lines, line];
}

// As wide as their texts where that fits; else those that are wider than an equal part of the rest share it.
export function columnWidths(natural: readonly number[], room: number): number[] {
  const order = natural.map((_, i) => i).sort((a, b) => (natural[a] ?? 0) - (natural[b] ?? 0));
  const widths = [...natural];
  let [left, count] = [room, natural.length];
  for (const i of order) {
    const width = Math.min(natural[i] ?? 0, left / count);
    widths[i] = width;
    left -= width;
    count--;
  }
  return widths;
}

const isNumber = (text: string) => text === "" || text === "–" || /^[0-9+\-±]/.test(text);

class Pages {
  readonly pages: Mark[][] = [[]];
  y = kMargin;

  add(mark: Mark) {
    this.pages[this.pages.length - 1]?.push(mark);
  }
  // Goes on on the next page unless so much fits below.
  need(height: number): boolean {
    if (this.y + height <= kBottom || this.y === kMargin) return false;
    this.pages.push([]);
    this.y = kMargin;
    return true;
  }
  write(text: string, x: number, look: Look, more: Partial<TextMark> = {}) {
    const y = this.y + look.size;
    this.add({
      ...{ kind: "text", x, y, text, colour: kInk, anchor: "start", ...look, turned: false },
      ...more,
    });
  }
}

function addLines(to: Pages, lines: readonly string[], x: number, look: Look) {
  for (const line of lines) {
    to.need(look.size * kLine);
    to.write(line, x, look);
    to.y += look.size * kLine;
  }
}

function addHeading(to: Pages, level: number, text: string) {
  const look = { size: kHeads[Math.min(level, kHeads.length - 1)] ?? kBody, weight: 600 };
  to.y += to.y === kMargin ? 0 : look.size;
  // Not alone at the end of a page.
  to.need(look.size * kLine + 4 * kBody * kLine);
  addLines(to, wrapped(text, kRoom, look), kMargin, look);
  to.y += 3;
}

function addCommand(to: Pages, text: string) {
  const look = { size: kSmall, weight: 400 };
  const lines = wrapped(text, kRoom - 2 * kGap, look);
  const height = lines.length * kSmall * kLine + kGap;
  to.need(height);
  const box = { x: kMargin, y: to.y, width: kRoom, height };
  to.add({ kind: "rect", ...box, colour: kGround, alpha: 1, radius: 2, hatch: false });
  to.y += kGap / 2;
  addLines(to, lines, kMargin + kGap, look);
  to.y += kGap;
}

function addTable(to: Pages, head: readonly string[], rows: readonly (readonly string[])[]) {
  const [title, cell] = [
    { size: kSmall, weight: 600 },
    { size: kSmall, weight: 400 },
  ];
  const widest = (i: number) =>
    [head[i] ?? "", ...rows.map((row) => row[i] ?? "")].reduce(
      (most, text, at) =>
        Math.max(most, kInter.width(text, kSmall, at === 0 ? title.weight : cell.weight)),
      0,
    );
  const widths = columnWidths(
    head.map((_, i) => widest(i) + kGap),
    kRoom,
  );
  const right = head.map((_, i) => i > 0 && rows.every((row) => isNumber(row[i] ?? "")));
  const rule = (colour: string) => {
    const points = Float64Array.of(kMargin, to.y, kMargin + sum(widths), to.y);
    to.add({ kind: "line", points, colour, width: 0.5, dash: [] });
  };
  const addRow = (texts: readonly string[], look: Look) => {
    const cells = texts.map((text, i) => wrapped(text, (widths[i] ?? 0) - kGap, look));
    const height = Math.max(...cells.map(({ length }) => length)) * kSmall * kLine;
    const turned = to.need(height + 4);
    if (turned && look !== title) addRow(head, title);
    const top = to.y;
    let x = kMargin;
    for (const [i, lines] of cells.entries()) {
      const width = widths[i] ?? 0;
      const at = right[i] ? x + width - kGap : x;
      to.y = top + 2;
      for (const line of lines) {
        to.write(line, at, look, right[i] ? { anchor: "end" } : {});
        to.y += kSmall * kLine;
      }
      x += width;
    }
    to.y = top + height + 4;
    rule(look === title ? kInk : kRule);
  };
  to.y += 4;
  addRow(head, title);
  for (const row of rows) addRow(row, cell);
  to.y += kGap;
}

const sum = (values: readonly number[]) => values.reduce((all, one) => all + one, 0);

function addFigure(to: Pages, figure: Drawn) {
  const scale = Math.min(1, kRoom / figure.width);
  to.need(figure.height * scale);
  const [x, y] = [(at: number) => kMargin + at * scale, (at: number) => to.y + at * scale];
  const points = (flat: readonly number[]) =>
    Float64Array.from(flat, (value, i) => (i % 2 === 0 ? x(value) : y(value)));
  for (const band of figure.bands) {
    const box = { x: x(band.x), y: y(band.y), width: band.width * scale };
    const rect = { ...box, height: band.height * scale, colour: kBand };
    to.add({ kind: "rect", ...rect, alpha: 1, radius: 0, hatch: false });
  }
  for (const { points: flat, colour, width } of figure.lines)
    to.add({ kind: "line", points: points(flat), colour, width: width * scale, dash: [] });
  for (const { points: flat, colour, shape } of figure.marks) {
    const look = { colour, background: "#ffffff", size: 7 * scale };
    to.add({ kind: "markers", points: points(flat), shape, ...look });
  }
  const size = 11 * scale;
  for (const { x: left, y: middle, text, anchor } of figure.texts) {
    const at = { x: x(left), y: y(middle) + 0.36 * size };
    const look = { colour: kInk, size, weight: 400, anchor, turned: false };
    to.add({ kind: "text", ...at, text, ...look });
  }
  to.y += figure.height * scale + kGap;
}

function addBlock(to: Pages, block: Block) {
  const look = { size: kBody, weight: 400 };
  switch (block.kind) {
    case "heading":
      return addHeading(to, block.level, block.text);
    case "text":
      addLines(to, wrapped(block.text, kRoom, look), kMargin, look);
      to.y += 4;
      return;
    case "command":
      return addCommand(to, block.text);
    case "table":
      return addTable(to, block.head, block.rows);
    case "figure":
      return addFigure(to, block.figure);
  }
}

export function layOut(blocks: readonly Block[]): Picture[] {
  const to = new Pages();
  for (const block of blocks) addBlock(to, block);
  return to.pages.map((marks, i) => {
    const at = { x: kPage.width / 2, y: kPage.height - kMargin / 2, anchor: "middle" } as const;
    const look = { colour: kQuiet, size: kSmall, weight: 400, turned: false };
    const number: Mark = { kind: "text", ...at, text: `${i + 1} / ${to.pages.length}`, ...look };
    return { ...kPage, marks: [...marks, number] };
  });
}

export function reportPdf({ title, blocks, id, comment }: Document, fonts: PdfFonts): Uint8Array {
  const about: About = { title, subject: "", keywords: "", id, comment };
  return pdfOfPages(layOut(blocks), "#ffffff", about, fonts);
}
