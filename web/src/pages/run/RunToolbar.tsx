// Above the charts: which run, for how long, and the range shown.
import type { RunDetail } from "../../api/types";
import { useNow } from "../../app/useNow";
import { formatClock, formatDuration, formatTicking } from "../../format/time";
import { Help } from "./Help";
import { type Gestures, zoomed } from "./pointer";
import { endWords } from "./RunPanel";

// A run's duration, ticking while it runs.
export function Elapsed({ run, readAt }: { run: RunDetail; readAt: number }) {
  const now = useNow(run.status === "running");
  if (run.status !== "running") return formatDuration(run.duration_s);
  return formatTicking((run.duration_s ?? 0) + Math.max(0, now - readAt) / 1000);
}

export interface ToolbarProps {
  run: RunDetail;
  readAt: number;
  gestures: Gestures;
  zoomedIn: boolean;
}

export function RunToolbar({ run, readAt, gestures, zoomedIn }: ToolbarProps) {
  const { range, zoom } = gestures;
  const ended = endWords(run);
  const step = (range.to - range.from) / 100;
  const middle = (range.from + range.to) / 2;
  return (
    <>
      <h1 className="cut">{run.name}</h1>
      <span className={`status status-${run.status}`}>{run.status}</span>
      {ended !== "" && <span className="quiet">{ended}</span>}
      <span>
        <Elapsed run={run} readAt={readAt} />
      </span>
      <span className="grow" />
      <span className="quiet" data-testid="range">
        workload time {formatClock(range.from, step)} – {formatClock(range.to, step)}
      </span>
      {zoomedIn && (
        <button
          type="button"
          className="button"
          data-testid="zoom-reset"
          onClick={() => zoom(null)}
        >
          Show everything
        </button>
      )}
      <span className="zoom-buttons">
        <button
          type="button"
          className="icon-button"
          aria-label="Zoom out"
          disabled={!zoomedIn}
          onClick={() => zoom(zoomed(gestures, middle, 2))}
        >
          −
        </button>
        <button
          type="button"
          className="icon-button"
          aria-label="Zoom in"
          onClick={() => zoom(zoomed(gestures, middle, 0.5))}
        >
          +
        </button>
      </span>
      <Help />
    </>
  );
}
