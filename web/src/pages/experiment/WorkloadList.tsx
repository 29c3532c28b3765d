// The workloads of an experiment and its runs without one, with their outcomes; a tick selects.
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import type { OverviewRun, OverviewWorkload } from "../../api/runSearch";
import type { Experiment } from "../../api/types";
import { Check } from "../../app/Check";
import { collocationTitle, collocationWord } from "../../format/collocation";
import { statusTitle } from "../../format/outcome";
import { middleEllipsis } from "../../format/text";
import { formatDuration, formatExactMoment, formatMoment } from "../../format/time";
import { formatCount, formatValue } from "../../format/units";
import { addRuns, addWorkload, type BasketRun, removeRuns, useBasket } from "../../state/basket";
import { statisticsOf, statusesOf } from "./matrix";

const kStep = 100;

export interface WorkloadListProps {
  experiment: Pick<Experiment, "id" | "name">;
  workloads: readonly OverviewWorkload[];
  // The chosen metric, as a heading, and its unit.
  metric: string;
  unit: string;
}

interface Line {
  key: string;
  name: string;
  collocation: string;
  runs: OverviewRun[];
  rows: BasketRun[];
  // A named workload, otherwise one run.
  whole: boolean;
  to: { workload: string } | { run: string };
}

function linesOf({ experiment, workloads }: WorkloadListProps, own: boolean): Line[] {
  return workloads
    .filter((workload) => (workload.name === null) === own)
    .flatMap((workload): Line[] => {
      const rows = workload.runs.map(({ id, name }) => ({
        id,
        name,
        experiment_id: experiment.id,
        experiment: experiment.name,
        workload_id: workload.id,
        workload: workload.name,
      }));
      const { collocation } = workload;
      if (!own) {
        const to = { workload: workload.id };
        const name = workload.name ?? "";
        return [
          { key: workload.id, name, collocation, runs: workload.runs, rows, whole: true, to },
        ];
      }
      return workload.runs.map((run, i) => ({
        key: run.id,
        name: run.name,
        collocation,
        runs: [run],
        rows: rows.slice(i, i + 1),
        whole: false,
        to: { run: run.id },
      }));
    });
}

export function WorkloadList(props: WorkloadListProps & { own: boolean }) {
  const { own, metric, unit, experiment, workloads } = props;
  const lines = useMemo(
    () => linesOf({ experiment, workloads, metric, unit }, own),
    [experiment, workloads, metric, unit, own],
  );
  const [most, setMost] = useState(kStep);
  if (lines.length === 0) return null;
  const left = lines.length - most;
  return (
    <section className="overview-list" aria-label={own ? "Runs without a workload" : "Workloads"}>
      <div className="line-head">
        <h2>{own ? "Runs without a workload" : "Workloads"}</h2>
        <span className="unit">{formatCount(lines.length)}</span>
        {lines.some(({ whole, runs }) => whole && runs.length > 1) && (
          <Link to="/collocation" search={{ experiment: experiment.id }} className="link">
            Workflow and slowdowns
          </Link>
        )}
      </div>
      <div className="matrix-frame">
        <table className="overview" data-testid={own ? "own-runs" : "workloads"}>
          <thead>
            <tr>
              <td />
              <th scope="col">Name</th>
              <th scope="col">Collocation</th>
              {!own && (
                <th scope="col" className="number">
                  Runs
                </th>
              )}
              <th scope="col">Status</th>
              <th scope="col" className="number name">
                {metric}
              </th>
              <th scope="col" className="number">
                Longest
              </th>
              <th scope="col">Started</th>
            </tr>
          </thead>
          <tbody>
            {lines.slice(0, most).map((line) => (
              <ListRow key={line.key} line={line} experiment={experiment.id} unit={unit} />
            ))}
          </tbody>
        </table>
      </div>
      {left > 0 && (
        <button type="button" className="link matrix-more" onClick={() => setMost(most + kStep)}>
          Show {Math.min(kStep, left)} of {left} more
        </button>
      )}
    </section>
  );
}

function ListRow({ line, experiment, unit }: { line: Line; experiment: string; unit: string }) {
  const { runs, rows, name } = line;
  const chosen = useBasket(({ basket }) =>
    rows.reduce((n, { id }) => n + (id in basket.runs ? 1 : 0), 0),
  );
  const { n, mean, low, high } = statisticsOf(runs);
  const statuses = statusesOf(runs);
  const longest = runs.reduce((most, run) => Math.max(most, run.duration_s ?? 0), 0);
  const start = runs.reduce(
    (first, run) => (BigInt(run.start_ns) < BigInt(first) ? run.start_ns : first),
    runs[0]?.start_ns ?? "0",
  );
  const change = (on: boolean) => {
    if (!on) removeRuns(rows.map(({ id }) => id));
    else if (line.whole) addWorkload(rows);
    else addRuns(rows);
  };
  return (
    <tr data-testid="overview-row" className={chosen === rows.length ? "selected" : ""}>
      <td>
        <Check
          label={`Select ${line.whole ? "workload" : "run"} ${name}`}
          checked={chosen === rows.length}
          some={chosen > 0}
          change={change}
        />
      </td>
      <td className="name" title={name}>
        {"run" in line.to ? (
          <Link to="/runs/$id" params={{ id: line.to.run }}>
            {middleEllipsis(name, 40)}
          </Link>
        ) : (
          <Link to="/" search={{ experiment, workload: line.to.workload }}>
            {middleEllipsis(name, 40)}
          </Link>
        )}
      </td>
      <td className="soft name" title={collocationTitle(line.collocation)}>
        {collocationWord(line.collocation)}
      </td>
      {line.whole && <td className="number">{formatCount(runs.length)}</td>}
      <td>
        {statuses.length === 0
          ? "finished"
          : statuses.map(([status, count]) => (
              <span key={status} className={`status status-${status}`} title={statusTitle(status)}>
                {runs.length > 1 ? `${count} ${status}` : status}
              </span>
            ))}
      </td>
      <td className="number" title={n > 1 ? `Mean of ${n} runs, lowest to highest` : undefined}>
        {formatValue(mean, unit)}
        {n > 1 && (
          <span className="step">
            {" "}
            {formatValue(low, unit)} – {formatValue(high, unit)}
          </span>
        )}
      </td>
      <td className="number">{formatDuration(longest)}</td>
      <td className="soft" title={formatExactMoment(start)}>
        {formatMoment(start, new Date())}
      </td>
    </tr>
  );
}
