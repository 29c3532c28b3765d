// A TrueType font: the widths of its glyphs, and a smaller font with some of them, for a PDF file. Reads the fonts that
// come with the page, so it checks no bounds beyond those of DataView. Pure.

export interface Ttf {
  unitsPerEm: number;
  ascent: number;
  descent: number;
  // Left, bottom, right, top of all glyphs.
  box: number[];
  // Glyphs by code point, of the basic plane.
  glyphs: Map<number, number>;
  advance: (glyph: number) => number;
  // A font with these glyphs under the same numbers.
  subset: (glyphs: Iterable<number>) => Uint8Array;
}

type Tables = Map<string, DataView>;

export function readTtf(bytes: Uint8Array): Ttf {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const tables: Tables = new Map();
  for (let i = 0; i < view.getUint16(4); i++) {
    const at = 12 + i * 16;
    const name = String.fromCharCode(...bytes.subarray(at, at + 4));
    const [start, length] = [view.getUint32(at + 8), view.getUint32(at + 12)];
    tables.set(name, new DataView(bytes.buffer, bytes.byteOffset + start, length));
  }
  const [head, hhea, hmtx] = ["head", "hhea", "hmtx"].map((name) => tableOf(tables, name)) as [
    DataView,
    DataView,
    DataView,
  ];
  const widths = hhea.getUint16(34);
  return {
    unitsPerEm: head.getUint16(18),
    ascent: hhea.getInt16(4),
    descent: hhea.getInt16(6),
    box: [36, 38, 40, 42].map((at) => head.getInt16(at)),
    glyphs: glyphsOf(tableOf(tables, "cmap")),
    advance: (glyph) => hmtx.getUint16(Math.min(glyph, widths - 1) * 4),
    subset: (glyphs) => subsetOf(tables, glyphs),
  };
}

function tableOf(tables: Tables, name: string): DataView {
  const table = tables.get(name);
  if (table === undefined) throw new Error(`the font has no table ${name}`);
  return table;
}

// The subtable of Unicode's basic plane (format 4).
function glyphsOf(cmap: DataView): Map<number, number> {
  const glyphs = new Map<number, number>();
  for (let i = 0; i < cmap.getUint16(2); i++) {
    const at = cmap.getUint32(8 + i * 8);
    if (cmap.getUint16(at) !== 4) continue;
    const double = cmap.getUint16(at + 6);
    for (let segment = at + 14; segment < at + 14 + double; segment += 2) {
      const start = segment + double + 2;
      const [last, first] = [cmap.getUint16(segment), cmap.getUint16(start)];
      const [delta, offset] = [cmap.getUint16(start + double), cmap.getUint16(start + 2 * double)];
      for (let code = first; code <= last && code < 0xffff; code++) {
        const place = start + 2 * double + offset + (code - first) * 2;
        const glyph = offset === 0 ? code : cmap.getUint16(place);
        if (offset === 0 || glyph !== 0) glyphs.set(code, (glyph + delta) & 0xffff);
      }
    }
    return glyphs;
  }
  throw new Error("the font has no map of the basic plane");
}

// Flags of a part of a composed glyph.
const kWords = 0x1;
const kScale = 0x8;
const kMore = 0x20;
const kTwoScales = 0x40;
const kMatrix = 0x80;

// The glyphs that a composed one is made of.
function partsOf(glyf: DataView, from: number, to: number): number[] {
  if (to <= from || glyf.getInt16(from) >= 0) return [];
  const parts: number[] = [];
  let at = from + 10;
  let flags = kMore;
  while (flags & kMore) {
    flags = glyf.getUint16(at);
    parts.push(glyf.getUint16(at + 2));
    at += 4 + (flags & kWords ? 4 : 2);
    at += flags & kScale ? 2 : flags & kTwoScales ? 4 : flags & kMatrix ? 8 : 0;
  }
  return parts;
}

const bytesOf = (view: DataView) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
const copyOf = (view: DataView) => Uint8Array.from(bytesOf(view));

function subsetOf(tables: Tables, glyphs: Iterable<number>): Uint8Array {
  const [head, loca, glyf, hmtx, hhea] = ["head", "loca", "glyf", "hmtx", "hhea"].map((name) =>
    tableOf(tables, name),
  ) as [DataView, DataView, DataView, DataView, DataView];
  const long = head.getInt16(50) === 1;
  const count = loca.byteLength / (long ? 4 : 2) - 1;
  const placeOf = (i: number) => (long ? loca.getUint32(i * 4) : loca.getUint16(i * 2) * 2);
  // Glyph 0 stands for what is missing. The set grows while it is walked.
  const kept = new Set([0, ...glyphs]);
  for (const glyph of kept)
    for (const part of partsOf(glyf, placeOf(glyph), placeOf(glyph + 1))) kept.add(part);
  const places = new DataView(new ArrayBuffer((count + 1) * 4));
  const metrics = new Uint8Array(hmtx.byteLength);
  const outlines: Uint8Array[] = [];
  let length = 0;
  for (let i = 0; i < count; i++) {
    places.setUint32(i * 4, length);
    if (!kept.has(i)) continue;
    const outline = bytesOf(glyf).subarray(placeOf(i), placeOf(i + 1));
    outlines.push(outline, new Uint8Array(-outline.length & 3));
    length += (outline.length + 3) & ~3;
    const metric = Math.min(i, hhea.getUint16(34) - 1) * 4;
    metrics.set(bytesOf(hmtx).subarray(metric, metric + 4), metric);
  }
  places.setUint32(count * 4, length);
  const newHead = copyOf(head);
  // No sum over the whole file; long places.
  newHead.set([0, 0, 0, 0], 8);
  newHead.set([0, 1], 50);
  const hints = ["cvt ", "fpgm", "prep"].flatMap((name): [string, Uint8Array][] => {
    const table = tables.get(name);
    return table === undefined ? [] : [[name, bytesOf(table)]];
  });
  return fontFile([
    ...hints,
    ["glyf", joined(outlines)],
    ["head", newHead],
    ["hhea", bytesOf(hhea)],
    ["hmtx", metrics],
    ["loca", new Uint8Array(places.buffer)],
    ["maxp", bytesOf(tableOf(tables, "maxp"))],
  ]);
}

export function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function checksum(table: Uint8Array): number {
  let sum = 0;
  for (let i = 0; i < table.length; i++)
    sum = (sum + ((table[i] as number) << (24 - 8 * (i & 3)))) >>> 0;
  return sum;
}

// `tables` by name, in order.
function fontFile(tables: readonly (readonly [string, Uint8Array])[]): Uint8Array {
  const power = Math.floor(Math.log2(tables.length));
  const header = new DataView(new ArrayBuffer(12 + tables.length * 16));
  header.setUint32(0, 0x00010000);
  header.setUint16(4, tables.length);
  header.setUint16(6, 16 << power);
  header.setUint16(8, power);
  header.setUint16(10, tables.length * 16 - (16 << power));
  const parts: Uint8Array[] = [new Uint8Array(header.buffer)];
  let place = header.byteLength;
  for (const [i, [name, table]] of tables.entries()) {
    const at = 12 + i * 16;
    for (let k = 0; k < 4; k++) header.setUint8(at + k, name.charCodeAt(k));
    header.setUint32(at + 4, checksum(table));
    header.setUint32(at + 8, place);
    header.setUint32(at + 12, table.length);
    const padding = new Uint8Array(-table.length & 3);
    parts.push(table, padding);
    place += table.length + padding.length;
  }
  return joined(parts);
}
