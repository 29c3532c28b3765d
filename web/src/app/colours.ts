// The colours of lines that a person has chosen for charts on the screen. Kept by this browser, and the same in all its
// tabs.
import { useComputedColorScheme } from "@mantine/core";
import { create } from "zustand";
import { type ChartTheme, kDark, kLight, type PaletteName, withPalette } from "../charts/theme";

export const kLineColours: readonly (readonly [PaletteName, string])[] = [
  ["corral", "Corral"],
  ["okabe-ito", "Okabe and Ito"],
  ["tol", "Tol, bright"],
];

const kKey = "corral-line-colours";

const known = (name: string | null): PaletteName =>
  kLineColours.find(([one]) => one === name)?.[0] ?? "corral";

function kept(): PaletteName {
  try {
    return known(localStorage.getItem(kKey));
  } catch {
    return "corral"; // no storage in this browser: it lasts as long as the page
  }
}

export const useLineColours = create<{ name: PaletteName }>(() => ({ name: kept() }));

export function chooseLineColours(name: PaletteName): void {
  useLineColours.setState({ name });
  try {
    localStorage.setItem(kKey, name);
  } catch {
    // full or forbidden: as above
  }
}

globalThis.addEventListener?.("storage", ({ key, newValue }) => {
  if (key === kKey || key === null)
    useLineColours.setState({ name: known(key === null ? null : newValue) });
});

const made = new Map<string, ChartTheme>();

// The same theme for the same choice, so that nothing is drawn again.
function themeOf(scheme: "light" | "dark", name: PaletteName): ChartTheme {
  const key = `${scheme}/${name}`;
  const theme = made.get(key) ?? withPalette(scheme === "dark" ? kDark : kLight, name);
  made.set(key, theme);
  return theme;
}

export function useChartTheme(): ChartTheme {
  const scheme = useComputedColorScheme("light", { getInitialValueInEffect: false });
  return themeOf(
    scheme,
    useLineColours(({ name }) => name),
  );
}
