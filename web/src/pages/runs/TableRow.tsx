// One row of the table of runs, and what stands in its cells.
import { Link, useNavigate } from "@tanstack/react-router";
import { type MouseEvent, memo, type ReactNode } from "react";
import type { FoundRun, SparklineOf } from "../../api/runSearch";
import { finite, type Run } from "../../api/types";
import { Check } from "../../app/Check";
import { Pin } from "../../app/icons";
import { collocationTitle, collocationWord } from "../../format/collocation";
import { endOf, endTitle, stateWords, toneOf } from "../../format/outcome";
import { commandLine, middleEllipsis } from "../../format/text";
import { formatDuration, formatExactMoment, formatMoment, formatTicking } from "../../format/time";
import { formatCount, formatNumber } from "../../format/units";
import { useBasket } from "../../state/basket";
import { type Baseline, type Delta, deltaOf, isCompared } from "./baseline";
import { type Column, columnOf, trendMetric } from "./columns";
import { Trend } from "./Trend";

export interface TableRowProps {
  run: FoundRun | undefined;
  // null: the pinned row of the baseline.
  index: number | null;
  top: number;
  active: boolean;
  columns: readonly Column[];
  trendOf: SparklineOf;
  // Milliseconds: now, and when the row was read; now stands still where nothing runs.
  now: number;
  readAt: number;
  select: (index: number, on: boolean, shift: boolean) => void;
  baseline: Baseline | null;
  pin: (run: FoundRun) => void;
}

// Rows are placed absolutely, which the cells of a table element forbid; the table takes focus and keys for them.
const kCell = { role: "gridcell" } as const;

export const rowId = (index: number | null): string => `run-row-${index ?? "baseline"}`;
const kFirstRow = 2; // aria-rowindex: the head is 1

export const TableRow = memo(function TableRow(props: TableRowProps) {
  const { run, index, top, active, columns, select, baseline } = props;
  const navigate = useNavigate();
  const selected = useBasket(({ basket }) => run !== undefined && run.id in basket.runs);
  const place = {
    id: rowId(index),
    role: "row",
    "aria-rowindex": index === null ? kFirstRow : index + kFirstRow + (baseline === null ? 0 : 1),
    "aria-selected": selected,
    style: index === null ? {} : { transform: `translateY(${top}px)` },
  };
  if (run === undefined) {
    return (
      <div {...place} className="runs-row waiting" aria-busy="true">
        <span {...kCell} />
        {columns.map(({ key }) => (
          <span key={key} {...kCell} />
        ))}
      </div>
    );
  }
  const open = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey)
      select(index ?? 0, !selected, event.shiftKey);
    else void navigate({ to: "/runs/$id", params: { id: run.id } });
  };
  const tick = (event: MouseEvent) => {
    event.stopPropagation();
    select(index ?? 0, !selected, event.shiftKey);
  };
  return (
    <div
      {...place}
      {...{ onClick: open }}
      className={`runs-row${index === null ? " runs-base" : ""}${active ? " active" : ""}${selected ? " selected" : ""}`}
      data-testid={index === null ? "baseline-row" : "run-row"}
      data-run={run.id}
    >
      <span {...kCell} {...{ onClick: tick }} className="runs-tick">
        <Check
          label={`Select ${run.name}`}
          checked={selected}
          skipped
          testid="run-check"
          change={(on, { shift }) => select(index ?? 0, on, shift)}
        />
      </span>
      {columns.map(({ key }) => (
        <Cell key={key} {...props} column={key} run={run} />
      ))}
    </div>
  );
});

type CellProps = TableRowProps & { column: string; run: FoundRun };
interface CellContent {
  body: ReactNode;
  title?: string;
  className?: string;
}

function Cell(props: CellProps) {
  const { column } = props;
  const meaning = columnOf(column);
  const { body, title, className } = contentOf(props);
  const delta = props.baseline && deltaOf(props.run, props.baseline, column);
  return (
    <span
      {...kCell}
      className={className ?? (meaning.number ? "number cut" : "cut")}
      title={delta ? `${title ?? ""}\n${delta.title}`.trim() : title}
      data-column={column}
    >
      {body}
      {props.baseline !== null && isCompared(column) && (
        <span className={deltaClass(delta)} data-testid="delta">
          {delta?.text}
        </span>
      )}
    </span>
  );
}

const deltaClass = (delta: Delta | null): string => {
  if (delta === null || delta.better === null) return "delta";
  return delta.better ? "delta better" : "delta worse";
};

const kContents: Record<string, (props: CellProps) => CellContent> = {
  status: ({ run }) => {
    const end = stateWords(endOf(run));
    return {
      title: endTitle(run),
      body: (
        <span className={`status status-${toneOf(endOf(run))}`} data-testid="run-status">
          {end === run.status ? end : <span className="cut">{end}</span>}
        </span>
      ),
    };
  },
  name: (props) => ({ className: "name runs-name", body: <Name {...props} /> }),
  experiment: ({ run }) => ({
    className: "cut name",
    title: run.experiment,
    body: run.experiment,
  }),
  workload: ({ run }) => ({
    className: run.workload === null ? "cut step" : "cut name",
    title: run.workload ?? "Started without --workload",
    body: run.workload ?? "one run",
  }),
  start: ({ run, now }) => ({
    className: "cut soft",
    title: formatExactMoment(run.start_ns),
    body: formatMoment(run.start_ns, new Date(now)),
  }),
  duration: ({ run, now, readAt }) => ({
    body:
      run.status === "running"
        ? formatTicking((run.duration_s ?? 0) + Math.max(0, now - readAt) / 1000)
        : formatDuration(run.duration_s),
  }),
  loss: ({ run }) => ({
    ...(run.loss ? { title: run.loss.metric } : {}),
    body: <Loss loss={run.loss} />,
  }),
  host: ({ run }) => ({ className: "cut soft", title: run.host, body: run.host }),
  creator: ({ run: { creator } }) => ({
    className: "cut soft",
    ...(creator ? { title: creator, body: creator } : { body: "" }),
  }),
  collocation: ({ run }) => {
    const way = String(run.values.collocation ?? "");
    return { title: collocationTitle(way), body: collocationWord(way) };
  },
  command: ({ run }) => {
    const command = run.command === null ? "" : commandLine(run.command);
    return {
      className: "cut mono soft",
      title: command,
      body: command === "" ? <span className="step">logged by a client</span> : command,
    };
  },
};

function contentOf(props: CellProps): CellContent {
  const { column, run, trendOf } = props;
  const known = Object.hasOwn(kContents, column) ? kContents[column] : undefined;
  if (known) return known(props);
  const trend = trendMetric(column);
  if (trend !== null) return { body: <Trend line={trendOf(trend, run.id)} /> };
  const value = run.values[column];
  if (value === null || value === undefined) return { body: <span className="step">–</span> };
  const text = typeof value === "number" ? formatNumber(value, 4) : String(value);
  return { body: text, title: String(value) };
}

// With the button that pins the run as baseline, in sight where the pointer is and on the baseline.
function Name({ run, baseline, pin }: CellProps) {
  const pinned = baseline?.run.id === run.id;
  return (
    <>
      <Link
        to="/runs/$id"
        params={{ id: run.id }}
        className="cut"
        title={run.name}
        tabIndex={-1}
        onClick={(event) => event.stopPropagation()}
      >
        {middleEllipsis(run.name, 48)}
      </Link>
      <button
        type="button"
        className="icon-button small runs-pin"
        aria-label={pinned ? "Remove the baseline" : `Compare all runs to ${run.name}`}
        aria-pressed={pinned}
        title={pinned ? "The baseline. Click to remove it (B)" : "Compare all runs to this one (B)"}
        tabIndex={-1}
        data-testid="pin"
        onClick={(event) => {
          event.stopPropagation();
          pin(run);
        }}
      >
        <Pin />
      </button>
    </>
  );
}

function Loss({ loss }: { loss: Run["loss"] }) {
  if (loss === null) return <span className="step">–</span>;
  const value = finite(loss.value);
  const step = loss.step === null ? null : Number(loss.step);
  return (
    <>
      {value === null ? String(loss.value ?? "–") : formatNumber(value, 4)}
      {step !== null && <span className="step"> at step {formatCount(step)}</span>}
    </>
  );
}
