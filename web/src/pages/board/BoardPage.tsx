// `/board`: charts of any selection of runs and workloads, within and across experiments.
import { useQueries } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useEffect, useRef } from "react";
import { runsOfWorkload, useNamedRuns } from "../../api/queries";
import type { Run, RunDetail } from "../../api/types";
import { late } from "../../app/late";
import { Failing, Loading, Notice } from "../../app/Notice";
import { Shell } from "../../app/Shell";
import { useTitle } from "../../app/useTitle";
import { AddExpression } from "../../board/AddExpression";
import { placeWords } from "../../board/axis";
import { BoardBody } from "../../board/BoardBody";
import { MetricList } from "../../board/MetricList";
import { useKeys } from "../../board/pointer";
import { type Reader, Readout } from "../../board/Readout";
import { byStart } from "../../board/resolve";
import { slotWords, useSlots } from "../../board/slots";
import { BoardToolbar } from "../../board/Toolbar";
import { useBoard, useStable } from "../../board/useBoard";
import { type BoardSearch, slotFor } from "../../board/view";
import { plural } from "../../format/units";
import { clearView } from "../../state/view";
import { SelectionPanel } from "./SelectionPanel";
import { type BoardChange, useBoardAddress } from "./useBoardAddress";

export function BoardPage() {
  const { search, change, error, retry } = useBoardAddress();
  useTitle("Board");
  useEffect(() => clearView, []);
  if (search === null) {
    return (
      <Frame>
        {error ? <Failing error={error} retry={retry} /> : <Loading what="the board" />}
      </Frame>
    );
  }
  if ((search.run?.length ?? 0) + (search.workload?.length ?? 0) === 0) {
    return (
      <Frame>
        <Notice>
          <p>No run is selected.</p>
          <p>
            Tick runs or workloads in the <Link to="/">list of runs</Link>, then compare them here.
          </p>
        </Notice>
      </Frame>
    );
  }
  return <Selected search={search} change={change} />;
}

function Crumb() {
  return <span aria-current="page">Board</span>;
}

function Frame({ children }: { children: ReactNode }) {
  return (
    <Shell
      crumbs={[<RunsLink key="runs" />, <Crumb key="board" />]}
      panel={null}
      toolbar={<h1>Board</h1>}
      footer={null}
    >
      {children}
    </Shell>
  );
}

const RunsLink = () => <Link to="/">Runs</Link>;

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

function useSelected(search: BoardSearch) {
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
  search: BoardSearch;
  change: (part: (old: BoardSearch) => BoardChange, replace: boolean) => void;
}

function Selected({ search, change }: SelectedProps) {
  const { runs, slots, slotsLeft, missing, pending, error } = useSelected(search);
  const view = useBoard({ runs, slots, search, change });
  const reader = useRef<Reader | null>(null);
  useKeys(view.gestures, view.region !== null);
  return (
    <Shell
      crumbs={[<RunsLink key="runs" />, <Crumb key="board" />]}
      panel={
        <>
          <SelectionPanel {...{ search, change, slotsLeft }} runs={view.shown} />
          <MetricList
            charts={view.defs}
            shown={view.chosen}
            pending={view.metrics.pending || pending}
            error={view.metrics.error}
            choose={view.chooseMetrics}
            reset={view.defaultChoice ? null : view.resetMetrics}
            interest={view.interest}
            extra={<AddExpression view={view} />}
          />
        </>
      }
      toolbar={
        <>
          <h1 className="unseen">Board of {plural(view.shown.length, "run")}</h1>
          <BoardToolbar view={view} />
        </>
      }
      footer={
        <>
          <Readout reader={reader} place={placeWords(view.axis, view.gestures.range)} />
          <span>{plural(view.shown.length, "run")}</span>
        </>
      }
    >
      <div className="content">
        <div className="board">
          <Content {...{ runs, missing, pending, error }}>
            <BoardBody view={view} reader={reader} />
            <MediaSection runs={view.shown} search={view.search} change={view.change} />
          </Content>
        </div>
      </div>
    </Shell>
  );
}

const MediaSection = late({
  what: "Media",
  load: async () => (await import("../../board/Media")).MediaSection,
});

interface ContentProps {
  runs: readonly RunDetail[];
  missing: readonly string[];
  pending: boolean;
  error: Error | null;
  children: ReactNode;
}

// A link outlives the runs that it names: the remaining ones are drawn, and the missing ones are named.
function Content({ runs, missing, pending, error, children }: ContentProps) {
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
