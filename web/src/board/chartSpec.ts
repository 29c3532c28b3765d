// The content of a chart of the board: its lines, and its spec. Pure.
import type { Charts } from "../api/useCharts";
import { kMaxTangled } from "../charts/chart";
import type { ChartLine, ChartSpec } from "../charts/spec";
import type { ChartTheme } from "../charts/theme";
import { kXKind } from "./axis";
import { linesOf } from "./lines";
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

const xUnit = ({ defs, search }: BoardView) =>
  defs.find((def) => def.name === search.xmetric)?.unit ?? "";

export function specOf(
  chart: BoardChart,
  view: BoardView,
  at: { width: number; height: number; theme: ChartTheme },
): ChartSpec {
  const { range } = view.gesturesOf(chart);
  const compared = view.making.baseline !== null;
  const spec = {
    ...at,
    ...range,
    unit: compared && view.making.baseline?.as === "ratio" ? "" : chart.def.unit,
    zoomed: view.zoomedIn || chart.choice.range !== undefined,
    x: {
      kind: kXKind[view.axis],
      ...range,
      ...(view.axis === "metric" ? { unit: xUnit(view) } : {}),
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

// The parts of the view that `specOf` needs besides its gestures.
export const specParts = ({ zoomedIn, axis, marks, windows, defs, search }: BoardView) =>
  [zoomedIn, axis, marks, windows, defs, search.xmetric] as const;
