// A chart of a board as a figure outside of it: its data are asked for anew, with the same columns on every screen.
import { askSpreads } from "../api/spread";
import { askCharts } from "../api/useCharts";
import { summarise } from "../charts/chart";
import type { ChartLine } from "../charts/spec";
import { kLight } from "../charts/theme";
import { type ChartFigure, makeFigure } from "../export/figure";
import { kPresets, optionsOf, type Preset } from "../export/presets";
import { allLines, axisNames, kChartHeight, specOf } from "./chartSpec";
import { noteWords } from "./compare";
import { spreadWords } from "./lines";
import { kFigureColumns, measuredSeries, questionOf } from "./question";
import type { BoardChart, BoardView } from "./useBoard";

export interface AskedFigure {
  figure: ChartFigure;
  // Those that are drawn.
  lines: readonly ChartLine[];
  // The names of the lines stand in the picture.
  named: boolean;
  title: string;
  // Their units and names.
  axes: string;
  // The picture in words.
  summary: string;
  notes: readonly string[];
}

export async function askFigure(
  chart: BoardChart,
  view: BoardView,
  at: { width: number; height: number; link: string; signal: AbortSignal },
): Promise<AskedFigure> {
  const { width, height, link, signal } = at;
  const { making, hidden, stretches } = view;
  const { range } = view.gesturesOf(chart);
  const place = { width, height: kChartHeight, theme: kLight, range };
  const spec = specOf(chart, view, place);
  const named = spec.kind === "heat" || spec.kind === "multiples";
  const question = questionOf({ ...view, charts: [chart] }, { ...range, width: kFigureColumns });
  const spreadsWanted = stretches.length > 0 && spec.kind !== "heat";
  const [answer, spreads] = await Promise.all([
    askCharts(question, true, { signal }),
    spreadsWanted ? askSpreads(measuredSeries(chart), stretches, signal) : undefined,
  ]);
  const lines = allLines(chart, answer, { making, hidden, theme: kLight, spreads }).filter(
    (line) => !line.hidden,
  );
  const names = axisNames(chart, view);
  const options = optionsOf({ ...(kPresets[0] as Preset), width, height });
  const legend = named ? options.legend : ("none" as const);
  const figure = makeFigure({ lines, spec, link, ...names }, { ...options, axes: false, legend });
  const { picture } = figure;
  const told = noteWords(lines);
  return {
    figure,
    lines,
    named,
    title: names.yName,
    axes: [
      picture.axis?.scale.unit ?? spec.unit,
      ...(names.y2Name === undefined
        ? []
        : [`right: ${names.y2Name} ${picture.axis2?.scale.unit ?? ""}`.trim()]),
      `over ${names.xName}`,
    ]
      .filter((words) => words !== "")
      .join(", "),
    summary: summarise(names.yName, lines, spec),
    notes: [...picture.notes, ...spreadWords(spreads), ...(told === null ? [] : [told])],
  };
}
