// The questions of a board to the server for its charts: columns, computed lines, pairs. Asked at the width that is
// drawn while it is on the screen, and finer where it is taken away (offlinePage.ts). Pure.
import { epochAxis } from "../api/epochs";
import type { SpreadSeries } from "../api/spread";
import type { ChartsQuestion } from "../api/useCharts";
import { placedInputs } from "./derived";
import { computedLines, drawsColumns } from "./lines";
import type { ChartDef } from "./model";
import { pairsAsked } from "./pairs";
import type { BoardChart, BoardView } from "./useBoard";

// Columns of a figure that leaves the page: as many on every screen.
export const kFigureColumns = 1024;

// Every chart's own metric and the one on its right axis.
export const defsOf = (charts: readonly BoardChart[]): ChartDef[] =>
  charts.flatMap(({ def, second }) => (second === null ? [def] : [def, second]));

// The measured series of a chart, of which spreads are asked.
export const measuredSeries = (chart: BoardChart): SpreadSeries[] =>
  defsOf([chart]).flatMap(({ lines }) =>
    lines.flatMap(({ series, origin, spacing, made }) =>
      made === undefined ? [{ id: series, origin, spacing }] : [],
    ),
  );

export function seriesOf(
  charts: readonly BoardChart[],
  {
    axis,
    making,
    epochs,
    shown,
    stretches,
  }: Pick<BoardView, "axis" | "making" | "epochs" | "shown" | "stretches">,
): ChartsQuestion["series"] {
  if (axis === "metric") return [];
  if (axis === "condensed" && stretches.length === 0) return [];
  const all = defsOf(charts).flatMap((def) => def.lines);
  const drawn = drawsColumns(making) ? all.filter(({ made }) => made === undefined) : [];
  const placed = making.computes && making.onTime ? all.flatMap(placedInputs) : [];
  const counted = new Map(
    shown.map((run) => {
      const found = axis === "epoch" ? epochs[run.id] : undefined;
      return [run.id, found ? epochAxis(found, run.origin, run.end) : null];
    }),
  );
  const byId = new Map([...placed, ...drawn].map((line) => [line.series, line]));
  return [...byId]
    .sort(([a], [b]) => a - b)
    .map(([id, { origin, run }]) => {
      const axis = counted.get(run);
      return axis ? { id, origin, epochs: axis } : { id, origin };
    });
}

export type QuestionView = Pick<
  BoardView,
  "charts" | "making" | "axis" | "stretches" | "epochs" | "shown"
>;

export const kAsked = {
  workload: "time",
  run: "time",
  wall: "time",
  step: "step",
  epoch: "epoch",
  condensed: "condensed",
  metric: "metric",
} as const;

// The question of a whole board, asked once, at a given width and over a given range.
export function questionOf(
  view: QuestionView,
  at: { from: number; to: number; width: number },
): ChartsQuestion {
  const { charts, making, axis } = view;
  return {
    axis: kAsked[axis],
    stretches: view.stretches,
    series: seriesOf(charts, view),
    lines: computedLines(defsOf(charts), making),
    ...pairsAsked(defsOf(charts), making),
    ...at,
    revision: 0,
  };
}
