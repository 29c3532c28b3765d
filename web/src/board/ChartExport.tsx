// A chart of the board in the figure workshop.
import { useMemo } from "react";
import type { ChartLine } from "../charts/spec";
import { Workshop } from "../export/Workshop";
import { kAxisWords } from "./axis";
import { kChartHeight, specOf } from "./chartSpec";
import { type BoardChart, type BoardView, useChartTheme } from "./useBoard";
import { usePageFont } from "./usePageFont";

export interface ChartExportProps {
  chart: BoardChart;
  view: BoardView;
  lines: readonly ChartLine[];
  close: () => void;
}

// The names of the axes, with the baseline if there is one.
function namesOf({ def, second }: BoardChart, { making }: BoardView) {
  const { baseline } = making;
  const sign = baseline?.as === "ratio" ? "÷" : "−";
  const named = (name: string) => (baseline === null ? name : `${name} ${sign} ${baseline.label}`);
  return { yName: named(def.name), ...(second === null ? {} : { y2Name: named(second.name) }) };
}

export function ChartExport({ chart, view, lines, close }: ChartExportProps) {
  const theme = useChartTheme();
  const font = usePageFont();
  const source = useMemo(
    () => ({
      lines,
      spec: specOf(chart, view, { width: 720, height: kChartHeight, theme }),
      font,
      link: location.href,
      xName: view.axis === "metric" ? (view.search.xmetric ?? "metric") : kAxisWords[view.axis],
      ...namesOf(chart, view),
    }),
    [lines, chart, view, theme, font],
  );
  const full = useMemo(() => {
    const names = [chart.def.name, ...(chart.second === null ? [] : [chart.second.name])];
    const runs = new Set(chart.def.lines.map((line) => line.run));
    return view.shown
      .filter((run) => runs.has(run.id))
      .flatMap((run) => names.map((metric) => ({ run: run.id, label: run.name, metric })));
  }, [chart, view.shown]);
  return <Workshop name={chart.def.name} source={source} full={full} close={close} />;
}
