// The matrix of an experiment: the chosen metric as text on a tint, what did not finish in words; a click opens the
// runs of the cell on a board.
import { type CSSProperties, useState } from "react";
import { collocationTitle, collocationWord } from "../../format/collocation";
import { formatValue, plural } from "../../format/units";
import { BoardLink } from "../basket/BoardLink";
import type { Cell, Matrix } from "./matrix";

const kStep = 100;

export interface MatrixTableProps {
  matrix: Matrix;
  by: "workload" | "model";
  metric: string;
  unit: string;
}

export function MatrixTable({ matrix, by, metric, unit }: MatrixTableProps) {
  const [most, setMost] = useState(kStep);
  const left = matrix.rows.length - most;
  return (
    <>
      <div className="matrix-frame">
        <table className="matrix" data-testid="matrix">
          <caption className="unseen">
            {metric} by {by} and collocation
          </caption>
          <thead>
            <tr>
              <th scope="col">{by === "model" ? "Model" : "Workload"}</th>
              {matrix.columns.map((column) => (
                <th key={column} scope="col" className="name" title={collocationTitle(column)}>
                  {collocationWord(column)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {matrix.rows.slice(0, most).map((row) => (
              <tr key={row.key} data-testid="matrix-row">
                <th scope="row" className="cut name" title={row.name ?? undefined}>
                  {row.name ?? (
                    <span className="quiet">
                      {by === "model" ? "no model" : "without a workload"}
                    </span>
                  )}
                </th>
                {row.cells.map((cell, i) => (
                  <td
                    key={matrix.columns[i]}
                    data-testid="matrix-cell"
                    data-collocation={matrix.columns[i]}
                  >
                    <CellContent cell={cell} metric={metric} unit={unit} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {left > 0 && (
        <button type="button" className="link matrix-more" onClick={() => setMost(most + kStep)}>
          Show {Math.min(kStep, left)} of {left} more
        </button>
      )}
    </>
  );
}

interface CellContentProps {
  cell: Cell | null;
  metric: string;
  unit: string;
}

function CellContent({ cell, metric, unit }: CellContentProps) {
  if (cell === null) return <span className="matrix-none">not run</span>;
  const { n, mean, low, high } = cell.value;
  const text = mean === null ? `no ${metric}` : formatValue(mean, unit);
  const statuses = cell.statuses.map(([status, count]) => `${count} ${status}`);
  const range = n > 1 ? `, ${formatValue(low, unit)} to ${formatValue(high, unit)}` : "";
  const of = n < cell.runs.length ? ` of ${cell.runs.length}` : "";
  const words = [
    `${metric} ${text}${range}`,
    `${n}${of} ${cell.runs.length === 1 ? "run" : "runs"}`,
    ...statuses,
  ];
  const style = { "--share": cell.share ?? 0 } as CSSProperties;
  return (
    <BoardLink
      selection={cell.board}
      className={cell.share === null ? "matrix-cell" : "matrix-cell tinted"}
      title={`${words.join("; ")}. Click to compare them`}
      testid="matrix-link"
    >
      <span className="matrix-value" style={style}>
        <b>{text}</b>
        {cell.runs.length > 1 && <span className="soft">{plural(cell.runs.length, "run")}</span>}
        {cell.statuses.map(([status, count]) => (
          <span key={status} className="matrix-status">
            <span className={`status status-${status}`} /> {count} {status}
          </span>
        ))}
      </span>
    </BoardLink>
  );
}

export function Scale({ matrix, unit }: { matrix: Matrix; unit: string }) {
  if (matrix.low === null || matrix.high === null || matrix.low === matrix.high) return null;
  return (
    <span className="matrix-scale" title="Cell colour: lowest to highest mean">
      {formatValue(matrix.low, unit)}
      <span className="matrix-ramp" aria-hidden="true" />
      {formatValue(matrix.high, unit)}
    </span>
  );
}
