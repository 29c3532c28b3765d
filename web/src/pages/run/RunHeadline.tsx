// Which run this is, how it ended, for how long.
import type { RunDetail } from "../../api/types";
import { useNow } from "../../app/useNow";
import { formatDuration, formatTicking } from "../../format/time";
import { endWords } from "./RunPanel";

// A run's duration, ticking while it runs.
export function Elapsed({ run, readAt }: { run: RunDetail; readAt: number }) {
  const now = useNow(run.status === "running");
  if (run.status !== "running") return formatDuration(run.duration_s);
  return formatTicking((run.duration_s ?? 0) + Math.max(0, now - readAt) / 1000);
}

export function RunHeadline({ run, readAt }: { run: RunDetail; readAt: number }) {
  const ended = endWords(run);
  return (
    <>
      <h1 className="cut">{run.name}</h1>
      <span className={`status status-${run.status}`}>{run.status}</span>
      {ended !== "" && <span className="quiet">{ended}</span>}
      <span className="wide-only">
        <Elapsed run={run} readAt={readAt} />
      </span>
    </>
  );
}
