// `/`: all runs, narrowed by the tree, the facets and the search field, and the selected ones. The whole state is in
// the address.
import { getRouteApi, Link } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { ApiError } from "../../api/client";
import {
  type Facets,
  type FacetValue,
  type RunFilter,
  type RunList,
  type RunRows,
  useFacets,
  useRunRows,
} from "../../api/runSearch";
import { late } from "../../app/late";
import { Failing, Loading, Notice } from "../../app/Notice";
import { Shell } from "../../app/Shell";
import { ToastPlace } from "../../board/Toast";
import { plural } from "../../format/units";
import { PanelWithBasket } from "../basket/BasketPanel";
import { BaselineBar, useBaseline } from "./BaselineBar";
import { ColumnMenu } from "./ColumnMenu";
import type { Differing } from "./differing";
import { ExperimentTree } from "./ExperimentTree";
import { FacetPanel } from "./FacetPanel";
import { filterOf, isNarrowed, listOf, sortedBy } from "./filters";
import { ListTabs, SaveList } from "./ListTabs";
import { RunsTable } from "./RunsTable";
import { SearchField } from "./SearchField";
import { SelectionBar } from "./SelectionBar";
import type { RunsSearch } from "./search";
import { type ColumnState, useColumns, useShownColumns } from "./useColumns";

const route = getRouteApi("/");

// The same object as long as it says the same.
function useSame<T>(value: T): T {
  const text = JSON.stringify(value);
  return useMemo(() => JSON.parse(text) as T, [text]);
}

// The pages of rows in sight.
function usePages() {
  const [pages, setPages] = useState<readonly number[]>([]);
  const look = useCallback(
    (next: number[]) => setPages((old) => (String(old) === String(next) ? old : next)),
    [],
  );
  return [pages, look] as const;
}

const kNone: readonly string[] = [];

export function RunsPage() {
  const search = useSame(route.useSearch());
  const navigate = route.useNavigate();
  const chosen = useColumns(search);
  const filter = useSame(filterOf(search));
  // The filter whose rows have come: they come before the facets, unless these choose the columns.
  const [came, setCame] = useState<RunFilter | null>(null);
  const { data, error } = useFacets(filter, came === filter || search.only !== undefined);
  const shown = useShownColumns(chosen, search, data);
  const list: RunList = useSame(listOf(search, shown.columns));
  const [pages, look] = usePages();
  const rows = useRunRows(list, pages);
  const { baseline, pin, gone } = useBaseline(search, list);
  useEffect(() => {
    if (!rows.stale) setCame(filter);
  }, [rows.stale, filter]);
  const grid = useRef<HTMLDivElement>(null);
  const to = (next: RunsSearch, replace = false) => void navigate({ search: () => next, replace });
  return (
    <Shell
      crumbs={["Runs"]}
      panel={
        <PanelWithBasket>
          <ExperimentTree search={search} />
          <FacetPanel search={search} facets={data} error={error} />
        </PanelWithBasket>
      }
      toolbar={
        <Toolbar
          rows={rows}
          facets={data}
          columns={chosen}
          differing={shown.differing}
          search={search}
          to={to}
          leave={() => grid.current?.focus()}
        />
      }
      tabs={<ListTabs search={search} columns={chosen.columns} to={to} />}
      footer={
        <SelectionBar list={list} columns={shown.columns} total={rows.total} pin={pin}>
          {search.state === "trashed" && <TrashBar some={rows.total > 0} />}
          <BaselineBar search={search} run={baseline?.run} gone={gone} to={to} />
        </SelectionBar>
      }
    >
      <Content rows={rows} search={search} reset={() => to(within(search))}>
        <RunsTable
          list={list}
          rows={rows}
          columns={shown.columns}
          changeColumns={shown.change}
          sort={search.sort ?? []}
          sortBy={(by, also) => {
            const { sort, ...rest } = search;
            const next = sortedBy(sort ?? [], by, also);
            to(next.length > 0 ? { ...rest, sort: next } : rest);
          }}
          look={look}
          group={search.group}
          open={search.open ?? kNone}
          setOpen={(values) => {
            const { open: _open, ...rest } = search;
            to(values.length > 0 ? { ...rest, open: values } : rest, true);
          }}
          grid={grid}
          baseline={baseline}
          pin={pin}
        />
      </Content>
    </Shell>
  );
}

const EmptyTrash = late({
  what: "Emptying the trash",
  load: async () => (await import("./EmptyTrash")).EmptyTrash,
  close: ({ close }) => close(),
});

function TrashBar({ some }: { some: boolean }) {
  const [emptying, setEmptying] = useState(false);
  return (
    <>
      {some && (
        <button
          type="button"
          className="link"
          title="Remove for good all that is in the trash"
          data-testid="empty-trash"
          onClick={() => setEmptying(true)}
        >
          Empty trash
        </button>
      )}
      {emptying && <EmptyTrash close={() => setEmptying(false)} />}
    </>
  );
}

interface ToolbarProps {
  rows: RunRows;
  facets: Facets | undefined;
  columns: ColumnState;
  differing: Differing | null;
  search: RunsSearch;
  to: (next: RunsSearch, replace?: boolean) => void;
  leave: () => void;
}

function Toolbar({ rows, facets, columns, differing, search, to, leave }: ToolbarProps) {
  const sample = useSame(
    rows
      .loaded()
      .slice(0, 3)
      .map((run) => run.id),
  );
  return (
    <>
      <h1 className="runs-count" data-testid="runs-total">
        {rows.pending || (rows.error && rows.total === 0) ? "Runs" : plural(rows.total, "run")}
        {search.state === "archived" && " in the archive"}
        {search.state === "trashed" && " in the trash"}
      </h1>
      <Statuses facets={facets?.status} only={search.status} />
      <SearchField
        text={search.q ?? ""}
        apply={(q, { replace }) => {
          const { q: _q, ...rest } = search;
          to(q === "" ? rest : { ...rest, q }, replace);
        }}
        leave={leave}
      />
      {search.state === undefined && <SaveList search={search} columns={columns.columns} to={to} />}
      <ColumnMenu
        {...columns}
        facets={facets}
        runs={sample}
        group={search.group}
        setGroup={(group) => {
          const { group: _group, open: _open, ...rest } = search;
          to(group === undefined ? rest : { ...rest, group });
        }}
        only={search.only !== undefined}
        differing={differing}
        setOnly={(on) => {
          const { only: _only, ...rest } = search;
          to(on ? { ...rest, only: "differs" } : rest, true);
        }}
      />
      <ToastPlace />
    </>
  );
}

// The search without any filter.
const within = ({ state, sort, col, only, base, compare, group }: RunsSearch): RunsSearch => ({
  ...(base ? { base } : {}),
  ...(compare ? { compare } : {}),
  ...(group ? { group } : {}),
  ...(state ? { state } : {}),
  ...(sort ? { sort } : {}),
  ...(col ? { col } : {}),
  ...(only ? { only } : {}),
});

interface StatusesProps {
  facets: FacetValue[] | undefined;
  only: string[] | undefined;
}

// The counts of the facet leave its own choice out; here only listed runs count.
function Statuses({ facets, only }: StatusesProps) {
  return (
    <>
      {(["running", "failed"] as const).map((status) => {
        const count = facets?.find(({ value }) => value === status)?.count ?? 0;
        return count > 0 && (only?.includes(status) ?? true) ? (
          <span key={status} className={`status status-${status} runs-status`}>
            {count} {status}
          </span>
        ) : null;
      })}
    </>
  );
}

interface ContentProps {
  rows: RunRows;
  search: RunsSearch;
  reset: () => void;
  children: React.ReactNode;
}

function Content({ rows, search, reset, children }: ContentProps) {
  // A banner above reports a server that does not answer; the shown rows stay.
  const gone = rows.error instanceof ApiError && rows.error.offline;
  if (rows.error && rows.stale && (rows.total === 0 || !gone)) {
    return <Failing error={rows.error} retry={rows.retry} />;
  }
  if (rows.pending) return <Loading what="runs" />;
  if (rows.total > 0) return children;
  if (isNarrowed(search)) {
    return (
      <Notice>
        <p data-testid="no-match">No matching runs.</p>
        <p>Remove a filter on the left, or show all runs.</p>
        <button type="button" className="button" onClick={reset}>
          Show all runs
        </button>
      </Notice>
    );
  }
  if (search.state !== undefined) {
    return (
      <Notice>
        <p data-testid="nothing-hidden">
          {search.state === "trashed" ? "The trash is empty." : "The archive is empty."}
        </p>
        <Link to="/" className="button">
          Show all runs
        </Link>
      </Notice>
    );
  }
  return (
    <Notice>
      <p>No runs yet.</p>
      <p>
        Put <code>corral run</code> before the command that trains, for example{" "}
        <code>corral run train.py</code>. The run appears here within a second.
      </p>
    </Notice>
  );
}
