// The table of runs: only the rows in sight exist, so that 10,000 of them scroll as well as ten.
import { Link, useNavigate } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import { finite, type Run } from "../../api/types";
import { useNow } from "../../app/useNow";
import { commandLine, middleEllipsis } from "../../format/text";
import { formatDuration, formatExactMoment, formatMoment, formatTicking } from "../../format/time";
import { formatCount, formatNumber } from "../../format/units";

const kRow = 30;
const kHead = [
  "Status",
  "Name",
  "Experiment",
  "Workload",
  "Started",
  "Duration",
  "Last loss",
  "Host",
  "Command",
];
const kNumbers = new Set(["Duration", "Last loss"]);

export interface RunsTableProps {
  rows: Run[];
  total: number;
  // When the rows were read, milliseconds.
  readAt: number;
  more: () => void;
}

export function RunsTable({ rows, total, readAt, more }: RunsTableProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const now = useNow(rows.some((run) => run.status === "running"));
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => kRow,
    overscan: 12,
  });
  const items = virtual.getVirtualItems();
  const lastSeen = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (lastSeen >= rows.length - 20 && rows.length < total) more();
  }, [lastSeen, rows.length, total, more]);

  return (
    <div className="content" ref={scroller}>
      {/* biome-ignore lint/a11y/useSemanticElements: rows are placed absolutely, which a table element forbids */}
      <div
        className="runs"
        role="table"
        aria-label="Runs"
        aria-rowcount={total + 1}
        data-testid="runs-table"
      >
        {/* biome-ignore lint/a11y/useSemanticElements: as above */}
        {/* biome-ignore lint/a11y/useFocusableInteractive: as above */}
        <div className="runs-row runs-head" role="row" aria-rowindex={1}>
          {kHead.map((name) => (
            // biome-ignore lint/a11y/useSemanticElements: as above
            // biome-ignore lint/a11y/useFocusableInteractive: as above
            <span key={name} role="columnheader" className={kNumbers.has(name) ? "number" : "cut"}>
              {name}
            </span>
          ))}
        </div>
        <div className="runs-body" style={{ height: virtual.getTotalSize() }}>
          {items.map((item) => (
            <Row
              key={(rows[item.index] as Run).id}
              run={rows[item.index] as Run}
              place={{ top: item.start, index: item.index }}
              clock={{ now, readAt }}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

interface RowProps {
  run: Run;
  place: { top: number; index: number };
  clock: { now: number; readAt: number };
}

function Row({ run, place, clock }: RowProps) {
  const navigate = useNavigate();
  const open = () => void navigate({ to: "/runs/$id", params: { id: run.id } });
  const command = commandLine(run.command);
  const cell = { role: "cell" } as const;
  return (
    // biome-ignore lint/a11y/useSemanticElements: rows are placed absolutely
    // biome-ignore lint/a11y/useFocusableInteractive: the link in the row is what takes the focus
    // biome-ignore lint/a11y/useKeyWithClickEvents: the link in the row answers the keyboard
    <div
      className="runs-row"
      role="row"
      aria-rowindex={place.index + 2}
      style={{ transform: `translateY(${place.top}px)` }}
      data-testid="run-row"
      data-run={run.id}
      onClick={open}
    >
      <span {...cell}>
        <span className={`status status-${run.status}`} data-testid="run-status">
          {run.status}
        </span>
      </span>
      <span {...cell} className="cut name runs-name">
        <Link
          to="/runs/$id"
          params={{ id: run.id }}
          title={run.name}
          onClick={(event) => event.stopPropagation()}
        >
          {middleEllipsis(run.name, 40)}
        </Link>
      </span>
      <span {...cell} className="cut name" title={run.experiment}>
        {run.experiment}
      </span>
      <span
        {...cell}
        className={run.workload === null ? "cut step" : "cut"}
        title={run.workload_id}
      >
        {run.workload ?? "one run"}
      </span>
      <span {...cell} className="cut soft" title={formatExactMoment(run.start_ns)}>
        {formatMoment(run.start_ns, new Date(clock.now))}
      </span>
      <span {...cell} className="number">
        {run.status === "running"
          ? formatTicking((run.duration_s ?? 0) + Math.max(0, clock.now - clock.readAt) / 1000)
          : formatDuration(run.duration_s)}
      </span>
      <span {...cell} className="number">
        <Loss loss={run.loss} />
      </span>
      <span {...cell} className="cut soft">
        {run.host}
      </span>
      <span {...cell} className="cut mono soft" title={command}>
        {command}
      </span>
    </div>
  );
}

function Loss({ loss }: { loss: Run["loss"] }) {
  if (loss === null) return <span className="step">–</span>;
  const value = finite(loss.value);
  const step = loss.step === null ? null : Number(loss.step);
  return (
    <span title={loss.metric}>
      {value === null ? String(loss.value ?? "–") : formatNumber(value, 4)}
      {step !== null && <span className="step"> at step {formatCount(step)}</span>}
    </span>
  );
}
