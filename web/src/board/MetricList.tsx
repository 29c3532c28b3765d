// The metrics in groups or by interest, each with a checkbox that shows its chart. Series that never change are hidden,
// and by interest those that follow others.
import { useMemo, useState } from "react";
import { type Interest, type SortedOut, sortedOut } from "../api/interest";
import { Chevron } from "../app/icons";
import { Tick } from "../app/Tick";
import { middleEllipsis } from "../format/text";
import { formatCount, plural, scaleFor } from "../format/units";
import { score } from "../state/palette";
import { type ChartDef, kGroups } from "./model";

const kMaxAtSight = 12;

export interface MetricListProps {
  charts: ChartDef[];
  shown: ReadonlySet<string>;
  pending: boolean;
  error: Error | null;
  choose: (name: string, on: boolean) => void;
  reset: (() => void) | null;
  // null: several runs are shown; undefined: not known yet.
  interest: Interest | null | undefined;
}

const count = (charts: readonly ChartDef[]) =>
  charts.reduce((sum, chart) => sum + chart.lines.length + chart.left, 0);

export function MetricList(props: MetricListProps) {
  const { charts, shown, pending, error, choose, reset, interest } = props;
  const [typed, setTyped] = useState("");
  const wanted = charts.filter(({ name }) => score(name, typed) !== null);
  const [ranked, rank] = useState(false);
  const byInterest = useMemo(
    () => (ranked && interest ? sortedOut(interest) : null),
    [ranked, interest],
  );
  const flat = wanted.filter((chart) => chart.flat);
  const lively = wanted.filter((chart) => !chart.flat);
  const common = { shown, choose, found: typed !== "" };
  return (
    <section aria-label="Metrics">
      <h2 className="section-title">
        Metrics
        {reset !== null ? (
          <button type="button" className="link" onClick={reset}>
            default charts
          </button>
        ) : (
          charts.length > 0 && (
            <span>
              {formatCount(count(lively))} of {formatCount(count(charts))} change
            </span>
          )
        )}
      </h2>
      {charts.length > kMaxAtSight && (
        <input
          type="search"
          className="metric-search"
          placeholder="Find a metric"
          aria-label="Find a metric"
          data-testid="metric-search"
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
      )}
      {wanted.length === 0 && charts.length > 0 && <p className="row quiet">No matches</p>}
      {interest !== null && lively.length > 1 && (
        <button
          type="button"
          className="row quiet"
          aria-pressed={ranked}
          disabled={interest === undefined}
          data-testid="by-interest"
          onClick={() => rank(!ranked)}
        >
          {ranked ? "By interest: back to groups" : "Sort by interest"}
        </button>
      )}
      {byInterest === null ? (
        <Groups {...common} charts={lively} />
      ) : (
        <Ranked {...common} charts={lively} by={byInterest} />
      )}
      <Hidden {...common} kind="constant metric" charts={flat} />
      {charts.length === 0 && <p className="row quiet">{emptyWords(pending, error)}</p>}
    </section>
  );
}

function emptyWords(pending: boolean, error: Error | null): string {
  if (error !== null) return "Unknown: the server did not answer.";
  return pending ? "Loading metrics." : "No metrics.";
}

interface GroupProps {
  charts: ChartDef[];
  shown: ReadonlySet<string>;
  choose: (name: string, on: boolean) => void;
}

type FoundProps = GroupProps & { found: boolean };

function Groups({ charts, ...common }: FoundProps) {
  return kGroups.map((group) => {
    const inGroup = charts.filter((chart) => chart.group === group);
    return inGroup.length > 0 && <Group {...common} key={group} name={group} charts={inGroup} />;
  });
}

// The most interesting first; metrics that follow others are hidden unless they are drawn.
function Ranked({ charts, by, ...common }: FoundProps & { by: SortedOut }) {
  const { shown, choose } = common;
  const isDouble = ({ name }: ChartDef) => by.duplicates.has(name) && !shown.has(name);
  const place = new Map(by.metrics.map((name, i) => [name, i]));
  const placeOf = ({ name }: ChartDef) => place.get(name) ?? place.size;
  const sorted = charts.filter((chart) => !isDouble(chart)).sort((a, b) => placeOf(a) - placeOf(b));
  return (
    <>
      {sorted.map((chart) => (
        <Item key={chart.name} chart={chart} shown={shown} choose={choose} />
      ))}
      <Hidden {...common} kind="duplicate metric" charts={charts.filter(isDouble)} />
    </>
  );
}

// Metrics that are not listed until they are asked for.
function Hidden({ kind, charts, shown, choose, found }: FoundProps & { kind: string }) {
  const [open, setOpen] = useState(false);
  if (charts.length === 0) return null;
  return (
    <>
      <button
        type="button"
        className="row quiet"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        <Chevron open={open} />
        {plural(charts.length, kind)} {open ? "shown" : "hidden"}
      </button>
      {(open || found) &&
        charts.map((chart) => (
          <Item key={chart.name} chart={chart} shown={shown} choose={choose} />
        ))}
    </>
  );
}

function Group(at: FoundProps & { name: string }) {
  const { name, charts, shown, choose, found } = at;
  // Decided once: a group must not fold under the pointer that unticks its last chart.
  const [isOpen, setOpen] = useState(
    () => name === "software" || charts.some((chart) => shown.has(chart.name)),
  );
  const open = isOpen || found;
  return (
    <>
      <button type="button" className="row" aria-expanded={open} onClick={() => setOpen(!isOpen)}>
        <Chevron open={open} />
        <b className="cut">{name}</b>
        <span className="count">{formatCount(count(charts))}</span>
      </button>
      {open &&
        charts.map((chart) => (
          <Item key={chart.name} chart={chart} shown={shown} choose={choose} />
        ))}
    </>
  );
}

function Item({ chart, shown, choose }: Omit<GroupProps, "charts"> & { chart: ChartDef }) {
  const lines = count([chart]);
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the checkbox is inside the label
    <label
      className="row item"
      title={`${chart.name}${chart.description === "" ? "" : `: ${chart.description}`}`}
    >
      <Tick
        label={chart.name}
        checked={shown.has(chart.name)}
        colour="var(--accent)"
        change={(on) => choose(chart.name, on)}
        metric={chart.name}
      />
      <span className="cut name">
        {middleEllipsis(chart.name, 28)}{" "}
        <span className="quiet">{scaleFor(chart.unit, 1).unit}</span>
      </span>
      {lines > 1 && <span className="count">{formatCount(lines)}</span>}
    </label>
  );
}
