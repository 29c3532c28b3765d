import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { kDark, kLight, seriesColour, seriesDash } from "./theme";

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

function luminance(hex: string): number {
  const [r, g, b] = [1, 3, 5].map((i) => {
    const c = Number.parseInt(hex.slice(i, i + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a: string, b: string): number {
  const [x, y] = [luminance(a) + 0.05, luminance(b) + 0.05];
  return x > y ? x / y : y / x;
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
