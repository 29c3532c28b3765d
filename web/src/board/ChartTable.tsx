// A chart as a table: each line's statistics over the range, and its values at some thirty places. It shows the chart's
// content to people who use a screen reader.

import { Scrolling } from "../app/Scrolling";
import { useModal } from "../app/useModal";
import { valueRange } from "../charts/chart";
import type { ChartLine } from "../charts/spec";
import { formatValue } from "../format/units";
import { kAxisWords, placeWords } from "./axis";
import { lineAt } from "./lines";
import type { BoardChart, BoardView } from "./useBoard";

const kRows = 30;

export interface ChartTableProps {
  chart: BoardChart;
  view: BoardView;
  lines: readonly ChartLine[];
  close: () => void;
}

export function ChartTable({ chart, view, lines, close }: ChartTableProps) {
  const dialog = useModal();
  const { range } = view.gesturesOf(chart);
  const ratio = view.making.baseline?.as === "ratio";
  const unitOf = (line: ChartLine) =>
    ratio ? "" : ((line.axis === 1 ? chart.second?.unit : chart.def.unit) ?? "");
  const shown = lines.filter((line) => !line.hidden);
  const step = (range.to - range.from) / kRows;
  const places = Array.from({ length: kRows }, (_, i) => range.from + (i + 0.5) * step);
  const place = placeWords(view.axis, range);
  const name = view.axis === "metric" ? (view.search.xmetric ?? "") : kAxisWords[view.axis];
  return (
    <dialog
      ref={dialog}
      className="dialog"
      onClose={close}
      aria-label={`Table of ${chart.def.name}`}
    >
      <header>
        <h2>{chart.def.name}</h2>
        <button type="button" className="button" onClick={close}>
          Close
        </button>
      </header>
      <Scrolling className="dialog-body" label={`Values of ${chart.def.name}`}>
        <table className="table" data-testid="chart-table">
          <thead>
            <tr>
              <th scope="col">{name}</th>
              {shown.map((line) => (
                <th key={line.key} scope="col">
                  {line.label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            <Extremes lines={shown} unitOf={unitOf} />
            {places.map((x) => (
              <tr key={x}>
                <th scope="row">{place(x)}</th>
                {shown.map((line) => (
                  <td key={line.key}>{formatValue(lineAt(line, x), unitOf(line), 4)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolling>
    </dialog>
  );
}

function Extremes(at: { lines: readonly ChartLine[]; unitOf: (line: ChartLine) => string }) {
  return (["min", "max"] as const).map((word, i) => (
    <tr key={word}>
      <th scope="row">{word}</th>
      {at.lines.map((line) => (
        <td key={line.key}>{formatValue(valueRange([line])?.[i] ?? null, at.unitOf(line), 4)}</td>
      ))}
    </tr>
  ));
}
