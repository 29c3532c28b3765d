import { describe, expect, it } from "vitest";
import { kFixedFont } from "../charts/font";
import type { Mark } from "../charts/marks";
import { type Block, columnWidths, layOut, wrapped } from "./report";

const kLook = { size: 10, weight: 400 };
const texts = (marks: readonly Mark[]) =>
  marks.flatMap((mark) => (mark.kind === "text" ? [mark.text] : []));

describe("the pages of a report", () => {
  it("break lines between words, and words that are too long", () => {
    // 5.6 each letter.
    expect(wrapped("one two three", 45, kLook, kFixedFont)).toEqual(["one two", "three"]);
    expect(wrapped("abcdefghij k", 30, kLook, kFixedFont)).toEqual(["abcde", "fghij", "k"]);
    expect(wrapped("", 30, kLook, kFixedFont)).toEqual([""]);
  });

  it("give narrow columns their width, and share the rest among wide ones", () => {
    expect(columnWidths([50, 60], 200)).toEqual([50, 60]);
    expect(columnWidths([50, 400, 300], 250)).toEqual([50, 100, 100]);
  });

  it("go on on a further page, a table with its head, and are numbered", () => {
    const rows = Array.from({ length: 120 }, (_, i) => [`run ${i}`, `${i} ms`]);
    const pages = layOut([
      { kind: "heading", level: 0, text: "Title" },
      { kind: "table", head: ["NAME", "VALUE"], rows },
    ]);
    expect(pages.length).toBeGreaterThan(1);
    const all = pages.map(({ marks }) => texts(marks));
    expect(all[0]?.slice(0, 3)).toEqual(["Title", "NAME", "VALUE"]);
    for (const page of all.slice(1)) expect(page.slice(0, 2)).toEqual(["NAME", "VALUE"]);
    expect(all.map((page) => page[page.length - 1])).toEqual(
      pages.map((_, i) => `${i + 1} / ${pages.length}`),
    );
    const names = all.flat().filter((text) => text.startsWith("run "));
    expect(names).toEqual(rows.map(([name]) => name));
    for (const { height, marks } of pages)
      for (const mark of marks) if (mark.kind === "text") expect(mark.y).toBeLessThan(height);
  });

  it("keep a heading with what follows, and figures within the page", () => {
    const blocks: Block[] = Array.from({ length: 41 }, () => ({ kind: "text", text: "line" }));
    const figure = {
      ...{ width: 974, height: 280, bands: [], lines: [] },
      marks: [{ points: [974, 280], colour: "#000000", shape: "square" as const }],
      texts: [{ x: 974, y: 0, text: "edge", anchor: "end" as const }],
    };
    const pages = layOut([
      ...blocks,
      { kind: "heading", level: 1, text: "Alone" },
      { kind: "figure", figure },
    ]);
    const last = pages[pages.length - 1]?.marks ?? [];
    expect(texts(last).slice(0, 2)).toEqual(["Alone", "edge"]);
    const edge = last.find((mark) => mark.kind === "markers");
    expect(edge?.kind === "markers" && edge.points[0]).toBeCloseTo(541, 5);
  });
});
