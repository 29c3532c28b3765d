import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  contrast,
  kDark,
  kLight,
  kRampFirst,
  kRampSteps,
  kUncoloured,
  lineRamp,
  mixed,
  monoStyle,
  rampColours,
  readable,
  seriesColour,
  seriesDash,
  seriesIndex,
  withPalette,
} from "./theme";

const css = readFileSync("src/styles/tokens.css", "utf8");

function tokens(dark: boolean): Record<string, string> {
  const start = css.indexOf(dark ? ':root[data-scheme="dark"]' : ":root {");
  const block = css.slice(start, css.indexOf("}", start));
  return Object.fromEntries(
    [...block.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map((m) => [m[1], m[2]]),
  );
}

const linear = (c: number) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);

// Machado, Oliveira, Fernandes 2009, severity 1, on linear RGB.
const kSights: Record<string, readonly (readonly [number, number, number])[]> = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protan: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deutan: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritan: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

// CIELAB under D65.
function lab([r, g, b]: readonly [number, number, number]): [number, number, number] {
  const f = (t: number) => (t > 216 / 24389 ? Math.cbrt(t) : ((24389 / 27) * t + 16) / 116);
  const x = f((0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047);
  const y = f(0.2126729 * r + 0.7151522 * g + 0.072175 * b);
  const z = f((0.0193339 * r + 0.119192 * g + 0.9503041 * b) / 1.08883);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

function seen(hex: string, sight: string): [number, number, number] {
  const rgb = [1, 3, 5].map((i) => linear(Number.parseInt(hex.slice(i, i + 2), 16) / 255));
  const mixed = (kSights[sight] ?? []).map((row) =>
    Math.min(
      1,
      Math.max(
        0,
        row.reduce((sum, part, i) => sum + part * (rgb[i] as number), 0),
      ),
    ),
  );
  return lab(mixed as [number, number, number]);
}

describe.each(Object.keys(kSights))("to %s sight", (sight) => {
  it.each([
    ["light", kLight],
    ["dark", kDark],
  ] as const)("no two %s colours are nearer than ΔE 15", (_, theme) => {
    const colours = theme.series.map((hex) => seen(hex, sight));
    colours.forEach((a, i) => {
      for (const [k, b] of colours.slice(0, i).entries())
        expect(
          Math.hypot(...a.map((v, j) => v - (b[j] as number))),
          `${i} and ${k}`,
        ).toBeGreaterThan(15);
    });
  });
});

it("does not glare in the dark: no colour is much more saturated or lighter than the first four", () => {
  const places = kDark.series.map((hex) => seen(hex, "normal"));
  for (const [light, a, b] of places) {
    expect(light).toBeLessThan(89);
    expect(Math.hypot(a, b)).toBeLessThan(61);
  }
});

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

it.each([kLight, kDark])(
  "has a scale for lines that is seen on its background, and finds a colour's place",
  (theme) => {
    const ramp = lineRamp(theme.background);
    expect(ramp).toHaveLength(kRampSteps);
    for (const colour of ramp) expect(contrast(colour, theme.background)).toBeGreaterThanOrEqual(3);
    for (const index of [0, 7, kUncoloured, kRampFirst, kRampFirst + kRampSteps - 1])
      expect(seriesIndex(theme, seriesColour(theme, index))).toBe(index);
    expect(seriesIndex(theme, theme.ink2)).toBe(-1);
  },
);
