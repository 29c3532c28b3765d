// The rows of a plan: only those in sight exist, so that 10,000 runs scroll as well as ten. The arrow keys move from run
// to run, Enter opens one, space shows its last lines, "." goes to the next failure.
import { useNavigate } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import {
  type KeyboardEvent,
  type MouseEvent,
  memo,
  type RefObject,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import type { PlanRun } from "../../api/plans";
import { collocationTitle, collocationWord } from "../../format/collocation";
import { stateTitle, stateWords, toneOf } from "../../format/outcome";
import { middleEllipsis } from "../../format/text";
import {
  type CellPlace,
  cellsIn,
  failuresOf,
  failureWords,
  heightOf,
  idOf,
  movedPlace,
  nextFailure,
  type PlanRow,
  tailOf,
} from "./plan";

// Width left of the cells, as in the style sheet.
const kNames = 300;
const kNarrowNames = 136;
const kNarrow = 680;

function useWidth(element: RefObject<HTMLDivElement | null>): number {
  const [width, setWidth] = useState(1000);
  useLayoutEffect(() => {
    if (element.current === null) return;
    const at = element.current;
    const measure = () => setWidth(at.clientWidth);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(at);
    return () => observer.disconnect();
  }, [element]);
  return width;
}

// The words of a cell about its run.
export interface CellWords {
  // "": the state.
  value: string;
  // More for the tooltip.
  about: string;
}

export interface PlanMatrixProps {
  rows: readonly PlanRow[];
  wordsOf: (row: PlanRow, run: PlanRun) => CellWords;
  matrix: RefObject<HTMLDivElement | null>;
}

// Failures whose last lines are shown, by the ids of their runs.
function useOpened() {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const show = useCallback(
    (id: string) =>
      setOpen((old) => {
        const next = new Set(old);
        if (!next.delete(id)) next.add(id);
        return next;
      }),
    [],
  );
  return [open, show] as const;
}

function useVisibleRows(
  rows: readonly PlanRow[],
  scroller: RefObject<HTMLDivElement | null>,
  { perLine, open }: { perLine: number; open: ReadonlySet<string> },
) {
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => heightOf(rows[index] as PlanRow, { perLine, open }),
    getItemKey: (index) => (rows[index] as PlanRow).key,
    overscan: 8,
  });
  // Heights are known, but not to the virtualizer when they change.
  // biome-ignore lint/correctness/useExhaustiveDependencies: what heights depend on
  useEffect(() => virtual.measure(), [virtual, rows, perLine, open]);
  return virtual;
}

// The cell that the keys act on; `see` brings a row into sight.
function usePlace(
  rows: readonly PlanRow[],
  { show, see }: { show: (id: string) => void; see: (row: number) => void },
) {
  const navigate = useNavigate();
  const [chosen, setPlace] = useState<CellPlace>({ row: 0, cell: 0 });
  const place = chosen.row < rows.length ? chosen : { row: 0, cell: 0 };
  const move = (to: CellPlace | null) => {
    if (to === null) return;
    setPlace(to);
    see(to.row);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target !== event.currentTarget) return;
    const run = rows[place.row]?.runs[place.cell];
    if (event.key === "Enter" && run?.run)
      void navigate({ to: "/runs/$id", params: { id: run.run } });
    else if (event.key === " " && run !== undefined) show(idOf(run));
    else if (event.key === ".") move(nextFailure(rows, place));
    else {
      const to = movedPlace(rows, place, event.key);
      if (to === null) return;
      move(to);
    }
    event.preventDefault();
  };
  return { place, onKeyDown };
}

// One for all: hundreds of links of the router make scrolling slow.
function useLinks() {
  const navigate = useNavigate();
  return (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    const link = (event.target as Element).closest<HTMLElement>("a[data-run]");
    if (link === null) return;
    event.preventDefault();
    void navigate({ to: "/runs/$id", params: { id: link.dataset.run ?? "" } });
  };
}

export function PlanMatrix({ rows, wordsOf, matrix }: PlanMatrixProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const width = useWidth(scroller);
  const narrow = width < kNarrow;
  const perLine = cellsIn(width - (narrow ? kNarrowNames : kNames));
  const [open, show] = useOpened();
  const virtual = useVisibleRows(rows, scroller, { perLine, open });
  const see = (row: number) => virtual.scrollToIndex(row, { align: "auto" });
  const { place, onKeyDown } = usePlace(rows, { show, see });
  const onClick = useLinks();
  const items = virtual.getVirtualItems();
  return (
    <>
      <PlanHead narrow={narrow} />
      <div className="content" ref={scroller} data-testid="plan-scroll">
        {/* biome-ignore lint/a11y/useSemanticElements: rows are placed absolutely, which a table element forbids */}
        <div
          ref={matrix}
          className={narrow ? "plan-matrix narrow" : "plan-matrix"}
          role="grid"
          tabIndex={0}
          aria-label="Workloads and their runs"
          aria-rowcount={rows.length}
          aria-activedescendant={
            items.some((item) => item.index === place.row) ? cellId(place) : undefined
          }
          data-testid="plan-matrix"
          style={{ height: virtual.getTotalSize() }}
          onKeyDown={onKeyDown}
          onClick={onClick}
        >
          {items.map((item) => (
            <MatrixRow
              key={item.key}
              row={rows[item.index] as PlanRow}
              index={item.index}
              top={item.start}
              height={item.size}
              active={item.index === place.row ? place.cell : null}
              open={open}
              show={show}
              wordsOf={wordsOf}
            />
          ))}
        </div>
      </div>
    </>
  );
}

// Above what scrolls. Each row's header says the same to screen readers.
function PlanHead({ narrow }: { narrow: boolean }) {
  return (
    <div
      className={narrow ? "plan-head narrow" : "plan-head"}
      aria-hidden="true"
      data-testid="plan-head"
    >
      <span className="plan-name">
        <span>experiment</span>
        <span>workload</span>
        <span>collocation</span>
      </span>
      <span>runs</span>
    </div>
  );
}

const cellId = ({ row, cell }: CellPlace) => `plan-cell-${row}-${cell}`;

interface MatrixRowProps {
  row: PlanRow;
  index: number;
  top: number;
  height: number;
  active: number | null;
  open: ReadonlySet<string>;
  show: (id: string) => void;
  wordsOf: PlanMatrixProps["wordsOf"];
}

const MatrixRow = memo(function MatrixRow(props: MatrixRowProps) {
  const { row, index, top, height, active, open, show, wordsOf } = props;
  const failures = failuresOf(row);
  return (
    // biome-ignore lint/a11y/useSemanticElements: see PlanMatrix
    // biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus
    <div
      className="plan-row"
      role="row"
      aria-rowindex={index + 1}
      data-testid="plan-row"
      style={{ transform: `translateY(${top}px)`, height: height - 1 }}
    >
      {/* biome-ignore lint/a11y/useSemanticElements: see PlanMatrix */}
      {/* biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus */}
      <div className="plan-name" role="rowheader">
        <span className="quiet cut" title={row.experiment}>
          {row.experiment}
        </span>
        <b className="name cut" title={row.workload}>
          {middleEllipsis(row.workload, 24)}
        </b>
        <span className="plan-collocation cut" title={waysTitle(row.collocation)}>
          {row.collocation}
        </span>
      </div>
      <div className="plan-cells" role="presentation">
        {row.runs.map((run, cell) => (
          <Cell
            key={idOf(run)}
            run={run}
            id={cellId({ row: index, cell })}
            active={active === cell}
            words={wordsOf(row, run)}
          />
        ))}
      </div>
      {failures.length > 0 && (
        // biome-ignore lint/a11y/useSemanticElements: see PlanMatrix
        // biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus
        <div className="plan-notes" role="gridcell">
          {failures.map((run) => (
            <Failure key={idOf(run)} run={run} open={open.has(idOf(run))} show={show} />
          ))}
        </div>
      )}
    </div>
  );
});

const waysTitle = (ways: string) =>
  ways === "" ? undefined : ways.split(", ").map(collocationTitle).join("; ");

// The name of a run within its workload.
const nameOf = (run: PlanRun) => run.name || run.letter || run.model || `line ${run.line ?? "?"}`;

interface CellProps {
  run: PlanRun;
  id: string;
  active: boolean;
  words: CellWords;
}

function Cell({ run, id, active, words }: CellProps) {
  const about = [
    `${nameOf(run)}: ${stateTitle(run.state)}`,
    run.model && `model ${run.model}`,
    run.devices && `devices ${run.devices}`,
    run.collocation && `collocation ${collocationWord(run.collocation)}`,
    run.line && `line ${run.line}`,
    words.about,
    run.reason,
  ].filter(Boolean);
  const body = (
    <>
      <span className="cut name">{nameOf(run)}</span>
      <span className={`status status-${toneOf(run.state)}`}>
        {words.value === "" ? stateWords(run.state) : words.value}
      </span>
    </>
  );
  return (
    // biome-ignore lint/a11y/useSemanticElements: see PlanMatrix
    // biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus
    <span
      id={id}
      role="gridcell"
      title={about.join("; ")}
      className={`plan-cell tone-${toneOf(run.state)}${active ? " active" : ""}`}
      data-testid="plan-cell"
      data-state={run.state}
    >
      {run.run ? (
        <a href={`/runs/${run.run}`} data-run={run.run} tabIndex={-1}>
          {body}
        </a>
      ) : (
        body
      )}
    </span>
  );
}

interface FailureProps {
  run: PlanRun;
  open: boolean;
  show: (id: string) => void;
}

function Failure({ run, open, show }: FailureProps) {
  const tail = tailOf(run);
  return (
    <div className="plan-note" data-testid="plan-failure">
      <button
        type="button"
        className="plan-reason"
        aria-expanded={open}
        disabled={tail.length === 0}
        tabIndex={-1}
        title={tail.length > 0 ? "Its last lines" : undefined}
        onClick={() => show(idOf(run))}
      >
        <span className="name">{nameOf(run)}</span> <span className="cut">{failureWords(run)}</span>
        {tail.length > 0 && <span className="link">{open ? "less" : "last lines"}</span>}
      </button>
      {open && tail.length > 0 && (
        <pre className="plan-tail mono" data-testid="plan-tail">
          {tail.map((line) => line.replace(/[\r\n]/g, " ")).join("\n")}
        </pre>
      )}
    </div>
  );
}
