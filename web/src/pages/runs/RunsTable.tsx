// The table of runs: only the visible rows exist and are requested, so that 10,000 of them scroll as well as ten. ↑
// ↓ or J K move, with shift a range is selected; space selects, Enter opens, B pins the baseline, ctrl or ⌘ and A
// selects all loaded rows.
import { useVirtualizer, type VirtualItem } from "@tanstack/react-virtual";
import {
  type CSSProperties,
  memo,
  type RefObject,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import {
  type FoundRun,
  kPage,
  type RunList,
  type RunRows,
  useSparklines,
} from "../../api/runSearch";
import { Check } from "../../app/Check";
import { useNow } from "../../app/useNow";
import { plural } from "../../format/units";
import { addRuns, removeRuns, useBasket } from "../../state/basket";
import { type Baseline, isCompared } from "./baseline";
import { type Column, columnOf, tracksOf, trendMetric } from "./columns";
import { GroupRow } from "./GroupRow";
import { type Lines, linesOf } from "./lines";
import type { Range } from "./selection";
import { TableHead, type TableHeadProps } from "./TableHead";
import { rowId, TableRow, type TableRowProps } from "./TableRow";
import { useSelection } from "./useSelection";

const kRow = 30;
const kHead = 34;
const kDelta = 66; // pixels of a difference to the baseline

// The position in the table when it was left, so that returning to the same list shows the same rows.
const left = { question: "", top: 0, place: { active: 0, anchor: 0 } };

export interface RunsTableProps {
  list: RunList;
  rows: RunRows;
  columns: readonly Column[];
  changeColumns: (columns: readonly Column[]) => void;
  sort: readonly string[];
  sortBy: (by: string, also: boolean) => void;
  // The pages of the rows in sight.
  look: (pages: number[]) => void;
  // The field that groups the runs, and the values whose groups are open.
  group: string | undefined;
  open: readonly string[];
  setOpen: (values: string[]) => void;
  grid: RefObject<HTMLDivElement | null>;
  // The run that stands first, and that the others are compared to.
  baseline: Baseline | null;
  // Makes the run the baseline, or lets it go if it is.
  pin: (run: FoundRun) => void;
}

// The visible lines of so many; they begin `top` pixels down.
function useSight({ count, head, top }: { count: number; head: number; top: number }) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => kRow,
    overscan: 12,
    initialOffset: top,
    paddingStart: head,
    scrollPaddingStart: head,
  });
  const items = virtual.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;
  const sight = useMemo(() => ({ first, last }), [first, last]);
  return { scroller, virtual, items, sight };
}

// Another question begins at its top.
function useQuestion(question: string, begin: () => void): void {
  const asked = useRef(question);
  const latest = useRef(begin);
  latest.current = begin;
  useEffect(() => {
    left.question = question;
    if (asked.current === question) return;
    asked.current = question;
    latest.current();
  }, [question]);
}

// A key that moves leads to the table from where nothing has the focus.
function useReach(grid: RefObject<HTMLDivElement | null>): void {
  useEffect(() => {
    const press = (event: globalThis.KeyboardEvent) => {
      const moves = /^(ArrowDown|ArrowUp|j|k)$/.test(event.key);
      if (!moves || event.target !== document.body || event.ctrlKey || event.metaKey) return;
      if (document.querySelector("dialog[open]") !== null) return;
      event.preventDefault();
      grid.current?.focus({ preventScroll: true });
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [grid]);
}

const kNoneOpen: ReadonlySet<string> = new Set();

// The groups that are open, and the step that opens or closes one.
function useOpen({ group, open, setOpen }: Pick<RunsTableProps, "group" | "open" | "setOpen">) {
  const values = useMemo(() => (group === undefined ? kNoneOpen : new Set(open)), [group, open]);
  const latest = useRef({ values, setOpen });
  latest.current = { values, setOpen };
  const toggle = useCallback((value: string) => {
    const rest = [...latest.current.values].filter((one) => one !== value);
    latest.current.setOpen(latest.current.values.has(value) ? rest : [...rest, value]);
  }, []);
  return { values, toggle };
}

// The rows by lines: those of groups have none.
function useLines(rows: RunRows, open: ReadonlySet<string>) {
  const lines = useMemo(
    () => linesOf(rows.total, rows.groups, open),
    [rows.total, rows.groups, open],
  );
  const byLine = useMemo(
    () => ({
      total: lines.total,
      at: (line: number) => {
        const run = lines.runAt(line);
        return run === null ? undefined : rows.at(run);
      },
    }),
    [lines, rows.at],
  );
  return { lines, byLine };
}

// Reports the pages of the runs in sight.
function useLook(lines: Lines, { first, last }: Range, look: (pages: number[]) => void): void {
  useEffect(() => {
    const pages = new Set<number>();
    for (const runs of lines.runsIn({ first, last }))
      for (let page = Math.floor(runs.first / kPage); page * kPage <= runs.last; page++)
        pages.add(page);
    look([...pages]);
  }, [lines, first, last, look]);
}

export function RunsTable(props: RunsTableProps) {
  const { list, rows, columns, look, grid, baseline, pin, group } = props;
  const { values: open, toggle } = useOpen(props);
  const { lines, byLine } = useLines(rows, open);
  const question = useMemo(() => JSON.stringify({ ...list, columns: [] }), [list]);
  const [back] = useState(() => (left.question === question ? { ...left } : null));
  const head = baseline === null ? kHead : kHead + kRow;
  const { scroller, virtual, items, sight } = useSight({
    count: lines.total,
    head,
    top: back?.top ?? 0,
  });
  useLook(lines, sight, look);
  useReach(grid);
  const [draft, setDraft] = useState<readonly Column[] | null>(null);
  const { template, least } = tracksOf(draft ?? columns, (key) =>
    baseline !== null && isCompared(key) ? kDelta : 0,
  );
  const { place, move, put, select, onKeyDown } = useSelection({
    list,
    rows,
    lines,
    toggle,
    open,
    from: back?.place ?? { active: 0, anchor: 0 },
    page: Math.max(1, Math.floor((scroller.current?.clientHeight ?? 600) / kRow) - 2),
    show: (index) => virtual.scrollToIndex(index, { align: "auto" }),
    moved: (next) => {
      left.place = next;
    },
    pin,
  });
  useQuestion(question, () => {
    scroller.current?.scrollTo({ top: 0 });
    move({ active: 0, anchor: 0 });
  });
  const { active } = place;
  const there = byLine.at(active) !== undefined || lines.groupAt(active) !== null;
  const seen = there && active >= sight.first && active <= sight.last;
  // Rows are placed absolutely, which a table element forbids.
  const frame = {
    role: group === undefined ? "grid" : "treegrid",
    tabIndex: 0,
    "aria-label": "Runs",
    "aria-rowcount": lines.total + (baseline === null ? 1 : 2),
    "aria-colcount": columns.length + 1,
    "aria-multiselectable": true,
    "aria-busy": rows.stale,
    "aria-activedescendant": seen ? rowId(active) : undefined,
    onKeyDown,
  };
  return (
    <div
      className={rows.stale ? "content stale" : "content"}
      ref={scroller}
      onScroll={(event) => {
        left.top = event.currentTarget.scrollTop;
      }}
    >
      <div
        {...frame}
        ref={grid}
        className={baseline === null ? "runs" : "runs compared"}
        data-testid="runs-table"
        style={{ "--tracks": template, minWidth: least } as CSSProperties}
      >
        <Head
          columns={columns}
          sort={props.sort}
          sortBy={props.sortBy}
          change={props.changeColumns}
          preview={setDraft}
          loaded={rows.loaded}
          total={rows.total}
          put={put}
        />
        {baseline !== null && (
          <BaselineRow readAt={rows.readAt} columns={columns} baseline={baseline} pin={pin} />
        )}
        <Body
          baseline={baseline}
          pin={pin}
          rows={byLine}
          readAt={rows.readAt}
          lines={lines}
          group={group}
          open={open}
          toggle={toggle}
          columns={columns}
          items={items}
          sight={sight}
          head={head}
          height={virtual.getTotalSize() - head}
          active={active}
          select={select}
        />
      </div>
    </div>
  );
}

type Put = (range: Range, on: boolean) => unknown;

interface HeadProps extends Omit<TableHeadProps, "orderOf" | "tick"> {
  loaded: () => readonly FoundRun[];
  total: number;
  put: Put;
}

// Scrolling leaves it alone.
const Head = memo(function Head({ loaded, total, put, ...head }: HeadProps) {
  return (
    <TableHead
      {...head}
      orderOf={(key) => orderOf(key, loaded())}
      tick={<AllRows loaded={loaded()} total={total} put={put} />}
    />
  );
});

interface BodyProps {
  // By line.
  rows: Pick<RunRows, "at" | "total">;
  readAt: number;
  lines: Lines;
  group: string | undefined;
  open: ReadonlySet<string>;
  toggle: (value: string) => void;
  columns: readonly Column[];
  items: readonly VirtualItem[];
  sight: Range;
  // Pixels above the rows.
  head: number;
  height: number;
  active: number;
  select: TableRowProps["select"];
  baseline: Baseline | null;
  pin: (run: FoundRun) => void;
}

function Body(props: BodyProps) {
  const { rows, readAt, lines, group, open, toggle } = props;
  const { columns, items, sight, head, height, active, select, baseline, pin } = props;
  const inSight = items.map((item) => rows.at(item.index));
  const now = useNow(inSight.some((run) => run?.status === "running"));
  const metrics = columns.flatMap(({ key }) => trendMetric(key) ?? []);
  const trendOf = useSparklines(rows, sight, metrics);
  return (
    <div className="runs-body" role="presentation" style={{ height }}>
      {items.map(({ index, start }, i) => {
        const grouped = lines.groupAt(index);
        return grouped !== null ? (
          <GroupRow
            key={`${index}`}
            group={grouped}
            by={group ?? ""}
            open={open.has(grouped.value)}
            index={index}
            rowIndex={index + (baseline === null ? 2 : 3)}
            top={start - head}
            active={index === active}
            columns={columns}
            compared={baseline !== null}
            toggle={toggle}
          />
        ) : (
          <TableRow
            key={index}
            run={inSight[i]}
            index={index}
            top={start - head}
            baseline={baseline}
            pin={pin}
            active={index === active}
            columns={columns}
            trendOf={trendOf}
            now={inSight[i]?.status === "running" ? now : readAt}
            readAt={readAt}
            select={select}
          />
        );
      })}
    </div>
  );
}

const kFirst: Range = { first: 0, last: 0 };

// Stays below the head while the others scroll.
function BaselineRow(at: Pick<BodyProps, "columns" | "pin" | "readAt"> & { baseline: Baseline }) {
  const { readAt, columns, baseline, pin } = at;
  const { run } = baseline;
  const now = useNow(run.status === "running");
  const metrics = columns.flatMap(({ key }) => trendMetric(key) ?? []);
  const only = useMemo(() => ({ at: () => run, total: 1 }), [run]);
  const trendOf = useSparklines(only, kFirst, metrics);
  return (
    <TableRow
      run={run}
      index={null}
      top={0}
      baseline={baseline}
      pin={pin}
      active={false}
      columns={columns}
      trendOf={trendOf}
      now={run.status === "running" ? now : readAt}
      readAt={readAt}
      select={(_, on) => (on ? addRuns([run]) : removeRuns([run.id]))}
    />
  );
}

// As many as one question can name.
const kMaxSelected = 10_000;

interface AllRowsProps {
  loaded: readonly FoundRun[];
  total: number;
  put: Put;
}

function AllRows({ loaded, total, put }: AllRowsProps) {
  const chosen = useBasket(({ basket }) =>
    loaded.reduce((n, run) => n + (run.id in basket.runs ? 1 : 0), 0),
  );
  const count = Math.min(total, kMaxSelected);
  return (
    <Check
      label={`Select all ${plural(count, "run")} of this list`}
      checked={chosen > 0 && chosen === loaded.length}
      some={chosen > 0}
      testid="all-check"
      change={(on) => void put({ first: 0, last: count - 1 }, on)}
    />
  );
}

// The last loss is ordered by the metric that most of these runs call their loss.
function orderOf(key: string, loaded: readonly FoundRun[]): string | null {
  if (key !== "loss") return columnOf(key).sort ?? null;
  const counts = new Map<string, number>();
  for (const { loss } of loaded.slice(0, 100))
    if (loss) counts.set(loss.metric, (counts.get(loss.metric) ?? 0) + 1);
  const [most] = [...counts].sort(([, a], [, b]) => b - a);
  return most ? `metrics.${most[0]}` : null;
}
