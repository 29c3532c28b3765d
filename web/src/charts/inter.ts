// The widths of Inter's glyphs as data: a figure is laid out the same by the page and by `corral plot`, whatever draws
// its text. inter.json is made of the fonts that PDF files embed: `npm run font`. Pure.
import type { FontMetrics } from "./font";
import table from "./inter.json";

const kWide = 1;
const kNarrow = 0.6;

// Runs of code points that follow one another: the first, then the width of each.
type Runs = readonly (readonly number[])[];

function widthsOf(runs: Runs): Map<number, number> {
  const widths = new Map<number, number>();
  for (const [first = 0, ...run] of runs)
    for (const [i, width] of run.entries()) widths.set(first + i, width / table.unitsPerEm);
  return widths;
}

// Made when first needed.
const kMade = new Map<Runs, Map<number, number>>();

function madeOf(runs: Runs): Map<number, number> {
  const made = kMade.get(runs) ?? widthsOf(runs);
  kMade.set(runs, made);
  return made;
}

// Signs that join the one before, and those that writing systems have a square for.
const isJoined = (code: number) =>
  (code >= 0x300 && code < 0x370) || (code >= 0x200b && code < 0x2010) || (code & ~0xf) === 0xfe00;
const isWide = (code: number) =>
  (code >= 0x1100 && code < 0x1160) ||
  (code >= 0x2e80 && code < 0xd7b0) ||
  (code >= 0xf900 && code < 0xfb00) ||
  (code >= 0xfe30 && code < 0xff61) ||
  code >= 0x1f000;

// In ems, of a sign that Inter lacks.
const otherWidth = (code: number) => (isJoined(code) ? 0 : isWide(code) ? kWide : kNarrow);

export const kInter: FontMetrics = {
  width(text, size, weight) {
    const widths = madeOf(weight >= 600 ? table.bold : table.regular);
    let sum = 0;
    for (let i = 0; i < text.length; i++) {
      const code = text.codePointAt(i) as number;
      if (code > 0xffff) i++;
      sum += widths.get(code) ?? otherWidth(code);
    }
    return sum * size;
  },
};
