// The time that each of the board's runs spent in each phase, which shows why one of them is slower. Below the lanes.
import { useQuery } from "@tanstack/react-query";
import { Fragment } from "react";
import { sendJson } from "../api/client";
import { Scrolling } from "../app/Scrolling";
import { formatDuration } from "../format/time";
import { formatCount, formatNumber, kThin } from "../format/units";
import type { NameStatistics, PathStatistics } from "./phase";
import { phaseRows, telling } from "./phaseTable";

export interface PhaseTableProps {
  runs: readonly { id: string; name: string }[];
  // Grows when the answer may be another.
  known: number;
  // The run that the others are compared with.
  base: string;
}

const kShareAbout =
  "Share of the run's time; over 100 % if several threads or ranks are in the phase at once";

export function PhaseTable({ runs, known, base }: PhaseTableProps) {
  const ids = runs.map(({ id }) => id);
  const answer = useQuery({
    queryKey: ["phase-table", ids.join(), known],
    queryFn: ({ signal }) =>
      sendJson<{ runs: { run: string; phases: PathStatistics[] }[] }>(
        "POST",
        "/phases/statistics",
        { runs: ids },
        signal,
      ),
    placeholderData: (before) => before,
  });
  const lines = ids.map((id) => answer.data?.runs.find(({ run }) => run === id)?.phases ?? []);
  const rows = phaseRows(lines);
  if (rows.length === 0) return null;
  const told = telling(rows, lines);
  const at = Math.max(0, ids.indexOf(base));
  return (
    <section className="phase-table" aria-label="Time by phase" data-testid="phase-table">
      <div className="line-head">
        <h2>Time by phase</h2>
        <span className="quiet cut">
          total, how often and how long each, part of the run's time; × {runs[at]?.name}. Most
          different first
        </span>
      </div>
      <Scrolling className="inspect-table tall" label="Time by phase of each run">
        <table className="table">
          <thead>
            <tr>
              <th scope="col">phase</th>
              {runs.map(({ id, name }) => (
                <th key={id} scope="colgroup" colSpan={2}>
                  {name}
                </th>
              ))}
            </tr>
            <tr>
              <td />
              {runs.map(({ id }) => (
                <Fragment key={id}>
                  <th scope="col">time</th>
                  <th scope="col" title={kShareAbout}>
                    of the run
                  </th>
                </Fragment>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ name, of }) => (
              <tr key={name} className={name === told ? "told" : undefined}>
                <th scope="row">{name}</th>
                {of.map((one, i) => (
                  <Fragment key={ids[i]}>
                    <td>
                      <Cell of={one} base={i === at ? null : (of[at] ?? null)} />
                    </td>
                    <td>{one === null ? "–" : `${formatNumber(one.share * 100, 3)}${kThin}%`}</td>
                  </Fragment>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolling>
    </section>
  );
}

function Cell({ of, base }: { of: NameStatistics | null; base: NameStatistics | null }) {
  if (of === null) return "–";
  return (
    <>
      {formatDuration(of.total)}
      {base !== null && base.total > 0 && ` (${formatNumber(of.total / base.total, 3)} ×)`}
      {of.mean !== null && (
        <span className="quiet">
          {" "}
          {formatCount(of.count)} × {formatDuration(of.mean)}
        </span>
      )}
    </>
  );
}
