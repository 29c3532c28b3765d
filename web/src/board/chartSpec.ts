// The content of a chart of the board: its lines, and its spec. Pure.
import type { Charts } from "../api/useCharts";
import { kMaxTangled } from "../charts/chart";
import type { ChartLine, ChartSpec } from "../charts/spec";
import type { ChartTheme } from "../charts/theme";
import { kAxisWords, kXKind } from "./axis";
import { linesOf } from "./lines";
import type { Range } from "./pointer";
import type { BoardChart, BoardView } from "./useBoard";

// Three rows and the lanes of two runs fit a window of 900.
export const kChartHeight = 180;

// The lines of a chart, those of its right axis after the others, with their metric's name.
export function allLines(
  { def, second }: BoardChart,
  answer: Charts | undefined,
  at: Parameters<typeof linesOf>[2],
): ChartLine[] {
  const lines = linesOf(def, answer, at);
  if (second === null) return lines;
  const right = linesOf(second, answer, at).map((line) => {
    const key = `${line.key}/${second.name}`;
    const hidden = at.hidden.has(key);
    const label = `${second.name} ${line.label}`;
    return { ...line, label, key, hidden, axis: 1 as const, dash: [4, 2] };
  });
  return [...lines, ...right];
}

// The parts of the view that the specs of charts need.
export type SpecView = Pick<
  BoardView,
  "making" | "zoomedIn" | "axis" | "onTime" | "marks" | "windows" | "search"
>;

export function specOf(
  chart: BoardChart,
  view: SpecView,
  at: { width: number; height: number; theme: ChartTheme; range: Range },
): ChartSpec {
  const { range, ...place } = at;
  const compared = view.making.baseline !== null;
  const spec = {
    ...place,
    ...range,
    unit: compared && view.making.baseline?.as === "ratio" ? "" : chart.def.unit,
    zoomed: view.zoomedIn || chart.choice.range !== undefined,
    x: {
      kind: kXKind[view.axis],
      ...range,
      ...(view.axis === "metric" ? { unit: view.making.x?.unit ?? "" } : {}),
    },
    y: chart.choice.y,
    // So many lines are a tangle; a row each is not.
    kind:
      chart.choice.kind === "line" && chart.def.lines.length > kMaxTangled
        ? ("heat" as const)
        : chart.choice.kind,
    marks: view.onTime ? view.marks : [],
    windows: view.windows,
    ...(chart.second === null
      ? {}
      : {
          unit2: view.making.baseline?.as === "ratio" ? "" : chart.second.unit,
          y2: chart.choice.y2 ?? { mode: "auto" as const },
        }),
  };
  return spec;
}

// The parts that `making` does not hold.
export const specParts = ({ zoomedIn, axis, marks, windows }: SpecView) =>
  [zoomedIn, axis, marks, windows] as const;

// The names of a figure's axes, with the baseline if there is one.
export function axisNames(
  { def, second }: BoardChart,
  { axis, search, making: { baseline } }: SpecView,
): { xName: string; yName: string; y2Name?: string } {
  const sign = baseline?.as === "ratio" ? "÷" : "−";
  const named = (name: string) => (baseline === null ? name : `${name} ${sign} ${baseline.label}`);
  return {
    xName: axis === "metric" ? (search.xmetric ?? "metric") : kAxisWords[axis],
    yName: named(def.name),
    ...(second === null ? {} : { y2Name: named(second.name) }),
  };
}
