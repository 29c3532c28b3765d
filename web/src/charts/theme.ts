// The colours of VISUAL.md for drawing; tokens.css holds the same for the page (a test compares them).
// Series 5–8 were chosen for the largest smallest distance (OKLab, normal sight and three kinds of colour
// blindness) at ≥ 4.5:1 on background, panel and selected row.

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
  series: ["#82a6ff", "#ff9f57", "#4fc3a0", "#de86d0", "#26f4fd", "#f3d928", "#cd8301", "#bae6b1"],
};

// Repeats what the colour says; after eight colours it also tells the rounds apart.
const kDashes: readonly (readonly number[])[] = [[], [11, 1.6], [5, 1.6], [11, 1.6, 2, 1.6]];

export function seriesColour(theme: ChartTheme, index: number): string {
  return theme.series[index % theme.series.length] as string;
}

export function seriesDash(index: number): readonly number[] {
  const round = Math.floor(index / 8);
  return kDashes[(index + round) % kDashes.length] as readonly number[];
}
