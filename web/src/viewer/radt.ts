// The charts of one of radT's share files as the viewer draws them: all points are there, so every zoom is exact. Pure.
import { kDark, kLight, seriesColour, seriesDash } from "../charts/theme";
import type { RadtChart, RadtRun } from "../export/radt";
import { plural } from "../format/units";
import type { Range, ViewedBoard, ViewedChart } from "./board";
import { average, columnsOf, curveOf } from "./reduce";

function fullOf(runs: readonly RadtRun[]): Range {
  const from = Math.min(0, ...runs.map(({ x }) => x[0] ?? 0));
  const to = Math.max(...runs.map(({ x }) => x.at(-1) ?? 0), from);
  return { from, to: to + Math.max(to - from, 0.001) * 0.0005 };
}

function noteOf({ smoothing, left, runs }: RadtChart): string {
  const points = runs.reduce((sum, { x }) => sum + x.length, 0);
  const parts = [plural(points, "point")];
  if (smoothing > 0) parts.push(`moving average by point, ${Math.round(smoothing * 100)} %`);
  if (left > 0) parts.push(`${plural(left, "value")} not finite`);
  return parts.join(" · ");
}

function viewedChart(chart: RadtChart): ViewedChart {
  const { metric, runs, smoothing, hidden } = chart;
  const full = runs.length === 0 ? { from: 0, to: 1 } : fullOf(runs);
  const smooth = smoothing > 0 ? runs.map(({ y }) => average(y, smoothing)) : null;
  const keyOf = (i: number) => String(i);
  return {
    name: metric,
    unit: "",
    second: null,
    y: { mode: "auto" },
    y2: { mode: "auto" },
    kind: "line",
    marks: [],
    note: noteOf(chart),
    full,
    range: chart.range ?? full,
    hidden: runs.flatMap(({ line }, i) => (hidden.includes(line) ? [keyOf(i)] : [])),
    lines: ({ range, pixels, dark }) =>
      runs.map((run, i) => ({
        key: keyOf(i),
        label: run.label,
        colour: seriesColour(dark ? kDark : kLight, run.index),
        // Runs of one line share its colour.
        dash: runs.length > 1 ? seriesDash(i) : [],
        hidden: false,
        data: columnsOf(run, range, pixels),
        curve: smooth && curveOf({ x: run.x, y: smooth[i] as Float64Array }, range, pixels),
      })),
  };
}

// Each chart keeps the range that the file gives it.
export const radtBoard = (charts: readonly RadtChart[]): ViewedBoard => ({
  x: { kind: "time" },
  linked: false,
  charts: charts.map(viewedChart),
});
