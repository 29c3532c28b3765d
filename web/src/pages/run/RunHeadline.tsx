// The head of a run's page: its name, its outcome and its duration.
import { getRouteApi, Link } from "@tanstack/react-router";
import type { RunDetail } from "../../api/types";
import { useNow } from "../../app/useNow";
import { endOf, endTitle, stateWords, toneOf } from "../../format/outcome";
import { formatDuration, formatTicking } from "../../format/time";
import { lineOfReason } from "./log";
import { endWords } from "./RunPanel";
import { runSearch } from "./search";

// A run's duration, ticking while it runs.
export function Elapsed({ run, readAt }: { run: RunDetail; readAt: number }) {
  const now = useNow(run.status === "running");
  if (run.status !== "running") return formatDuration(run.duration_s);
  return formatTicking((run.duration_s ?? 0) + Math.max(0, now - readAt) / 1000);
}

// The outcome in the words of its supervisor, else the run's status.
export function StatusMark({ run }: { run: RunDetail }) {
  const end = endOf(run);
  return (
    <span className={`status status-${toneOf(end)}`} title={endTitle(run)} data-testid="run-end">
      {stateWords(end)}
    </span>
  );
}

export function RunHeadline({ run, readAt }: { run: RunDetail; readAt: number }) {
  const ended = endWords(run);
  const why = run.status === "failed" ? run.tags["corral.outcome.reason"] : null;
  const told = typeof why === "string" && why !== ended ? why : null;
  return (
    <>
      <h1 className="cut">{run.name}</h1>
      <StatusMark run={run} />
      {ended !== "" && !told?.startsWith(ended) && <span className="quiet">{ended}</span>}
      {told !== null && <Reason why={told} />}
      <span className="wide-only">
        <Elapsed run={run} readAt={readAt} />
      </span>
    </>
  );
}

const route = getRouteApi("/runs/$id");

// Links to the line of the output that it quotes.
function Reason({ why }: { why: string }) {
  const { id } = route.useParams();
  return (
    <Link
      to="/runs/$id"
      params={{ id }}
      search={(old: object) => runSearch({ ...old, tab: "output", find: lineOfReason(why) })}
      className="link cut run-why"
      title={`${why}: to the output`}
      data-testid="run-end-reason"
    >
      {why}
    </Link>
  );
}
