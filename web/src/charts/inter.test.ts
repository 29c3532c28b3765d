import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { readTtf } from "../export/ttf";
import { kInter } from "./inter";

const kFonts = "node_modules/@expo-google-fonts/inter";
const fontOf = (file: string) => readTtf(new Uint8Array(readFileSync(`${kFonts}/${file}`)));
const regular = fontOf("400Regular/Inter_400Regular.ttf");
const bold = fontOf("600SemiBold/Inter_600SemiBold.ttf");

// Latin, Greek and Cyrillic letters, punctuation, and the signs up to those of mathematics.
const kRanges = [
  [0x20, 0x180],
  [0x370, 0x530],
  [0x2000, 0x2300],
];

function runsOf({ glyphs, advance }: typeof regular): number[][] {
  const runs: number[][] = [];
  for (const [from = 0, to = 0] of kRanges) {
    let run: number[] | null = null;
    for (let code = from; code < to; code++) {
      const glyph = glyphs.get(code);
      if (glyph === undefined) run = null;
      else {
        if (run === null) {
          run = [code];
          runs.push(run);
        }
        run.push(advance(glyph));
      }
    }
  }
  return runs;
}

const rowsOf = (runs: number[][]) => runs.map((run) => `    ${JSON.stringify(run)}`).join(",\n");

it("has the widths of the fonts that figures embed; `npm run font` writes them", async () => {
  expect(bold.unitsPerEm).toBe(regular.unitsPerEm);
  const text = `{
  "unitsPerEm": ${regular.unitsPerEm},
  "regular": [
${rowsOf(runsOf(regular))}
  ],
  "bold": [
${rowsOf(runsOf(bold))}
  ]
}
`;
  await expect(text).toMatchFileSnapshot("inter.json");
});

it("measures by weight and size, and guesses signs that the font lacks", () => {
  const width = (text: string, weight = 400) => kInter.width(text, 1000, weight);
  const advance = ({ glyphs, advance, unitsPerEm }: typeof regular, code: number) =>
    (advance(glyphs.get(code) as number) / unitsPerEm) * 1000;
  expect(width("W")).toBeCloseTo(advance(regular, 0x57), 6);
  expect(width("W", 600)).toBeCloseTo(advance(bold, 0x57), 6);
  expect(width("W", 600)).toBeGreaterThan(width("W"));
  expect(width("ab")).toBeCloseTo(width("a") + width("b"), 6);
  expect(width("−1\u2009µs")).toBeGreaterThan(1000);
  expect(width("損失")).toBe(2000);
  expect(width("🏇")).toBe(1000);
  expect(width("e\u0301")).toBe(width("e"));
  expect(kInter.width("", 11, 400)).toBe(0);
});
