// Selects the columns of the table and their order: figures, parameters and tags that the runs have.
import { useEffect, useMemo, useRef, useState } from "react";
import { type Facets, useMetricNames } from "../../api/runSearch";
import { Check } from "../../app/Check";
import { Cross } from "../../app/icons";
import { Star } from "../../app/Star";
import { favouritesFirst, useFavourites } from "../../state/favourites";
import {
  type Column,
  columnOf,
  kColumns,
  kDefault,
  movedColumn,
  toggledColumn,
  trendMetric,
} from "./columns";
import type { Differing } from "./differing";
import { type Grouping, isGrouping } from "./search";
import type { ColumnState } from "./useColumns";

export interface ColumnMenuProps extends ColumnState {
  facets: Facets | undefined;
  // A few runs whose metrics are offered.
  runs: readonly string[];
  group: Grouping | undefined;
  setGroup: (group: Grouping | undefined) => void;
  // The switch that shows only the columns that differ, and what came of it.
  only: boolean;
  differing: Differing | null;
  setOnly: (on: boolean) => void;
}

export function ColumnMenu(props: ColumnMenuProps) {
  const [open, setOpen] = useState(false);
  const frame = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!open) return;
    const outside = (event: PointerEvent) => {
      if (!frame.current?.contains(event.target as Node)) setOpen(false);
    };
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      setOpen(false);
      button.current?.focus();
    };
    addEventListener("pointerdown", outside);
    addEventListener("keydown", onKey);
    return () => {
      removeEventListener("pointerdown", outside);
      removeEventListener("keydown", onKey);
    };
  }, [open]);
  return (
    <div className="menu-frame" ref={frame}>
      <button
        ref={button}
        type="button"
        className="button"
        aria-expanded={open}
        aria-haspopup="dialog"
        data-testid="columns-button"
        onClick={() => setOpen(!open)}
      >
        Columns
      </button>
      {open && <Menu {...props} />}
    </div>
  );
}

const kMaxOffered = 60;

// The metric of a column of figures.
const metricOf = (key: string): string | null =>
  trendMetric(key) || (key.startsWith("metrics.") ? columnOf(key).title : null);

// Every column that the runs have something for.
function useOffers({ facets, runs }: Pick<ColumnMenuProps, "facets" | "runs">): string[] {
  const metrics = useMetricNames(runs);
  const starred = useFavourites(({ names }) => names);
  return useMemo(() => {
    const params = (facets?.params ?? []).map(({ key }) => `params.${key}`);
    const tags = (facets?.tags ?? []).map(({ key }) => `tags.${key}`);
    const figures = metrics.flatMap(({ name }) => [
      `metrics.${name}`,
      ...["min", "max", "mean"].map((of) => `metrics.${name}.${of}`),
      `trend.${name}`,
    ]);
    const all = [...kColumns.map(({ key }) => key), ...params, ...tags, ...figures];
    return favouritesFirst(all, starred, metricOf);
  }, [facets, metrics, starred]);
}

function Menu(props: ColumnMenuProps) {
  const { columns, isDefault, change } = props;
  return (
    <div className="menu" role="dialog" aria-label="Columns" data-testid="columns-menu">
      <GroupBy {...props} />
      <OnlyDiffering {...props} />
      <h2 className="section-title">
        Shown
        {!isDefault && (
          <button type="button" className="link" onClick={() => change(kDefault)}>
            back to the default
          </button>
        )}
      </h2>
      <ol className="menu-list">
        {columns.map(({ key }, i) => (
          <li key={key} className="row" data-testid="column-shown" data-column={key}>
            <span className="cut name" title={wordsOf(key)}>
              <Words of={key} />
            </span>
            {props.differing?.alike.some((one) => one.key === key) && (
              <span className="quiet">alike</span>
            )}
            <Shift columns={columns} column={key} by={-1} at={i} change={change} />
            <Shift columns={columns} column={key} by={1} at={i} change={change} />
            <button
              type="button"
              className="icon-button small"
              aria-label={`Remove ${wordsOf(key)}`}
              disabled={columns.length === 1}
              onClick={() => change(toggledColumn(columns, key))}
            >
              <Cross />
            </button>
          </li>
        ))}
      </ol>
      <MoreColumns {...props} />
    </div>
  );
}

const kGroupings: readonly Grouping[] = [
  "experiment",
  "workload",
  "status",
  "host",
  "creator",
  "collocation",
  "model",
  "device",
];

function GroupBy({ group, setGroup, facets }: ColumnMenuProps) {
  const params = (facets?.params ?? []).map(({ key }): Grouping => `params.${key}`);
  const tags = (facets?.tags ?? []).map(({ key }): Grouping => `tags.${key}`);
  const offers = new Set([...kGroupings, ...params, ...tags, ...(group ? [group] : [])]);
  return (
    <label className="row group-by">
      <span>Group by</span>
      <select
        value={group ?? ""}
        data-testid="group-by"
        onChange={({ currentTarget: { value } }) => setGroup(isGrouping(value) ? value : undefined)}
      >
        <option value="">nothing</option>
        {[...offers].map((key) => (
          <option key={key} value={key}>
            {wordsOf(key)}
          </option>
        ))}
      </select>
    </label>
  );
}

// The server counts the values of so many params, those of the most runs.
const kCounted = 100;

function OnlyDiffering({ only, setOnly, differing, facets }: ColumnMenuProps) {
  const uncounted = (facets?.params?.length ?? 0) >= kCounted;
  return (
    <>
      {/* biome-ignore lint/a11y/noLabelWithoutControl: Check is its control */}
      <label
        className="row item"
        title="Shows every param that differs among the listed runs; hides params, tags and facts that do not"
        data-testid="only-differs"
      >
        <Check label="Only what differs" checked={only} change={setOnly} />
        <span className="cut">Only what differs</span>
        {differing !== null && differing.alike.length > 0 && (
          <span className="count">{differing.alike.length} hidden</span>
        )}
      </label>
      {only && (differing?.more ?? 0) > 0 && (
        <p className="row quiet">{differing?.more} more params differ.</p>
      )}
      {only && uncounted && (
        <p className="row quiet">Of more than {kCounted} params, the most frequent count.</p>
      )}
    </>
  );
}

function MoreColumns({ columns, change, facets, runs, differing }: ColumnMenuProps) {
  const [text, setText] = useState("");
  const shown = new Set([...columns, ...(differing?.shown ?? [])].map(({ key }) => key));
  const wanted = text.trim().toLowerCase();
  const found = useOffers({ facets, runs }).filter(
    (key) => !shown.has(key) && wordsOf(key).toLowerCase().includes(wanted),
  );
  return (
    <>
      <h2 className="section-title">More</h2>
      <div className="menu-search">
        <input
          type="text"
          className="search-input"
          aria-label="Find a column"
          placeholder="Find a metric, parameter or tag"
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      </div>
      <ul className="menu-list">
        {found.slice(0, kMaxOffered).map((key) => (
          <li key={key}>
            {/* biome-ignore lint/a11y/noLabelWithoutControl: Check is its control */}
            <label className="row item" data-testid="column-offer" data-column={key}>
              <Check
                label={`Show ${wordsOf(key)}`}
                checked={false}
                change={() => change(toggledColumn(columns, key))}
              />
              <span className="cut name" title={wordsOf(key)}>
                <Words of={key} />
              </span>
              {metricOf(key) !== null && <Star metric={metricOf(key) ?? ""} />}
            </label>
          </li>
        ))}
      </ul>
      {found.length > kMaxOffered && (
        <p className="row quiet">and {found.length - kMaxOffered} more; type a part of the name.</p>
      )}
      {found.length === 0 && <p className="row quiet">No matches</p>}
    </>
  );
}

function aboutOf(key: string): string {
  const { about } = columnOf(key);
  if (key === "trend" || key.startsWith("trend.")) return "course";
  return about;
}

const wordsOf = (key: string): string => `${columnOf(key).title} ${aboutOf(key)}`.trim();

function Words({ of }: { of: string }) {
  return (
    <>
      {columnOf(of).title} <span className="quiet">{aboutOf(of)}</span>
    </>
  );
}

interface ShiftProps {
  columns: readonly Column[];
  column: string;
  by: -1 | 1;
  at: number;
  change: (columns: readonly Column[]) => void;
}

function Shift({ columns, column, by, at, change }: ShiftProps) {
  const before = columns[by < 0 ? at - 1 : at + 2]?.key ?? null;
  const possible = by < 0 ? at > 0 : at < columns.length - 1;
  return (
    <button
      type="button"
      className="icon-button small"
      aria-label={`Move ${wordsOf(column)} ${by < 0 ? "left" : "right"}`}
      disabled={!possible}
      onClick={() => change(movedColumn(columns, column, before))}
    >
      {by < 0 ? "↑" : "↓"}
    </button>
  );
}
