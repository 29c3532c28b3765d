// The runs that a board's address selects, with their colours, and what stands in their place where there are none.
import { useQueries } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { runsOfWorkload, useNamedRuns } from "../../api/queries";
import type { Run, RunDetail } from "../../api/types";
import { Failing, Loading, Notice } from "../../app/Notice";
import { byStart } from "../../board/resolve";
import { slotWords, useSlots } from "../../board/slots";
import { useStable } from "../../board/useBoard";
import { type BoardSearch, slotFor } from "../../board/view";

// The runs of the selected workloads, and the place of every run among its workload's: the colour it prefers.
function useWorkloads(ids: readonly string[]) {
  return useQueries({
    queries: ids.map((id) => runsOfWorkload(id)),
    combine: (answers) => ({
      pending: answers.some((answer) => answer.isPending),
      runs: answers.flatMap((answer): Run[] => answer.data?.runs ?? []),
      error: answers.find((answer) => answer.isError)?.error ?? null,
    }),
  });
}

export function useSelected(search: BoardSearch) {
  const workloads = useWorkloads(search.workload ?? []);
  const ids = useStable([
    ...new Set([...workloads.runs.toSorted(byStart).map((run) => run.id), ...(search.run ?? [])]),
  ]);
  const { runs: found, missing, ...named } = useNamedRuns(ids);
  // An address may name one run by two of its names.
  const runs = found.filter((run, i) => found.findIndex((one) => one.id === run.id) === i);
  const own = useWorkloads([...new Set(runs.map((run) => run.workload_id))]);
  const place = (run: RunDetail) =>
    own.runs
      .filter((other) => other.workload_id === run.workload_id)
      .toSorted(byStart)
      .findIndex((other) => other.id === run.id);
  const preferred = runs.map((run) => Math.max(0, place(run)));
  const slots = useSlots({
    ids: runs.map((run) => run.id),
    preferred,
    told: (id) => slotFor(search, id),
    pending: own.pending || named.pending || workloads.pending,
  });
  const placed = runs.map(({ id }, i) => ({
    id,
    preferred: preferred[i] ?? 0,
    slot: slots[i] ?? 0,
  }));
  return {
    runs,
    slots,
    slotsLeft: (ids: readonly string[]) => slotWords(placed.filter(({ id }) => ids.includes(id))),
    missing,
    pending: workloads.pending || named.pending,
    error: workloads.error ?? named.error,
  };
}

interface SelectedProps {
  runs: readonly RunDetail[];
  missing: readonly string[];
  pending: boolean;
  error: Error | null;
  children: ReactNode;
}

// A link outlives the runs that it names: the remaining ones are drawn, and the missing ones are named.
export function SelectedRuns({ runs, missing, pending, error, children }: SelectedProps) {
  if (runs.length === 0 && pending) return <Loading what="the runs" />;
  if (runs.length === 0 && error !== null)
    return <Failing error={error} retry={() => location.reload()} />;
  if (runs.length === 0)
    return (
      <Notice>
        <p>The selected workloads have no runs left.</p>
        <p>
          The <Link to="/">list of runs</Link> shows what there is.
        </p>
      </Notice>
    );
  return (
    <>
      {missing.length > 0 && (
        <p className="quiet" data-testid="missing-runs">
          Could not be read, maybe deleted or mistyped: {missing.join(", ")}
        </p>
      )}
      {children}
    </>
  );
}
