// A table of which the first rows are shown, and all at a click.
import { type ReactNode, useState } from "react";
import { formatCount } from "../format/units";
import { Scrolling } from "./Scrolling";

export interface Column<T> {
  name: string;
  cell: (row: T) => ReactNode;
  left?: boolean;
  // For files, where it is not the text of the cell.
  raw?: (row: T) => unknown;
}

export function Rows<T>(at: {
  label: string;
  columns: Column<T>[];
  rows: readonly T[];
  most: number;
}) {
  const [all, setAll] = useState(false);
  const shown = all ? at.rows : at.rows.slice(0, at.most);
  return (
    <>
      <Scrolling className="inspect-table" label={`${at.label}, table`}>
        <table className="table" aria-label={at.label}>
          <thead>
            <tr>
              {at.columns.map(({ name, left }, column) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: a column is its place
                <th key={column} scope="col" className={left ? "left" : ""}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a row is its place
              <tr key={i}>
                {at.columns.map(({ cell, left }, column) =>
                  column === 0 ? (
                    // biome-ignore lint/suspicious/noArrayIndexKey: as above
                    <th key={column} scope="row">
                      {cell(row)}
                    </th>
                  ) : (
                    // biome-ignore lint/suspicious/noArrayIndexKey: as above
                    <td key={column} className={left ? "left" : ""}>
                      {cell(row)}
                    </td>
                  ),
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolling>
      {shown.length < at.rows.length && (
        <button type="button" className="link" onClick={() => setAll(true)}>
          all {formatCount(at.rows.length)}
        </button>
      )}
    </>
  );
}
