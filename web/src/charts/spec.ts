// The input of a chart (axes, kind, and the data of its lines) and its drawing. Shared by the page, the exports and the
// figure workshop. Pure types, no DOM.
import type { ValueAxis } from "./axis";
import type { LineData } from "./line";
import type { Picture, Rect } from "./marks";
import type { ChartTheme } from "./theme";

// Numbers on the x axis: seconds (`time` since an origin, `wall` since 1970 UTC), steps, epochs, or a metric's
// values.
export type XKind = "time" | "wall" | "step" | "epoch" | "number";

export interface XAxisSpec {
  kind: XKind;
  from: number;
  to: number;
  // IANA name for `wall`; the reader's own when absent.
  zone?: string;
  // Unit of `number`.
  unit?: string;
}

// `auto`: from the data; `zero`: from zero; `fixed`: from–to; `log`: decades, values ≤ 0 are counted and skipped;
// `clip`: between two percentiles of the drawn values (1 and 99 when absent), values beyond are marked at the edge and
// counted.
export interface YAxisSpec {
  mode: "auto" | "zero" | "fixed" | "log" | "clip";
  from?: number;
  to?: number;
  low?: number;
  high?: number;
}

// `band`: minimum to maximum as an area; `heat`: a row per line, colour for the value; `multiples`: a small
// plot per line on shared axes.
export type ChartKind = "line" | "step" | "band" | "scatter" | "heat" | "multiples";

// One value per pixel column of [from, to), NaN where there is none; `low` and `high` bound a band around it.
export interface CurveData {
  value: Float64Array;
  low: Float64Array | null;
  high: Float64Array | null;
  from: number;
  to: number;
}

// Pairs in order of time.
export interface PairData {
  x: Float64Array;
  y: Float64Array;
}

export interface ChartLine {
  key: string;
  label: string;
  colour: string;
  dash: readonly number[];
  hidden: boolean;
  // Measured points, reduced to columns. Faint underneath where there is a curve, too.
  data: LineData | null;
  curve?: CurveData | null;
  pairs?: PairData | null;
  // Places where the line is one of many alike: a median of theirs with a band each, on the axis.
  spreads?: readonly CurveData[];
  // 1 = the right axis.
  axis?: 0 | 1;
  // The expression that its curve or its pairs are computed by.
  expression?: string;
  // Thin and faint: a single run under its group.
  faint?: boolean;
  // Text after the value in the label, such as "n = 3".
  note?: string;
  // A note beside the chart, such as the reason for a missing band.
  told?: string;
}

// Something that happened at a place on the x axis: a thin vertical line with a small flag.
export interface EventMark {
  at: number;
  label: string;
  colour?: string;
}

// A part of the x axis that is not to be read as the rest, hatched behind the lines; or one that a person wrote a note
// about, only tinted.
export interface WindowMark {
  from: number;
  to: number;
  label: string;
  kind?: "note";
}

export interface ChartStyle {
  // Greys, dashes and markers instead of colours, for any number of lines.
  monochrome?: boolean;
  // CSS pixels; 1.15 when absent.
  lineWidth?: number;
  // CSS pixels; 11 when absent. Margins grow with it.
  textSize?: number;
  // `ends` (default): names and last values at the lines' ends, as far as they fit.
  legend?: "ends" | "top" | "none";
  title?: string;
  // Names of the axes, written beside them with the unit.
  axes?: { x: string; y: string; y2?: string };
  // A sign on each line every now and then.
  markers?: boolean;
}

// Room beside the plot, CSS pixels.
export interface Margins {
  left: number;
  right: number;
}

export interface ChartSpec {
  width: number;
  height: number;
  // The range of x; `x` repeats it with its kind (absent: time).
  from: number;
  to: number;
  unit: string;
  // Part of a longer range.
  zoomed: boolean;
  theme: ChartTheme;
  x?: XAxisSpec;
  y?: YAxisSpec;
  // Unit of the lines with axis 1.
  unit2?: string;
  y2?: YAxisSpec;
  kind?: ChartKind;
  marks?: readonly EventMark[];
  windows?: readonly WindowMark[];
  style?: ChartStyle;
  // At least these: charts below each other have the same, so that a moment is at the same place in each.
  margins?: Margins;
}

// The place of a line's name.
export interface LabelBox extends Rect {
  key: string;
  hidden: boolean;
}

export interface ChartPicture extends Picture {
  plot: Rect;
  // One plot for each of the small multiples, else a single plot.
  plots: Rect[];
  axis: ValueAxis | null;
  // Axis of the lines with axis 1.
  axis2: ValueAxis | null;
  // The space that its own labels need beside the plot.
  margins: Margins;
  labels: LabelBox[];
  // Notes of the badge: omissions and additions of the picture.
  notes: string[];
}
