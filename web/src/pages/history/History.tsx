// The history of one group: its changes in words, its runs in the order of their starts, the stretches between changes,
// and the set-ups that differ.
import { useCallback } from "react";
import type { HistoryChange, HistorySegment, HistoryUnit, RunHistory } from "../../api/compare";
import { type Column, Rows } from "../../app/Rows";
import { RunLink } from "../../app/RunLink";
import { ratioText } from "../../charts/forest";
import { drawSequence, type SequenceData } from "../../charts/sequence";
import { formatExactMoment, formatMoment } from "../../format/time";
import { formatValue, percent, plural } from "../../format/units";
import type { Drawing } from "../compare/contents";
import { Figure } from "../compare/Figure";
import { SetUp } from "../compare/SetUp";
import { Told } from "../compare/Told";

const kHeight = 280;
const kMostRuns = 12;
const kFewRuns = 6;
const kCommitDigits = 8;

export interface HistoryProps {
  history: RunHistory;
  value: string;
  margin: number;
  // Limits of the values; null: there is none.
  atLeast: number | null;
  atMost: number | null;
}

export function History({ history, value, margin, atLeast, atMost }: HistoryProps) {
  const { name, changes } = history;
  return (
    <section aria-label={name} data-testid="history">
      <div className="line-head">
        <h2 className="cut" title={name}>
          {name}
        </h2>
        <span className="unit">
          {value}, changes above {percent(margin)}
        </span>
      </div>
      <Changes history={history} />
      <Runs history={history} value={value} atLeast={atLeast} atMost={atMost} />
      <Segments history={history} />
      {changes.map((change) => (
        <SetUp
          key={change.segment}
          label={`Set-up of ${name} before and after change ${change.segment}`}
          sides={
            changes.length > 1
              ? [`before ${change.segment}`, `after ${change.segment}`]
              : ["before", "after"]
          }
          rows={change.set_up}
        />
      ))}
      <RunTable history={history} />
    </section>
  );
}

function Changes({ history: { units, changes, newest } }: Pick<HistoryProps, "history">) {
  const known = units.filter(({ value }) => value !== null).length;
  const outliers = units.filter(({ outlier }) => outlier).length;
  const few =
    known < kFewRuns ? `Only ${plural(known, "run")} with a value: too few to find a change.` : "";
  const none = changes.length === 0 ? "No change was found." : "";
  const counted =
    outliers === 0 ? "" : `${plural(outliers, "run")} counted as the median of those around.`;
  const beyond = units.filter((unit) => unit.beyond).length;
  const past = beyond === 0 ? "" : `${plural(beyond, "run")} beyond the limits.`;
  const notes = [few === "" ? none : few, counted, past].filter((one) => one !== "");
  return (
    <>
      {changes.map((change) => (
        <Told
          key={change.segment}
          verdict={change.confirmed ? "confirmed" : "suspected"}
          shown={change.confirmed}
          text={change.text}
        />
      ))}
      {newest && !changes.some(({ text }) => text === newest.text) && (
        <Told verdict="newest" shown={newest.confirmed} text={newest.text} />
      )}
      {notes.length > 0 && <p className="quiet">{notes.join(" ")}</p>}
    </>
  );
}

const short = (commit: string | null) => commit?.slice(0, kCommitDigits) ?? "";

const valueWords = ({ value, reason }: HistoryUnit, unit: string) =>
  value === null ? (reason ?? "no value") : formatValue(value, unit);

function unitWords(one: HistoryUnit, unit: string): string {
  const commit = one.commit === null ? "" : ` (commit ${short(one.commit)})`;
  const when = formatMoment(one.start_ns, new Date());
  const outlier = one.outlier ? ", an outlier: it counts as the median of those around" : "";
  return `${one.name}${commit}, ${when}: ${valueWords(one, unit)}${outlier}`;
}

function sequenceOf(
  { units, segments, changes, unit }: RunHistory,
  limits: readonly (number | null)[],
): SequenceData {
  const [first, last] = [units[0], units.at(-1)];
  const when = [first, last].flatMap((one) =>
    one ? [formatMoment(one.start_ns, new Date())] : [],
  );
  const label = { first: 0, last: units.length - 1, text: when.join(" to ") };
  return {
    values: units.map((one, i) => ({
      key: String(i),
      words: unitWords(one, unit ?? ""),
      value: one.value ?? one.measured,
      hollow: one.outlier || one.value === null,
    })),
    stretches: segments.map((segment) => ({ ...segment, series: 0 })),
    changes: changes.map(({ last_before, first_after, ratio, confirmed }) => ({
      lastBefore: last_before,
      firstAfter: first_after,
      ratio,
      confirmed,
    })),
    limits: limits.filter((one) => one !== null),
    labels: units.length > 0 ? [label] : [],
  };
}

function Runs({ history, value, atLeast, atMost }: Omit<HistoryProps, "margin">) {
  const draw = useCallback(
    (on: Drawing) =>
      drawSequence(
        sequenceOf(history, [atLeast, atMost]),
        { ...on, height: kHeight, unit: history.unit ?? "" },
        on.font,
      ),
    [history, atLeast, atMost],
  );
  return (
    <Figure
      label={`${value} of ${history.name} from run to run`}
      caption="A point per run, hollow: an outlier or a value that does not count, a cross: no value; steps: means with 95 % intervals; shaded: where it changed, dashed: suspected, or a limit"
      testid="sequence"
      draw={draw}
      runsOf={(key) => history.units[Number(key)]?.runs ?? []}
    />
  );
}

function Segments({
  history: { name, unit, units, segments, changes },
}: Pick<HistoryProps, "history">) {
  if (segments.length === 0) return null;
  const of = unit ?? "";
  const at = (place: number) => {
    const one = units[place];
    return one ? `${one.name} ${short(one.commit)}` : "";
  };
  const columns: Column<HistorySegment>[] = [
    { name: "from", cell: ({ first }) => at(first), left: true },
    { name: "to", cell: ({ last }) => at(last), left: true },
    { name: "runs", cell: ({ n }) => n },
    { name: "mean", cell: ({ mean }) => formatValue(mean, of) },
    { name: "low", cell: ({ low }) => formatValue(low, of) },
    { name: "high", cell: ({ high }) => formatValue(high, of) },
    { name: "change", cell: (one) => changeWords(changes[segments.indexOf(one) - 1]), left: true },
  ];
  return <Rows label={`Segments of ${name}`} columns={columns} rows={segments} most={kMostRuns} />;
}

const changeWords = (change: HistoryChange | undefined) =>
  change === undefined ? "–" : `${ratioText(change)}${change.confirmed ? "" : ", suspected"}`;

const noteOf = ({ outlier, beyond }: HistoryUnit) =>
  [outlier ? "outlier" : "", beyond ? "beyond a limit" : ""].filter(Boolean).join(", ");

// The newest run first.
function RunTable({ history: { name, unit, units } }: Pick<HistoryProps, "history">) {
  const columns: Column<HistoryUnit>[] = [
    {
      name: "run",
      cell: (one) => <RunLink id={one.runs[0] ?? ""} name={one.name} />,
      left: true,
    },
    {
      name: "commit",
      cell: ({ commit }) => <code title={commit ?? undefined}>{short(commit) || "–"}</code>,
      left: true,
    },
    {
      name: "started",
      cell: ({ start_ns }) => (
        <span title={formatExactMoment(start_ns)}>{formatMoment(start_ns, new Date())}</span>
      ),
      left: true,
    },
    { name: "value", cell: (one) => valueWords(one, unit ?? "") },
    { name: "note", cell: noteOf, left: true },
  ];
  return (
    <Rows label={`Runs of ${name}`} columns={columns} rows={units.toReversed()} most={kMostRuns} />
  );
}
