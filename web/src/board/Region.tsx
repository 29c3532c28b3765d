// Statistics of every drawn line inside the selected region or between the two marks, and the metrics that changed
// against the time before. From all points, computed by the server.

import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { sendJson } from "../api/client";
import type { Num } from "../api/types";
import { finite } from "../api/types";
import { Scrolling } from "../app/Scrolling";
import { formatDuration } from "../format/time";
import { formatCount, formatValue, kThin } from "../format/units";
import { useView } from "../state/view";
import { kAxisWords, placeWords } from "./axis";
import { Changes } from "./Changes";
import type { ChartDef, LineDef } from "./model";
import type { Range } from "./pointer";
import type { BoardView } from "./useBoard";

interface Window {
  series: number;
  rate: boolean;
  count: number;
  mean: Num;
  deviation: Num;
  min: { value: Num } | null;
  max: { value: Num } | null;
  first: { value: Num } | null;
  last: { value: Num } | null;
  integral: { value: Num; exact: boolean } | null;
}

interface Row {
  chart: ChartDef;
  line: LineDef;
}

const kMaxSeries = 256;

// Every line that is drawn, once, those of right axes too.
function drawnRows(charts: BoardView["charts"], hidden: ReadonlySet<string>): Row[] {
  const rows = charts.flatMap(({ def, second }) => [
    ...def.lines.flatMap((line) => (hidden.has(line.key) ? [] : [{ chart: def, line }])),
    ...(second?.lines ?? []).flatMap((line) =>
      hidden.has(`${line.key}/${second?.name}`) ? [] : [{ chart: second as ChartDef, line }],
    ),
  ]);
  // Statistics are of measured points.
  const measured = rows.filter(({ line }) => line.made === undefined);
  return [...new Map(measured.map((row) => [row.line.series, row])).values()];
}

// Between A and B where both are marked, else the selected region.
function useRegion(view: BoardView): Range | null {
  const { a, b } = useView((state) => state.marks);
  if (a !== null && b !== null && a !== b) return { from: Math.min(a, b), to: Math.max(a, b) };
  return view.region;
}

function questionOf(rows: readonly Row[], region: Range, onTime: boolean): Record<string, unknown> {
  const series = rows.map(({ line }) => line.series);
  if (!onTime) {
    const from = Math.floor(region.from);
    const to = Math.max(from + 1, Math.ceil(region.to));
    return { series, axis: "step", from_step: String(from), to_step: String(to) };
  }
  const ns = (seconds: number) => String(BigInt(Math.round(seconds * 1e9)));
  return {
    series,
    axis: "relative",
    origins_ns: rows.map(({ line }) => String(line.origin)),
    from_ns: ns(region.from),
    to_ns: ns(region.to),
  };
}

export function Region({ view }: { view: BoardView }) {
  const region = useRegion(view);
  if (region === null) return null;
  return <Opened view={view} region={region} />;
}

function Opened({ view, region }: { view: BoardView; region: Range }) {
  const { charts, hidden, onTime, gestures } = view;
  const counted = view.counted !== null;
  const drawn = useMemo(
    () => (counted ? drawnRows(charts, hidden) : []),
    [charts, hidden, counted],
  );
  const rows = useMemo(() => drawn.slice(0, kMaxSeries), [drawn]);
  const question = questionOf(rows, region, onTime);
  const answer = useQuery({
    queryKey: ["windows", question],
    queryFn: ({ signal }) => sendJson<{ windows: Window[] }>("POST", "/windows", question, signal),
    enabled: rows.length > 0,
  });
  const place = placeWords(view.axis, region);
  return (
    <section className="inspect" aria-label="Selected region" data-testid="inspect">
      <div className="line-head">
        <h2>
          {place(region.from)} – {place(region.to)}
        </h2>
        <span className="unit">
          {kAxisWords[view.axis]}
          {onTime && `, ${formatDuration(region.to - region.from)}`}
        </span>
        <span className="grow" />
        <button type="button" className="button" onClick={() => gestures.zoom(region)}>
          Zoom
        </button>
        {onTime && (
          <button
            type="button"
            className="button"
            onClick={() => useView.setState({ noteAt: region })}
          >
            Note
          </button>
        )}
        <button type="button" className="button" onClick={gestures.clear}>
          Close
        </button>
      </div>
      {!counted && (
        <p className="quiet">
          Statistics of a region are computed on axes of time and steps; choose one of those.
        </p>
      )}
      {answer.error && <p className="quiet">{answer.error.message}</p>}
      {rows.length < drawn.length && (
        <p className="quiet" data-testid="region-limit">
          {partWords(rows.length, drawn.length, "lines")} Hide lines or remove charts or runs to see
          the others.
        </p>
      )}
      {counted && !answer.error && <Statistics rows={rows} windows={answer.data?.windows} />}
      {counted && <Changes view={view} region={region} />}
    </section>
  );
}

// "The first 256 of 1 024 lines."
export const partWords = (shown: number, of: number, what: string) =>
  `The first ${formatCount(shown)} of ${formatCount(of)} ${what}.`;

const kHead = [
  "metric",
  "line",
  "n",
  "mean",
  "deviation",
  "min",
  "max",
  "first → last",
  "integral",
];

function Statistics({ rows, windows }: { rows: readonly Row[]; windows: Window[] | undefined }) {
  const bySeries = new Map(windows?.map((window) => [window.series, window]));
  return (
    <Scrolling className="inspect-table" label={"Statistics of the region"}>
      <table className="table" data-testid="region-table">
        <thead>
          <tr>
            {kHead.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ chart, line }) => (
            <StatisticsRow
              key={line.series}
              row={{ chart, line }}
              window={bySeries.get(line.series)}
            />
          ))}
        </tbody>
      </table>
    </Scrolling>
  );
}

function StatisticsRow({ row, window }: { row: Row; window: Window | undefined }) {
  const { chart, line } = row;
  const { unit } = chart;
  const value = (v: Num | undefined) => formatValue(finite(v), unit, 4);
  const first = finite(window?.first?.value);
  const last = finite(window?.last?.value);
  const difference = first === null || last === null ? null : last - first;
  const integral = finite(window?.integral?.value);
  return (
    <tr>
      <th scope="row">{chart.name}</th>
      <td className="left">{line.label}</td>
      <td>{window === undefined ? "…" : formatCount(window.count)}</td>
      <td>{value(window?.mean)}</td>
      <td>{value(window?.deviation)}</td>
      <td>{value(window?.min?.value)}</td>
      <td>{value(window?.max?.value)}</td>
      <td>
        {value(window?.first?.value)} → {value(window?.last?.value)}
        {difference !== null &&
          ` (${difference > 0 ? "+" : ""}${formatValue(difference, unit, 3)})`}
      </td>
      <td>{integral === null ? "–" : integralWords(integral, unit)}</td>
    </tr>
  );
}

// An integral over time in words: energy for power, the sum for a rate, else the unit times seconds.
export function integralWords(value: number, unit: string): string {
  if (unit === "W") return formatValue(value, "J", 4);
  if (unit === "1/s") return formatValue(value, "", 4);
  if (unit.endsWith("/s")) return formatValue(value, unit.slice(0, -2), 4);
  return `${formatValue(value, unit, 4)}${unit === "" ? kThin : ""}·s`;
}
