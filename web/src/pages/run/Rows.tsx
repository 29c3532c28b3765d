// A table of which the first rows are shown, and all at a click.
import { useState } from "react";
import { Scrolling } from "../../app/Scrolling";
import { formatCount } from "../../format/units";

export interface Column<T> {
  name: string;
  cell: (row: T) => string;
  left?: boolean;
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
      <Scrolling className="inspect-table" label={at.label}>
        <table className="table" aria-label={at.label}>
          <thead>
            <tr>
              {at.columns.map(({ name, left }) => (
                <th key={name} scope="col" className={left ? "left" : ""}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a row is its place
              <tr key={i}>
                {at.columns.map(({ name, cell, left }, column) =>
                  column === 0 ? (
                    <th key={name} scope="row">
                      {cell(row)}
                    </th>
                  ) : (
                    <td key={name} className={left ? "left" : ""}>
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
