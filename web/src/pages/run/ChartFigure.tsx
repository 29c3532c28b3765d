// One chart: title line, canvas, the names at the lines' ends as buttons, and the plot that takes gestures.
import { useLayoutEffect, useMemo, useRef } from "react";
import type { Charts } from "../../api/useCharts";
import { paint } from "../../charts/canvas";
import { type ChartLine, drawChart, kInsets, plotRect, summarise } from "../../charts/chart";
import type { FontMetrics } from "../../charts/font";
import { type ChartTheme, seriesColour, seriesDash } from "../../charts/theme";
import { formatDuration } from "../../format/time";
import { formatCount, kThin, plural } from "../../format/units";
import { soloLine, toggleLine, useView } from "../../state/view";
import type { ChartDef } from "./model";
import { Overlay } from "./Overlay";
import { type Gestures, useSurface } from "./pointer";

// Three rows and the lanes of two runs fit a window of 900.
export const kChartHeight = 180;

export interface FigureProps {
  chart: ChartDef;
  charts: Charts | undefined;
  width: number;
  theme: ChartTheme;
  font: FontMetrics;
  gestures: Gestures;
  // The picture is of another range and its refinement is on the way.
  stale: boolean;
}

// The lines of a chart with what has been answered for them.
export function linesOf(
  chart: ChartDef,
  charts: Charts | undefined,
  at: { theme: ChartTheme; hidden: ReadonlySet<string> },
): ChartLine[] {
  return chart.lines.map((line) => {
    const columns = charts?.series.get(line.series);
    const range = charts && { from: charts.from, to: charts.to, width: charts.width };
    return {
      key: line.key,
      label: line.label,
      colour: line.colour === null ? at.theme.ink2 : seriesColour(at.theme, line.colour),
      // A line that is alone needs no second sign.
      dash: chart.lines.length > 1 ? seriesDash(line.dash) : [],
      hidden: at.hidden.has(line.key),
      data: columns && range ? { columns, ...range, spacing: line.spacing } : null,
    };
  });
}

export function ChartFigure({ chart, charts, width, theme, font, gestures, stale }: FigureProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const hidden = useView((view) => view.hidden);
  const { range, full } = gestures;
  const zoomed = range.from > full.from || range.to < full.to;
  const surface = useSurface({ ...gestures, name: chart.name });
  const lines = useMemo(
    () => linesOf(chart, charts, { theme, hidden }),
    [chart, charts, theme, hidden],
  );
  const known = lines.some((line) => line.data !== null);
  const picture = useMemo(
    () =>
      drawChart(
        lines,
        { width, height: kChartHeight, ...range, unit: chart.unit, zoomed, theme },
        font,
      ),
    [lines, width, range, chart.unit, zoomed, theme, font],
  );
  useLayoutEffect(() => {
    if (canvas.current !== null && known) paint(canvas.current, picture, devicePixelRatio);
  }, [picture, known]);
  const plot = plotRect(width, kChartHeight);
  const unit = picture.axis?.scale.unit ?? chart.unit;
  const points = lines.reduce(
    (sum, line) => sum + (line.hidden ? 0 : (line.data?.columns.points ?? 0)),
    0,
  );
  return (
    <figure data-testid="chart" data-metric={chart.name}>
      <div className="line-head">
        <h2
          className="cut"
          title={chart.description === "" ? chart.name : `${chart.name}: ${chart.description}`}
        >
          {chart.name}
        </h2>
        <span className="unit">{unit}</span>
        {chart.left > 0 && <span className="unit">the busiest {manyOf(chart)}</span>}
        <span className="badge" data-testid="chart-badge">
          {known && charts ? badgeText(lines, charts, points) : "loading"}
        </span>
      </div>
      <div className="plot" style={{ height: kChartHeight }}>
        <canvas
          ref={canvas}
          className={stale ? "stale" : ""}
          role="img"
          aria-label={known ? summarise(chart.name, lines, chart) : `${chart.name}. Loading.`}
          data-from={charts?.from}
          data-to={charts?.to}
          data-points={points}
        />
        {picture.labels.map((label) => (
          <button
            key={label.key}
            type="button"
            className="line-name"
            style={{
              left: label.x - 2,
              top: label.y,
              width: label.width + 4,
              height: label.height,
            }}
            aria-pressed={!label.hidden}
            aria-label={`${lines.find((line) => line.key === label.key)?.label}, ${label.hidden ? "hidden" : "shown"}`}
            title={`${lines.find((line) => line.key === label.key)?.label}: click hides or shows, double-click shows it alone`}
            onClick={(event) => {
              if (event.altKey) solo(label.key, chart);
              else if (event.detail < 2) toggleLine(label.key);
            }}
            onDoubleClick={() => {
              solo(label.key, chart);
            }}
          />
        ))}
        <div
          className="surface"
          ref={surface}
          style={{ left: kInsets.left, top: 0, width: plot.width, height: plot.y + plot.height }}
        >
          <Overlay range={range} width={plot.width} />
        </div>
      </div>
    </figure>
  );
}

const manyOf = ({ lines, left }: ChartDef) =>
  `${lines.length} of ${formatCount(lines.length + left)}`;

function solo(key: string, chart: ChartDef): void {
  const { hidden } = useView.getState();
  // The first click of a double-click has just switched the line off.
  if (hidden.has(key)) toggleLine(key);
  soloLine(
    key,
    chart.lines.map((line) => line.key),
  );
}

function badgeText(lines: readonly ChartLine[], charts: Charts, points: number): string {
  const exact = lines.every((line) => line.data?.columns.exact ?? true);
  const nonFinite = lines.reduce((sum, line) => sum + (line.data?.columns.nonFinite ?? 0), 0);
  const parts = [
    `1 px = ${formatDuration((charts.to - charts.from) / charts.width)}`,
    plural(points, "point"),
    exact ? "exact" : "aligned",
  ];
  if (nonFinite > 0) parts.push(`${formatCount(nonFinite)} not finite`);
  const damaged = lines.some(
    ({ data }) => data && (data.columns.unknownGap || data.columns.gaps.length > 0),
  );
  if (damaged) parts.push("damaged data left out");
  // The badge is in the fixed-width face, where a thin space is none.
  return parts.join(" · ").replaceAll(kThin, " ");
}
