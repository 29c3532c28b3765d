// `/`: all runs, newest first, narrowed by experiment and workload.
import { getRouteApi } from "@tanstack/react-router";
import { useMemo } from "react";
import { useRuns } from "../../api/queries";
import { Failing, Loading, Notice } from "../../app/Notice";
import { Shell } from "../../app/Shell";
import { formatCount, plural } from "../../format/units";
import { ExperimentTree } from "./ExperimentTree";
import { RunsTable } from "./RunsTable";

const route = getRouteApi("/");

export function RunsPage() {
  const search = route.useSearch();
  const runs = useRuns(search);
  const rows = useMemo(() => runs.data?.pages.flatMap((page) => page.runs) ?? [], [runs.data]);
  const total = runs.data?.pages[0]?.total ?? 0;
  const counts = useMemo(() => {
    const by = (status: string) => rows.filter((run) => run.status === status).length;
    return { running: by("running"), failed: by("failed") };
  }, [rows]);
  const narrowed = Object.keys(search).length > 0;

  return (
    <Shell
      crumbs={[
        <span key="here" aria-current="page">
          Runs
        </span>,
      ]}
      panel={<ExperimentTree search={search} />}
      toolbar={
        <>
          <h1>{runs.data ? plural(total, "run") : "Runs"}</h1>
          {counts.running > 0 && (
            <span className="status status-running">{counts.running} running</span>
          )}
          {counts.failed > 0 && rows.length === total && (
            <span className="status status-failed">{counts.failed} failed</span>
          )}
        </>
      }
      footer={
        rows.length < total
          ? `${formatCount(rows.length)} of ${plural(total, "run")} loaded; scroll for more`
          : null
      }
    >
      {runs.error && !runs.data ? (
        <Failing error={runs.error} retry={() => void runs.refetch()} />
      ) : runs.isPending ? (
        <Loading what="runs" />
      ) : rows.length === 0 ? (
        <Empty narrowed={narrowed} />
      ) : (
        <RunsTable
          rows={rows}
          total={total}
          readAt={runs.dataUpdatedAt}
          more={() => {
            if (runs.hasNextPage && !runs.isFetchingNextPage) void runs.fetchNextPage();
          }}
        />
      )}
    </Shell>
  );
}

function Empty({ narrowed }: { narrowed: boolean }) {
  if (narrowed) {
    return (
      <Notice>
        <p>No run belongs to this selection.</p>
        <p>Choose another experiment at the left, or all runs.</p>
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
