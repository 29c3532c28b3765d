// The clicked phase: its kind, its attributes, and how long all phases of its name lasted in its run. Below the lanes;
// loaded when it is first opened.
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { sendJson } from "../api/client";
import type { Phase } from "../api/types";
import { Scrolling } from "../app/Scrolling";
import { formatDuration } from "../format/time";
import { formatCount, formatNumber, kThin } from "../format/units";
import { laneTitle, type PhasePlace } from "./laneRows";
import { lengthsOf, median, type PathStatistics, percentile, statisticsOfName } from "./phase";

export interface PhasePanelProps {
  at: PhasePlace;
  // All phases of its run.
  phases: readonly Phase[];
  // A place on the axis in words.
  place: (x: number) => string;
  step: (by: 1 | -1) => void;
  close: () => void;
}

const words = (seconds: number | null) => (seconds === null ? "–" : formatDuration(seconds));

export function PhasePanel({ at, phases, place, step, close }: PhasePanelProps) {
  const { run, lane, span } = at;
  const { name } = span.phase;
  const lengths = useMemo(() => lengthsOf(phases, name), [phases, name]);
  const middle = median(lengths);
  const length = span.end - span.start;
  return (
    <section className="inspect phase-panel" aria-label="Phase" data-testid="phase-panel">
      <div className="line-head">
        <h2 className="cut name">{span.label}</h2>
        <span className="unit">
          {words(length)}
          {span.open && " so far"}
          {middle !== null &&
            middle > 0 &&
            lengths.length > 1 &&
            `, ${formatNumber(length / middle, 3)} × the median`}
        </span>
        <span className="quiet cut">
          {run.name}, {laneTitle(lane.name)}, {span.kind}, {place(span.start)} –{" "}
          {span.open ? "now" : place(span.end)}
        </span>
        <span className="grow" />
        <button
          type="button"
          className="button"
          title="Previous phase (,)"
          onClick={() => step(-1)}
        >
          Before
        </button>
        <button type="button" className="button" title="Next phase (.)" onClick={() => step(1)}>
          After
        </button>
        <button type="button" className="button" onClick={close}>
          Close
        </button>
      </div>
      <Attributes phase={span.phase} />
      <Statistics run={run.id} name={name} lengths={lengths} known={phases.length} />
    </section>
  );
}

function Attributes({ phase }: { phase: Phase }) {
  const entries = Object.entries(phase.attributes);
  if (entries.length === 0) return null;
  return (
    <dl className="phase-facts">
      {entries.map(([key, value]) => (
        <div key={key}>
          <dt>{key}</dt>
          <dd>{String(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

interface StatisticsProps {
  run: string;
  name: string;
  lengths: Float64Array;
  // Grows when the answer may be another.
  known: number;
}

function Statistics({ run, name, lengths, known }: StatisticsProps) {
  const answer = useQuery({
    queryKey: ["phase-statistics", run, known],
    queryFn: ({ signal }) =>
      sendJson<{ runs: { phases: PathStatistics[] }[] }>(
        "POST",
        "/phases/statistics",
        { runs: [run] },
        signal,
      ),
    placeholderData: (before) => before,
  });
  if (answer.error) return <p className="quiet">{answer.error.message}</p>;
  const lines = answer.data?.runs[0]?.phases;
  if (lines === undefined) return null;
  const all = statisticsOfName(lines, name);
  const cells: [string, string][] = [
    ["n", formatCount(all.count)],
    ["mean", words(all.mean)],
    ["median", words(median(lengths))],
    ["p95", words(percentile(lengths, 95))],
    ["min", words(all.least)],
    ["max", words(all.greatest)],
    ["total", words(all.total)],
    ["of the run", `${formatNumber(all.share * 100, 3)}${kThin}%`],
  ];
  const ended = all.count - all.open;
  return (
    <>
      <Scrolling className="inspect-table" label={`All phases ${name}`}>
        <table className="table" data-testid="phase-statistics">
          <thead>
            <tr>
              <th scope="col">phase</th>
              {cells.map(([word]) => (
                <th key={word} scope="col">
                  {word}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            <tr>
              <th scope="row">every {name}</th>
              {cells.map(([word, text]) => (
                <td key={word}>{text}</td>
              ))}
            </tr>
          </tbody>
        </table>
      </Scrolling>
      {lengths.length < ended && (
        <p className="quiet">
          Median and p95 are of the {formatCount(lengths.length)} longest of {formatCount(ended)}.
        </p>
      )}
    </>
  );
}
