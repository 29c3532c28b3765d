// The colours of lines that a person has chosen for charts on the screen. Kept by this browser, and the same in all its
// tabs.
import { create } from "zustand";
import { type ChartTheme, kDark, kLight, type PaletteName, withPalette } from "../charts/theme";
import { followKept, keep, readKept } from "../state/kept";
import { type Scheme, useScheme } from "../state/scheme";

export const kLineColours: readonly (readonly [PaletteName, string])[] = [
  ["corral", "Corral"],
  ["okabe-ito", "Okabe and Ito"],
  ["tol", "Tol, bright"],
];

const kKey = "corral-line-colours";

const known = (name: string | null): PaletteName =>
  kLineColours.find(([one]) => one === name)?.[0] ?? "corral";

export const useLineColours = create<{ name: PaletteName }>(() => ({
  name: known(readKept(kKey)),
}));

export function chooseLineColours(name: PaletteName): void {
  useLineColours.setState({ name });
  keep(kKey, name);
}

followKept(kKey, (text) => useLineColours.setState({ name: known(text) }));

const made = new Map<string, ChartTheme>();

// The same theme for the same choice, so that nothing is drawn again.
function themeOf(scheme: Scheme, name: PaletteName): ChartTheme {
  const key = `${scheme}/${name}`;
  const theme = made.get(key) ?? withPalette(scheme === "dark" ? kDark : kLight, name);
  made.set(key, theme);
  return theme;
}

export const useThemeOf = (name: PaletteName): ChartTheme => themeOf(useScheme().scheme, name);

export const useChartTheme = (): ChartTheme => useThemeOf(useLineColours(({ name }) => name));
