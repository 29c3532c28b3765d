// The colours of VISUAL.md for drawing; tokens.css holds the same for the page (a test compares them).
// Series 5–8 were chosen for the largest smallest distance (CIELAB, normal sight and three kinds of colour blindness; a
// test computes it) at ≥ 4.5:1 on background, panel and selected row; in the dark no more saturated than the first four.

import type { MarkerShape } from "./marks";

export interface ChartTheme {
  background: string;
  hairline: string;
  grid: string;
  ink1: string;
  ink2: string;
  ink3: string;
  series: readonly string[];
}

export const kLight: ChartTheme = {
  background: "#fcfcfb",
  hairline: "#e4e4e0",
  grid: "#eeeeeb",
  ink1: "#1b1c1e",
  ink2: "#5b5e63",
  ink3: "#62666b",
  series: ["#2f5fd0", "#ad4b05", "#0d7555", "#a3328f", "#384301", "#611788", "#2319bf", "#781450"],
};

export const kDark: ChartTheme = {
  background: "#121315",
  hairline: "#2a2c30",
  grid: "#212326",
  ink1: "#eceded",
  ink2: "#a9adb3",
  ink3: "#8d9299",
  series: ["#82a6ff", "#ff9f57", "#4fc3a0", "#de86d0", "#b89868", "#e8c8e8", "#98e8a8", "#c8e888"],
};

// Repeats the information of the colour; after eight colours it also distinguishes the rounds.
const kDashes: readonly (readonly number[])[] = [[], [11, 1.6], [5, 1.6], [11, 1.6, 2, 1.6]];

// Places in the palette behind those of the series: a scale of numbers, and what has none.
export const kRampFirst = 1000;
export const kRampSteps = 64;
export const kUncoloured = kRampFirst - 1;

export function seriesColour(theme: ChartTheme, index: number): string {
  if (index >= kRampFirst) return lineRamp(theme.background)[index - kRampFirst] ?? theme.ink3;
  if (index === kUncoloured) return theme.ink3;
  return theme.series[index % theme.series.length] as string;
}

export function seriesDash(index: number): readonly number[] {
  const round = Math.floor(index / 8);
  return kDashes[(index + round) % kDashes.length] as readonly number[];
}

// The page's own colours, Okabe and Ito's, and Paul Tol's "bright" with ink as the eighth: the two sets that
// papers use. Their light colours reach no 3:1 on paper, so dashes and labels in ink (readable) repeat them.
export type PaletteName = "corral" | "okabe-ito" | "tol";

const kOkabeIto = [
  "#0072b2",
  "#d55e00",
  "#009e73",
  "#cc79a7",
  "#e69f00",
  "#56b4e9",
  "ink",
  "#f0e442",
];
const kTol = ["#4477aa", "#ee6677", "#228833", "#aa3377", "#66ccee", "#ccbb44", "ink", "#bbbbbb"];

export function withPalette(theme: ChartTheme, name: PaletteName): ChartTheme {
  if (name === "corral") return theme;
  const colours = name === "tol" ? kTol : kOkabeIto;
  return { ...theme, series: colours.map((colour) => (colour === "ink" ? theme.ink1 : colour)) };
}

function luminance(hex: string): number {
  const part = (i: number) => {
    const c = Number.parseInt(hex.slice(i, i + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
}

// WCAG's contrast of two colours "#rrggbb".
export function contrast(a: string, b: string): number {
  const [x, y] = [luminance(a) + 0.05, luminance(b) + 0.05];
  return x > y ? x / y : y / x;
}

const kTextContrast = 4.5;
const readables = new Map<string, boolean>();

// The colour for words in it: itself, or ink where it is too light to be read.
export function readable(theme: ChartTheme, colour: string): string {
  const key = colour + theme.background;
  let is = readables.get(key);
  if (is === undefined) {
    is = !/^#[0-9a-f]{6}$/i.test(colour) || contrast(colour, theme.background) >= kTextContrast;
    if (readables.size > 1000) readables.clear();
    readables.set(key, is);
  }
  return is ? colour : theme.ink1;
}

export interface MonoStyle {
  colour: string;
  dash: readonly number[];
  shape: MarkerShape;
}

// Periods 3, 5 and 7 share no factor: 105 lines before one looks like another.
const kMonoDashes: readonly (readonly number[])[] = [
  [],
  [6, 2.5],
  [1.5, 2],
  [9, 2, 1.5, 2],
  [3, 2],
];
const kShapes: readonly MarkerShape[] = [
  "circle",
  "square",
  "triangle",
  "diamond",
  "ring",
  "cross",
  "plus",
];

export const markerShape = (index: number) => kShapes[index % kShapes.length] as MarkerShape;

// The style of the line at an index, without colours.
export function monoStyle(theme: ChartTheme, index: number): MonoStyle {
  const greys = [theme.ink1, theme.ink2, mixed(theme.ink3, theme.background, 0.2)];
  return {
    colour: greys[index % 3] as string,
    dash: kMonoDashes[index % kMonoDashes.length] as readonly number[],
    shape: markerShape(index),
  };
}

// `part` of the way from one colour "#rrggbb" to another.
export function mixed(a: string, b: string, part: number): string {
  const channel = (i: number) => {
    const [x, y] = [a, b].map((hex) => Number.parseInt(hex.slice(i, i + 2), 16)) as [
      number,
      number,
    ];
    return Math.round(x + (y - x) * part)
      .toString(16)
      .padStart(2, "0");
  };
  return `#${channel(1)}${channel(3)}${channel(5)}`;
}

// Cividis (Nuñez, Anderton, Renslow 2018): dark blue to yellow, even in lightness, the same to all eyes.
const kCividis = [
  "#00224e",
  "#123570",
  "#3b496c",
  "#575d6d",
  "#707173",
  "#8a8678",
  "#a59c74",
  "#c3b369",
  "#e1cc55",
  "#fee838",
];

const kLineContrast = 3;
const ramps = new Map<string, readonly string[]>();

// The colours of lines by a number, from the least to the greatest: those of the ramp that can be seen on a background.
export function lineRamp(background: string): readonly string[] {
  let found = ramps.get(background);
  if (found === undefined) {
    const all = rampColours(256).filter((colour) => contrast(colour, background) >= kLineContrast);
    const last = all.length - 1;
    found = Array.from(
      { length: kRampSteps },
      (_, i) => all[Math.round((i / (kRampSteps - 1)) * last)] as string,
    );
    ramps.set(background, found);
  }
  return found;
}

// The place in the palette of a colour that a theme gave; -1: it is none of them.
export function seriesIndex(theme: ChartTheme, colour: string): number {
  const at = theme.series.indexOf(colour);
  if (at >= 0 || colour === theme.ink2) return at;
  const ramp = lineRamp(theme.background).indexOf(colour);
  return ramp >= 0 ? kRampFirst + ramp : colour === theme.ink3 ? kUncoloured : -1;
}

// `count` colours from the least to the greatest value.
export function rampColours(count: number): string[] {
  return Array.from({ length: count }, (_, i) => {
    const at = (i / Math.max(1, count - 1)) * (kCividis.length - 1);
    const low = Math.min(Math.floor(at), kCividis.length - 2);
    return mixed(kCividis[low] as string, kCividis[low + 1] as string, at - low);
  });
}
