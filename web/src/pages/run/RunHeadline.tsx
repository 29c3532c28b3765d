// Which run this is, how it ended, for how long.
import type { RunDetail } from "../../api/types";
import { useNow } from "../../app/useNow";
import { endOf, stateWords, toneOf } from "../../format/outcome";
import { formatDuration, formatTicking } from "../../format/time";
import { endWords } from "./RunPanel";

// A run's duration, ticking while it runs.
export function Elapsed({ run, readAt }: { run: RunDetail; readAt: number }) {
  const now = useNow(run.status === "running");
  if (run.status !== "running") return formatDuration(run.duration_s);
  return formatTicking((run.duration_s ?? 0) + Math.max(0, now - readAt) / 1000);
}

// How it ended in the words of its supervisor, else its status.
export function StatusMark({ run }: { run: RunDetail }) {
  const end = endOf(run);
  return (
    <span className={`status status-${toneOf(end)}`} data-testid="run-end">
      {stateWords(end)}
    </span>
  );
}

export function RunHeadline({ run, readAt }: { run: RunDetail; readAt: number }) {
  const ended = endWords(run);
  const why = run.status === "failed" ? run.tags["corral.outcome.reason"] : null;
  return (
    <>
      <h1 className="cut">{run.name}</h1>
      <StatusMark run={run} />
      {ended !== "" && <span className="quiet">{ended}</span>}
      {typeof why === "string" && why !== ended && (
        <span className="quiet cut" title={why} data-testid="run-end-reason">
          {why}
        </span>
      )}
      <span className="wide-only">
        <Elapsed run={run} readAt={readAt} />
      </span>
    </>
  );
}
