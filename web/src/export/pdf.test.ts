import { readFileSync } from "node:fs";
import { unzlibSync } from "fflate";
import { describe, expect, it } from "vitest";
import type { Mark } from "../charts/marks";
import type { Figure } from "./figure";
import { pdfOf } from "./pdf";
import { readTtf } from "./ttf";

const kInter = "node_modules/@expo-google-fonts/inter";
const fileOf = (name: string) => new Uint8Array(readFileSync(`${kInter}/${name}`));
const fonts = {
  regular: fileOf("400Regular/Inter_400Regular.ttf"),
  bold: fileOf("600SemiBold/Inter_600SemiBold.ttf"),
};

const figureOf = (marks: Mark[]): Figure => ({
  picture: { width: 200, height: 100.5, marks },
  background: "#fcfcfb",
  hash: "0123456789abcdef".repeat(4),
  link: "http://127.0.0.1:5000/board?run=é",
});

const latin1 = (bytes: Uint8Array) => Buffer.from(bytes).toString("latin1");

// The objects of a file by number, each found by the table at its end.
function objectsOf(pdf: Uint8Array): Map<number, string> {
  const text = latin1(pdf);
  const start = Number(/startxref\n(\d+)\n%%EOF\n$/.exec(text)?.[1]);
  expect(text.slice(start, start + 5)).toBe("xref\n");
  const rows = text.slice(start).match(/\d{10} 00000 n \n/g) ?? [];
  return new Map(
    rows.map((row, i) => {
      const object = text.slice(Number(row.slice(0, 10)));
      expect(object.startsWith(`${i + 1} 0 obj\n`)).toBe(true);
      return [i + 1, object.slice(0, object.indexOf("\nendobj\n"))];
    }),
  );
}

function streamOf(object = ""): Uint8Array {
  const length = Number(/\/Length (\d+)/.exec(object)?.[1]);
  const start = object.indexOf("stream\n") + 7;
  expect(object.slice(start + length)).toBe("\nendstream");
  return unzlibSync(Uint8Array.from(Buffer.from(object.slice(start, start + length), "latin1")));
}

const contentOf = (marks: Mark[]) =>
  latin1(streamOf(objectsOf(pdfOf(figureOf(marks), fonts)).get(4)));

const text = (part: Partial<Extract<Mark, { kind: "text" }>>): Mark => ({
  ...{ kind: "text", x: 10, y: 20, text: "loss", colour: "#000000", size: 11, weight: 400 },
  ...{ anchor: "start", ...part },
});

describe("a figure as PDF", () => {
  it("is a page of the figure's size with its hash and link, and always the same bytes", () => {
    const pdf = pdfOf(figureOf([text({})]), fonts);
    expect(latin1(pdfOf(figureOf([text({})]), fonts))).toBe(latin1(pdf));
    const objects = objectsOf(pdf);
    expect(objects.get(3)).toContain("/MediaBox [0 0 200 100.5]");
    const utf16 = (words: string) => Buffer.from(words, "utf16le").swap16().toString("hex");
    expect(objects.get(5)).toContain(utf16("http://127.0.0.1:5000/board?run=é"));
    expect(objects.get(5)).toContain(utf16("sha256:0123"));
    expect(latin1(pdf)).not.toMatch(/CreationDate|ModDate/);
  });

  it("draws every mark", () => {
    const box = { x: 1, y: 2, width: 30, height: 40 };
    const look = { colour: "#ff0000", alpha: 1 };
    const points = Float64Array.of(1, 2, 3, 4, Number.NaN, Number.NaN, 5.678, 6);
    const content = contentOf([
      { kind: "line", points, colour: "#0000ff", width: 1.15, dash: [4, 2], alpha: 0.5 },
      {
        kind: "clip",
        rect: box,
        marks: [{ kind: "rect", ...box, ...look, radius: 0, hatch: false }],
      },
      { kind: "rect", ...box, ...look, radius: 3, hatch: true },
      { kind: "bars", bars: Float64Array.of(1, 2, 3, 2, 4, 5), width: 1, ...look },
      { kind: "band", upper: points.subarray(0, 4), lower: points.subarray(0, 4), ...look },
      { kind: "dots", points: points.subarray(0, 2), colour: "#00ff00", radius: 1.5 },
      {
        ...{ kind: "cells", ...box, columns: 2, rows: 1, cells: Uint8Array.of(1, 2) },
        colours: ["#111111", "#222222"],
      },
    ]);
    for (const part of [
      "1 0 0 -1 0 100.5 cm",
      "0.988 0.988 0.984 rg\n0 0 200 100.5 re f",
      "0 0 1 RG 1.15 w\n/A500 gs\n1 j [4 2] 0 d\n1 2 m 3 4 l 5.68 6 m S",
      "q\n1 2 30 40 re W n\nq\n1 0 0 rg\n1 2 30 40 re f\nQ\nQ",
      "1 2 1 1 re\n2 4 1 1 re\nf",
      "1 2 m 3 4 l 3 4 l 1 2 l h f",
      "0 1 0 RG 3 w\n1 J\n1 2 m 1 2 l S",
      "0.067 0.067 0.067 rg\n0.067 0.067 0.067 RG 0.5 w\n1 2 15 40 re B",
    ])
      expect(content).toContain(part);
    expect(content.match(/\bq\b/g)).toHaveLength(content.match(/\bQ\b/g)?.length as number);
    expect(content).not.toMatch(/NaN|undefined|Infinity/);
  });

  it("draws every sign on lines", () => {
    const shapes = ["circle", "square", "triangle", "diamond", "ring", "cross", "plus"] as const;
    for (const shape of shapes) {
      const points = Float64Array.of(10, 20);
      const look = { colour: "#ff0000", background: "#ffffff", size: 5 };
      const content = contentOf([{ kind: "markers", points, shape, ...look }]);
      expect(content).toMatch(
        shape === "ring" ? / B\n/ : /cross|plus/.test(shape) ? / S\n/ : / f\n/,
      );
    }
  });

  it("places text by its anchor and direction", () => {
    const ttf = readTtf(fonts.regular);
    const glyph = (sign: string) => ttf.glyphs.get(sign.charCodeAt(0)) as number;
    const width =
      ([..."loss"].reduce((sum, sign) => sum + ttf.advance(glyph(sign)), 0) * 11) / 2048;
    const at = (part: Parameters<typeof text>[0]) =>
      / Tf (.*) Tm/.exec(contentOf([text(part)]))?.[1];
    expect(at({})).toBe("1 0 0 -1 10 20");
    const rounded = (value: number) => String(Math.round(value * 100) / 100);
    expect(at({ anchor: "end" })).toBe(`1 0 0 -1 ${rounded(10 - width)} 20`);
    expect(at({ anchor: "middle" })).toBe(`1 0 0 -1 ${rounded(10 - width / 2)} 20`);
    expect(at({ anchor: "middle", turned: true })).toBe(`0 -1 -1 0 10 ${rounded(20 + width / 2)}`);
    expect(contentOf([text({ weight: 600 })])).toContain("/F6 11 Tf");
    expect(contentOf([text({ text: "" })])).not.toContain("BT");
  });

  it("embeds the glyphs that it uses, with the text that they stand for", () => {
    const objects = objectsOf(pdfOf(figureOf([text({ text: "Aé−損🏇" })]), fonts));
    const [full, some] = [readTtf(fonts.regular), streamOf(objects.get(9))];
    expect(some.length).toBeLessThan(40_000);
    const map = latin1(streamOf(objects.get(10)));
    for (const [sign, code] of [
      ["A", "0041"],
      ["é", "00e9"],
      ["−", "2212"],
    ] as const) {
      const glyph = full.glyphs.get(sign.codePointAt(0) as number) as number;
      expect(map).toContain(`<${glyph.toString(16).padStart(4, "0")}> <${code}>`);
    }
    // Signs that the font lacks are its sign for that, which stands for no text: only the range of all codes begins so.
    expect(map.split("<0000> <").length - 1).toBe(1);
    expect(objects.get(7)).toMatch(/\/W \[0 \[\d+\] \d+ \[\d+\]/);
    // A font of its own again: the parts of é are there, letters that are not used have no outline.
    const view = new DataView(some.buffer, some.byteOffset);
    expect(view.getUint32(0)).toBe(0x00010000);
    expect(() => full.subset([full.glyphs.get(0xe9) as number])).not.toThrow();
    const lengths = [[0xe9], [0x65], [0xe9, 0x65]].map(
      (codes) => full.subset(codes.map((code) => full.glyphs.get(code) as number)).length,
    );
    expect(lengths[0]).toBe(lengths[2]);
    expect(lengths[1]).toBeLessThan(lengths[0] as number);
  });
});
