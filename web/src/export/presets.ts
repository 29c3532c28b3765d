// Sizes of figures in the formats of the field's publishers, in points (1/72 inch). Sources: the text widths of
// acmart (sigconf), IEEEtran and the USENIX template. Pure.
import type { PaletteName } from "../charts/theme";

export interface Preset {
  key: string;
  label: string;
  width: number;
  height: number;
  textSize: number;
}

export const kPresets: readonly Preset[] = [
  { key: "screen", label: "as on the screen", width: 720, height: 260, textSize: 11 },
  { key: "acm1", label: "ACM, one column (3.33 in)", width: 240, height: 130, textSize: 7 },
  { key: "acm2", label: "ACM, two columns (7.0 in)", width: 506, height: 170, textSize: 8 },
  { key: "ieee1", label: "IEEE, one column (3.5 in)", width: 252, height: 135, textSize: 7 },
  { key: "ieee2", label: "IEEE, two columns (7.16 in)", width: 516, height: 170, textSize: 8 },
  { key: "usenix1", label: "USENIX, one column (3.33 in)", width: 241, height: 130, textSize: 8 },
  { key: "usenix2", label: "USENIX, two columns (7.0 in)", width: 505, height: 170, textSize: 8 },
  { key: "slide", label: "slide, 16:9", width: 960, height: 540, textSize: 20 },
];

export interface FigureOptions {
  width: number;
  height: number;
  textSize: number;
  lineWidth: number;
  monochrome: boolean;
  markers: boolean;
  legend: "ends" | "top" | "none";
  title: string;
  // Names of the axes beside them.
  axes: boolean;
  dark: boolean;
  palette: PaletteName;
}

// The least and the greatest, in points.
export const kLimits = {
  width: [80, 4000],
  height: [60, 4000],
  textSize: [4, 72],
  lineWidth: [0.1, 10],
} as const;

export function optionsOf(preset: Preset): FigureOptions {
  const { width, height, textSize } = preset;
  const narrow = width < 300;
  return {
    width,
    height,
    textSize,
    lineWidth: narrow ? 0.8 : 1.15,
    monochrome: false,
    markers: false,
    legend: narrow ? "top" : "ends",
    title: "",
    axes: true,
    dark: false,
    palette: "corral",
  };
}
