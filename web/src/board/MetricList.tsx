// The metrics in groups, each with a checkbox that shows its chart. Series that never change are hidden.
import { useState } from "react";
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
}

const count = (charts: readonly ChartDef[]) =>
  charts.reduce((sum, chart) => sum + chart.lines.length + chart.left, 0);

export function MetricList({ charts, shown, pending, error, choose, reset }: MetricListProps) {
  const [flatOpen, setFlatOpen] = useState(false);
  const [typed, setTyped] = useState("");
  const wanted = charts.filter(({ name }) => score(name, typed) !== null);
  const lively = wanted.filter((chart) => !chart.flat);
  const flat = wanted.filter((chart) => chart.flat);
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
      {kGroups.map((group) => {
        const inGroup = lively.filter((chart) => chart.group === group);
        return (
          inGroup.length > 0 && (
            <Group
              key={group}
              name={group}
              charts={inGroup}
              shown={shown}
              choose={choose}
              found={typed !== ""}
            />
          )
        );
      })}
      {flat.length > 0 && (
        <>
          <button
            type="button"
            className="row quiet"
            aria-expanded={flatOpen}
            onClick={() => setFlatOpen(!flatOpen)}
          >
            <Chevron open={flatOpen} />
            {plural(flat.length, "constant metric")} {flatOpen ? "shown" : "hidden"}
          </button>
          {(flatOpen || typed !== "") &&
            flat.map((chart) => (
              <Item key={chart.name} chart={chart} shown={shown} choose={choose} />
            ))}
        </>
      )}
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

function Group(at: GroupProps & { name: string; found: boolean }) {
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
