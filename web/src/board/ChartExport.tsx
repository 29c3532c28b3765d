// A chart of the board in the figure workshop, asked for anew: a figure has the same columns on every screen.
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { askCharts } from "../api/useCharts";
import { useChartTheme } from "../app/colours";
import type { ChartLine } from "../charts/spec";
import { Workshop } from "../export/Workshop";
import { allLines, axisNames, kChartHeight, specOf } from "./chartSpec";
import { defsOf, kFigureColumns, questionOf } from "./question";
import type { BoardChart, BoardView } from "./useBoard";

export interface ChartExportProps {
  chart: BoardChart;
  view: BoardView;
  lines: readonly ChartLine[];
  close: () => void;
}

export function ChartExport({ chart, view, lines, close }: ChartExportProps) {
  const theme = useChartTheme();
  const { range } = view.gesturesOf(chart);
  const question = questionOf({ ...view, charts: [chart] }, { ...range, width: kFigureColumns });
  const answer = useQuery({
    queryKey: ["figure", chart.key, view.search],
    queryFn: ({ signal }) => askCharts(question, true, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const { making, hidden } = view;
  const source = useMemo(() => {
    const spreads = new Map(lines.map((line) => [line.key, line.spreads]));
    const fine = allLines(chart, answer.data, { making, hidden, theme }).map((line) => {
      const spread = spreads.get(line.key);
      return spread === undefined ? line : { ...line, spreads: spread };
    });
    return {
      // Without an answer, the ones on the screen have to do.
      lines: answer.data === undefined ? lines : fine,
      spec: specOf(chart, view, { width: 720, height: kChartHeight, theme, range }),
      link: location.href,
      ...axisNames(chart, view),
    };
  }, [lines, chart, view, making, hidden, range, theme, answer.data]);
  const full = useMemo(() => {
    // All points: those that an expression is made of.
    const measured = defsOf([chart]).flatMap(({ name, lines: [line] }) =>
      line?.made === undefined ? [name] : line.made.inputs.map(({ metric }) => metric),
    );
    const names = [...new Set(measured)];
    const runs = new Set(chart.def.lines.map((line) => line.run));
    return view.shown
      .filter((run) => runs.has(run.id))
      .flatMap((run) => names.map((metric) => ({ run: run.id, label: run.name, metric })));
  }, [chart, view.shown]);
  if (answer.isPending) return null;
  return <Workshop name={chart.def.name} source={source} full={full} close={close} />;
}
