// Makes an HTML file that opens offline: the board's charts are requested once more, with a fixed number of columns.
import { askCharts, type Charts } from "../api/useCharts";
import type { ChartSpec } from "../charts/spec";
import { type ChartTheme, kDark, kLight } from "../charts/theme";
import {
  kOfflineColumns,
  kOfflineCurveColumns,
  type OfflineChart,
  type OfflineCounts,
  type OfflineLayer,
  offlineHtml,
  packLine,
} from "../export/offline";
import { kAxisWords, kXKind } from "./axis";
import { allLines, kChartHeight, specOf } from "./chartSpec";
import type { Range } from "./pointer";
import { defsOf, questionOf } from "./question";
import type { BoardChart, BoardView } from "./useBoard";

type Specs = ReadonlyMap<BoardChart, ChartSpec>;

function specsOf(view: BoardView): Specs {
  const place = { width: 0, height: kChartHeight, theme: kLight };
  const rangeOf = (chart: BoardChart) => view.gesturesOf(chart).range;
  return new Map(
    view.charts.map((chart) => [chart, specOf(chart, view, { ...place, range: rangeOf(chart) })]),
  );
}

const same = (a: Range, b: Range) => a.from === b.from && a.to === b.to;

// The visible ranges of the charts if they are zoomed: the board's range, or a chart's own.
function rangesOf({ gestures: { full } }: BoardView, specs: Specs): Range[] {
  const some: Range[] = [];
  for (const { from, to } of specs.values())
    if (![full, ...some].some((one) => same(one, { from, to }))) some.push({ from, to });
  return some;
}

// Hidden lines are left out.
function layerOf(chart: BoardChart, answer: Charts, view: BoardView): OfflineLayer {
  const { making, hidden } = view;
  const drawn = (theme: ChartTheme) => allLines(chart, answer, { making, theme, hidden });
  const dark = drawn(kDark);
  const lines = drawn(kLight).flatMap((line, i) =>
    line.hidden ? [] : [packLine(line, dark[i]?.colour ?? line.colour)],
  );
  return { from: answer.from, to: answer.to, lines };
}

function chartOf(
  chart: BoardChart,
  spec: ChartSpec,
  at: { answers: readonly Charts[]; view: BoardView },
): OfflineChart {
  const { def, second } = chart;
  const compared = at.view.making.baseline;
  const against = compared && ` ${compared.as === "ratio" ? "÷" : "−"} ${compared.label}`;
  return {
    name: `${def.name}${against ?? ""}`,
    unit: spec.unit,
    second: second && { name: second.name, unit: spec.unit2 ?? "" },
    y: spec.y ?? { mode: "auto" },
    y2: spec.y2 ?? { mode: "auto" },
    kind: spec.kind ?? "line",
    marks: spec.marks ?? [],
    windows: spec.windows ?? [],
    from: spec.from,
    to: spec.to,
    layers: at.answers.map((answer) => layerOf(chart, answer, at.view)),
  };
}

async function viewerScript(): Promise<string> {
  const answer = await fetch("/assets/viewer.js", { cache: "no-store" });
  if (!answer.ok) throw new Error("The server does not have the offline page's script.");
  return answer.text();
}

async function askAll(view: BoardView, range: Range): Promise<Charts> {
  const measured = questionOf(view, { ...range, width: kOfflineColumns });
  const { over: _, ...computed } = questionOf(view, { ...range, width: kOfflineCurveColumns });
  const [answer, { lines }] = await Promise.all([
    askCharts({ ...measured, lines: [] }, true),
    askCharts({ ...computed, series: [], pairs: [] }, true),
  ]);
  return { ...answer, lines };
}

export async function offlinePage(view: BoardView): Promise<string> {
  if (view.charts.length === 0) throw new Error("No chart to export yet.");
  const specs = specsOf(view);
  const ask = (charts: readonly BoardChart[], range: Range) =>
    askAll({ ...view, charts: [...charts] }, range);
  const [viewer, whole, ...parts] = await Promise.all([
    viewerScript(),
    ask(view.charts, view.gestures.full),
    ...rangesOf(view, specs).map(async (range) => {
      const charts = view.charts.filter((chart) => same(specs.get(chart) as ChartSpec, range));
      return { charts, answer: await ask(charts, range) };
    }),
  ]);
  const [first] = specs.values();
  const board = {
    title: document.title,
    link: location.href,
    made: new Date().toISOString().slice(0, 16).replace("T", " "),
    words: view.axis === "metric" ? (view.search.xmetric ?? "") : kAxisWords[view.axis],
    x: { kind: kXKind[view.axis], ...(first?.x?.unit ? { unit: first.x.unit } : {}) },
    charts: view.charts.map((chart) => {
      const mine = parts.filter(({ charts }) => charts.includes(chart));
      const answers = [whole, ...mine.map(({ answer }) => answer)];
      return chartOf(chart, specs.get(chart) as ChartSpec, { answers, view });
    }),
  };
  return offlineHtml(board, viewer);
}

// Returns the maximum number of lines in such a page.
export function offlineCounts(view: BoardView): OfflineCounts {
  const { grouping, smoothing, baseline, singles, groups } = view.making;
  const all = defsOf(view.charts);
  const lines = all.reduce((n, def) => n + def.lines.length, 0);
  const measured = baseline === null && (grouping === null || singles) && view.axis !== "metric";
  const derived = all.reduce((n, def) => n + def.lines.filter(({ made }) => made).length, 0);
  const computed = baseline !== null || smoothing !== null ? lines : derived;
  return {
    columns: measured ? lines - derived : 0,
    // A group has a band, which makes three values of a column.
    curves: grouping === null ? computed : 3 * groups.length * all.length,
    pairs: view.axis === "metric" ? lines : 0,
    layers: rangesOf(view, specsOf(view)).length === 0 ? 1 : 2,
  };
}
