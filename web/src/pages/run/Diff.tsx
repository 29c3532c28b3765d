// This run beside another: their inputs, environments and results; differences first.

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { getJson } from "../../api/client";
import { useRun } from "../../api/queries";
import { finite, type Metric, type Plain, type RunDetail } from "../../api/types";
import { Failing, Loading } from "../../app/Notice";
import { Scrolling } from "../../app/Scrolling";
import { commandLine } from "../../format/text";
import { formatDuration } from "../../format/time";
import { formatCount, formatValue } from "../../format/units";
import { words } from "./About";

export interface DiffProps {
  run: RunDetail;
  metrics: readonly Metric[];
  against: string | undefined;
  choose: (id: string) => void;
}

export function Diff({ run, metrics, against, choose }: DiffProps) {
  const [typed, setTyped] = useState("");
  return (
    <div className="about" data-testid="diff">
      <form
        className="finder"
        onSubmit={(event) => {
          event.preventDefault();
          if (typed.trim() !== "") choose(typed.trim());
        }}
      >
        <input
          type="text"
          placeholder="Another run: name, id, or @2 for the second newest"
          aria-label="Another run"
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          list="diff-runs"
        />
        <datalist id="diff-runs">
          {run.neighbours.map((other) => (
            <option key={other.id} value={other.id}>
              {other.name}
            </option>
          ))}
        </datalist>
        <button type="submit" className="button">
          Compare
        </button>
      </form>
      {against === undefined ? (
        <p className="quiet">Name another run to see what differs.</p>
      ) : (
        <Against run={run} metrics={metrics} against={against} />
      )}
    </div>
  );
}

export interface DiffRow {
  key: string;
  a: string;
  b: string;
  note: string;
}

// Keys of both in order; equal pairs last. Pure.
export function diffRows(
  a: Readonly<Record<string, Plain>>,
  b: Readonly<Record<string, Plain>>,
): DiffRow[] {
  const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])].sort();
  return keys
    .map((key) => ({ key, a: words(key, a[key]), b: words(key, b[key]), note: "" }))
    .sort((x, y) => Number(x.a === x.b) - Number(y.a === y.b));
}

function metricRows(a: readonly Metric[], b: readonly Metric[]): DiffRow[] {
  const named = (metrics: readonly Metric[]) =>
    new Map(metrics.map((metric) => [`${metric.name} ${metric.source}`.trim(), metric]));
  const [of, other] = [named(a), named(b)];
  const value = (metric: Metric | undefined) =>
    metric?.group === "software" ? finite(metric.last) : finite(metric?.mean);
  return [...new Map([...other, ...of])]
    .filter(([, metric]) => metric.kind === "gauge")
    .map(([key, metric]) => {
      const [x, y] = [value(of.get(key)), value(other.get(key))];
      const change = x === null || y === null || x === 0 ? null : ((y - x) / Math.abs(x)) * 100;
      const percent =
        change === null ? "" : `${change > 0 ? "+" : ""}${formatValue(change, "%", 3)}`;
      const [one, two] = [x, y].map((v) => formatValue(v, metric.unit, 4)) as [string, string];
      return { row: { key, a: one, b: two, note: percent }, size: Math.abs(change ?? 0) };
    })
    .sort((x, y) => y.size - x.size)
    .map(({ row }) => row);
}

const outcome = (run: RunDetail): Record<string, Plain> => ({
  status: run.status,
  duration: formatDuration(run.duration_s),
  experiment: run.experiment,
  workload: run.workload,
  host: run.host,
  command: run.command === null ? null : commandLine(run.command),
});

// The cost of measuring differs in every run and says nothing about its environment. Lists ("numpy==1.26" or
// "OMP_NUM_THREADS=4" a line) differ by their lines.
export function environment(info: Readonly<Record<string, Plain>>): Record<string, Plain> {
  const found: Record<string, Plain> = {};
  for (const [key, value] of Object.entries(info)) {
    if (key.startsWith("collecting_")) continue;
    if (!key.startsWith("environment.") || typeof value !== "string" || !value.includes("\n")) {
      found[key] = value;
      continue;
    }
    for (const line of value.trimEnd().split("\n")) {
      const [, name = line, rest = "there"] = /^([^=]+)==?(.*)$/.exec(line) ?? [];
      found[`${key.replace("environment.", "")} ${name}`] = rest;
    }
  }
  return found;
}

function Against({ run, metrics, against }: Omit<DiffProps, "choose"> & { against: string }) {
  const answer = useRun(against);
  const other = answer.data;
  const theirs = useQuery({
    queryKey: ["metrics", other?.id],
    queryFn: ({ signal }) =>
      getJson<{ metrics: Metric[] }>(`/runs/${other?.id}/metrics`, {}, signal),
    enabled: other !== undefined,
  });
  if (answer.error) return <Failing error={answer.error} retry={() => void answer.refetch()} />;
  if (other === undefined) return <Loading what="the other run" />;
  const names: [string, string] = [run.name, other.name];
  return (
    <>
      <Compared title="Outcome" names={names} rows={diffRows(outcome(run), outcome(other))} />
      <Compared title="Params" names={names} rows={diffRows(run.params, other.params)} />
      <Compared title="Tags" names={names} rows={diffRows(run.tags, other.tags)} />
      <Compared
        title="Environment"
        names={names}
        rows={diffRows(environment(run.info), environment(other.info))}
      />
      {theirs.data && (
        <Compared
          title="Metrics: last values of the script, means of the others"
          names={names}
          rows={metricRows(metrics, theirs.data.metrics)}
        />
      )}
    </>
  );
}

function Compared(at: { title: string; names: [string, string]; rows: DiffRow[] }) {
  const [all, setAll] = useState(false);
  const differing = at.rows.filter(({ a, b }) => a !== b);
  const shown = all ? at.rows : differing;
  if (at.rows.length === 0) return null;
  const same = at.rows.length - differing.length;
  return (
    <section aria-label={at.title}>
      <div className="line-head">
        <h2>{at.title}</h2>
        {same > 0 && (
          <button type="button" className="link" onClick={() => setAll(!all)}>
            {all ? "only differences" : `${formatCount(same)} equal`}
          </button>
        )}
      </div>
      {shown.length === 0 ? (
        <p className="quiet">No differences.</p>
      ) : (
        <Scrolling className="inspect-table tall" label={at.title}>
          <table className="table diff">
            <thead>
              <tr>
                <th scope="col">{""}</th>
                {at.names.map((name, i) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: two runs may share a name
                  <th key={i} scope="col">
                    {name}
                  </th>
                ))}
                <th scope="col">change</th>
              </tr>
            </thead>
            <tbody>
              {shown.map((row) => (
                <tr key={row.key} className={row.a === row.b ? "quiet" : ""}>
                  <th scope="row">{row.key}</th>
                  <td>{row.a}</td>
                  <td>{row.b}</td>
                  <td>{row.note}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scrolling>
      )}
    </section>
  );
}
