import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  contrast,
  kDark,
  kLight,
  mixed,
  monoStyle,
  rampColours,
  readable,
  seriesColour,
  seriesDash,
  withPalette,
} from "./theme";

const css = readFileSync("src/styles/tokens.css", "utf8");

function tokens(dark: boolean): Record<string, string> {
  const start = dark
    ? css.indexOf(':root[data-mantine-color-scheme="dark"]')
    : css.indexOf(":root {");
  const block = css.slice(start, css.indexOf("}", start));
  return Object.fromEntries(
    [...block.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map((m) => [m[1], m[2]]),
  );
}

describe.each([
  ["light", kLight, tokens(false)],
  ["dark", kDark, tokens(true)],
] as const)("%s", (_, theme, css) => {
  it("is the same in drawings and on the page", () => {
    const { background, hairline, grid, ink1, ink2, ink3 } = theme;
    expect(css).toMatchObject({ background, hairline, grid, ink1, ink2, ink3 });
  });

  it("can be read on every background", () => {
    const words = [
      theme.ink1,
      theme.ink2,
      theme.ink3,
      css.accent,
      css.live,
      css.failed,
      ...theme.series,
    ] as string[];
    for (const ground of [css.background, css.panel, css.selected] as string[]) {
      for (const colour of words)
        expect(contrast(colour, ground), `${colour} on ${ground}`).toBeGreaterThanOrEqual(4.5);
    }
  });
});

it("repeats colours with another dash only", () => {
  const seen = new Set(
    Array.from({ length: 32 }, (_, i) => `${seriesColour(kLight, i)} ${seriesDash(i)}`),
  );
  expect(seen.size).toBe(32);
});

describe("withPalette", () => {
  it("has eight different colours, and words in them that can be read", () => {
    for (const theme of [kLight, kDark]) {
      for (const name of ["corral", "okabe-ito", "tol"] as const) {
        const { series } = withPalette(theme, name);
        expect(new Set(series).size).toBe(8);
        for (const colour of series)
          expect(contrast(readable(theme, colour), theme.background)).toBeGreaterThanOrEqual(4.5);
      }
    }
    expect(withPalette(kLight, "okabe-ito").series[0]).toBe("#0072b2");
    expect(withPalette(kLight, "tol").series[0]).toBe("#4477aa");
  });
});

describe("monoStyle", () => {
  it("tells a hundred lines apart by grey, dash and sign, each of them visible", () => {
    for (const theme of [kLight, kDark]) {
      const styles = Array.from({ length: 105 }, (_, i) => monoStyle(theme, i));
      expect(new Set(styles.map((style) => JSON.stringify(style))).size).toBe(105);
      for (const { colour } of styles) {
        expect(contrast(colour, theme.background)).toBeGreaterThanOrEqual(3);
        const [r, g, b] = [1, 3, 5].map((i) => Number.parseInt(colour.slice(i, i + 2), 16));
        expect(Math.max(r as number, g as number, b as number) - (r as number)).toBeLessThan(12);
      }
    }
  });
});

describe("rampColours", () => {
  it("grows evenly lighter", () => {
    const light = rampColours(64).map((colour) => contrast(colour, "#000000"));
    expect(light.every((value, i) => i === 0 || value > (light[i - 1] as number))).toBe(true);
    expect(mixed("#000000", "#ffffff", 0.5)).toBe("#808080");
  });
});
