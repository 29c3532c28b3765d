// The metrics in groups and sections or by interest, each with a checkbox that shows its chart. Series that never change
// are hidden, and by interest those that follow others. Only rows in sight are on the page, so that thousands of metrics
// stay quick.
import { type CSSProperties, type ReactNode, useMemo, useRef, useState } from "react";
import { type Interest, type SortedOut, sortedOut } from "../api/interest";
import { Check } from "../app/Check";
import { Chevron } from "../app/icons";
import { late } from "../app/late";
import { Star } from "../app/Star";
import { Tick } from "../app/Tick";
import { middleEllipsis } from "../format/text";
import { formatCount, plural, scaleFor } from "../format/units";
import { useFavourites } from "../state/favourites";
import { score } from "../state/palette";
import { type ChartDef, kGroups } from "./model";
import { groupsOf, type MetricRow, type Part, partsOf, rowsOf, type Section } from "./sections";

const kMaxAtSight = 12;

export interface MetricListProps {
  charts: ChartDef[];
  shown: ReadonlySet<string>;
  pending: boolean;
  error: Error | null;
  choose: (names: readonly string[], on: boolean) => void;
  reset: (() => void) | null;
  // null: several runs are shown; undefined: not known yet.
  interest: Interest | null | undefined;
  // Beside the title.
  extra?: ReactNode;
}

const count = (charts: readonly ChartDef[]) =>
  charts.reduce((sum, chart) => sum + chart.lines.length + chart.left, 0);

export function MetricList(props: MetricListProps) {
  const { charts, shown, pending, error, choose, reset, interest, extra } = props;
  const [typed, setTyped] = useState("");
  const [ranked, rank] = useState(false);
  const byInterest = useMemo(
    () => (ranked && interest ? sortedOut(interest) : null),
    [ranked, interest],
  );
  const starred = useFavourites(({ names }) => names);
  const wanted = useMemo(
    () => charts.filter(({ name }) => score(name, typed) !== null),
    [charts, typed],
  );
  const lively = useMemo(() => wanted.filter((chart) => !chart.flat), [wanted]);
  const parts = useMemo(() => {
    const flat = hidden(
      wanted.filter((chart) => chart.flat && !starred.has(chart.name)),
      "constant metric",
    );
    const others = lively.filter(({ name }) => !starred.has(name));
    const listed =
      byInterest === null ? groupsOf(others) : byRank(others, { by: byInterest, shown });
    return [...favourites(wanted, starred), ...listed, ...flat];
  }, [wanted, lively, byInterest, shown, starred]);
  const { isOpen, toggle } = useOpen(shown);
  const found = typed !== "";
  const rows = rowsOf(parts, (section, depth) => found || isOpen(section, depth));
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
      {charts.length > 0 && extra}
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
      <Listed rows={rows} shown={shown} choose={choose} toggle={toggle} />
      {charts.length === 0 && <p className="row quiet">{emptyWords(pending, error)}</p>}
    </section>
  );
}

function emptyWords(pending: boolean, error: Error | null): string {
  if (error !== null) return "Unknown: the server did not answer.";
  return pending ? "Loading metrics." : "No metrics.";
}

const kFavourites = "starred";

// Starred metrics stand first, also constant ones.
function favourites(charts: readonly ChartDef[], starred: ReadonlySet<string>): Part[] {
  const mine = charts.filter(({ name }) => starred.has(name));
  const parts = mine.map((chart) => ({ chart, name: chart.name }));
  return mine.length === 0 ? [] : [{ key: kFavourites, name: kFavourites, charts: mine, parts }];
}

// Metrics that are not listed until they are asked for.
function hidden(charts: readonly ChartDef[], kind: string): Part[] {
  if (charts.length === 0) return [];
  return [{ key: kind, name: plural(charts.length, kind), charts, parts: partsOf(charts, kind) }];
}

// The most interesting first; metrics that follow others are hidden unless they are drawn.
function byRank(
  charts: readonly ChartDef[],
  { by, shown }: { by: SortedOut; shown: ReadonlySet<string> },
): Part[] {
  const isDouble = ({ name }: ChartDef) => by.duplicates.has(name) && !shown.has(name);
  const place = new Map(by.metrics.map((name, i) => [name, i]));
  const placeOf = ({ name }: ChartDef) => place.get(name) ?? place.size;
  const sorted = charts.filter((chart) => !isDouble(chart)).sort((a, b) => placeOf(a) - placeOf(b));
  const parts = sorted.map((chart) => ({ chart, name: chart.name }));
  return [...parts, ...hidden(charts.filter(isDouble), "duplicate metric")];
}

const isGroup = ({ key }: Section) => key === kFavourites || kGroups.includes(key);

// Returns whether a section is open: at first the script's, and those with a chart that is shown. Decided once for each:
// a section must not fold under the pointer that unticks its last chart.
function useOpen(shown: ReadonlySet<string>) {
  const decided = useRef(new Map<string, boolean>());
  const [, changed] = useState(0);
  const isOpen = (section: Section, depth: number): boolean => {
    const { key, charts } = section;
    const known = decided.current.get(key);
    if (known !== undefined) return known;
    const some = (depth > 0 || isGroup(section)) && charts.some(({ name }) => shown.has(name));
    const open = key === "software" || key === kFavourites || some;
    decided.current.set(key, open);
    return open;
  };
  const toggle = (key: string) => {
    decided.current.set(key, !decided.current.get(key));
    changed((n) => n + 1);
  };
  return { isOpen, toggle };
}

interface ListedProps {
  rows: readonly MetricRow[];
  shown: ReadonlySet<string>;
  choose: MetricListProps["choose"];
  toggle: (key: string) => void;
}

// More rows than so many are not all on the page.
const kMany = 200;

const InSight = late({ what: "The list", load: async () => (await import("./InSight")).InSight });

function Listed({ rows, ...at }: ListedProps) {
  const row = (row: MetricRow) => <ListedRow key={row.key} row={row} {...at} />;
  return rows.length > kMany ? <InSight rows={rows} row={row} /> : <div>{rows.map(row)}</div>;
}

// Below a group nothing is indented, as groups are few.
const indent = (depth: number): CSSProperties =>
  depth > 1 ? { paddingLeft: 16 + (depth - 1) * 14 } : {};

function ListedRow({ row, shown, choose, toggle }: Omit<ListedProps, "rows"> & { row: MetricRow }) {
  if (row.kind === "metric") return <Item row={row} shown={shown} choose={choose} />;
  const { section, depth, open } = row;
  const { key, name, charts } = section;
  const flip = { "aria-expanded": open, onClick: () => toggle(key) };
  if (depth > 0) return <Subsection row={row} shown={shown} choose={choose} flip={flip} />;
  if (isGroup(section)) {
    return (
      <button type="button" className="row" {...flip}>
        <Chevron open={open} />
        <b className="cut">{name}</b>
        <span className="count">{formatCount(count(charts))}</span>
      </button>
    );
  }
  return (
    <button type="button" className="row quiet" {...flip}>
      <Chevron open={open} />
      {name} {open ? "shown" : "hidden"}
    </button>
  );
}

// More charts than so many are not shown by one click.
const kMaxAtOnce = 50;

interface SubsectionProps extends Pick<ListedProps, "shown" | "choose"> {
  row: MetricRow & { kind: "section" };
  flip: { "aria-expanded": boolean; onClick: () => void };
}

function Subsection({ row: { section, depth, open }, shown, choose, flip }: SubsectionProps) {
  const { name, charts } = section;
  const names = charts.map((chart) => chart.name);
  const on = names.filter((one) => shown.has(one)).length;
  return (
    <div className="row" style={indent(depth)}>
      <button type="button" className="section-name" title={name} {...flip}>
        <Chevron open={open} />
        <span className="cut name">{middleEllipsis(name, 26)}</span>
      </button>
      <span className="count">{formatCount(count(charts))}</span>
      {names.length <= kMaxAtOnce && (
        <Check
          label={`All charts of ${name}`}
          checked={on === names.length}
          some={on > 0}
          change={(all) => choose(names, all)}
        />
      )}
    </div>
  );
}

interface ItemProps extends Pick<ListedProps, "shown" | "choose"> {
  row: MetricRow & { kind: "metric" };
}

function Item({ row: { chart, name, depth }, shown, choose }: ItemProps) {
  const lines = count([chart]);
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the checkbox is inside the label
    <label
      className="row item"
      style={indent(depth)}
      title={`${chart.name}${chart.description === "" ? "" : `: ${chart.description}`}`}
    >
      <Tick
        label={chart.name}
        checked={shown.has(chart.name)}
        colour="var(--accent)"
        change={(on) => choose([chart.name], on)}
        metric={chart.name}
      />
      <span className="cut name">
        {middleEllipsis(name, 28)} <span className="quiet">{scaleFor(chart.unit, 1).unit}</span>
      </span>
      <Star metric={chart.name} />
      {lines > 1 && <span className="count">{formatCount(lines)}</span>}
    </label>
  );
}
