// `/runs/$id`: one run, and the runs of its workload that are drawn along, on one time axis.
import { getRouteApi, Link } from "@tanstack/react-router";
import { type ReactNode, type RefObject, useEffect, useRef } from "react";
import { useRun } from "../../api/queries";
import type { RunDetail } from "../../api/types";
import { Failing, Loading, Notice } from "../../app/Notice";
import { Shell } from "../../app/Shell";
import { formatNumber, kThin } from "../../format/units";
import { useView } from "../../state/view";
import { Board } from "./Board";
import { Lanes } from "./Lanes";
import { LogTail } from "./LogTail";
import { MetricList } from "./MetricList";
import { collectingCost } from "./model";
import { useKeys } from "./pointer";
import { type Reader, Readout } from "./Readout";
import { Details, Facts, Neighbours } from "./RunPanel";
import { Elapsed, RunToolbar } from "./RunToolbar";
import { usePageFont } from "./usePageFont";
import { type RunView, useChartTheme, useRunView } from "./useRunView";

const route = getRouteApi("/runs/$id");

export function RunPage() {
  const { id } = route.useParams();
  const run = useRun(id);
  if (run.data) return <Loaded run={run.data} readAt={run.dataUpdatedAt} key={run.data.id} />;
  return (
    <Shell
      crumbs={[<RunsLink key="runs" />, id]}
      panel={null}
      toolbar={<h1 className="cut">{id}</h1>}
      footer={null}
    >
      {run.error ? (
        <Failing error={run.error} retry={() => void run.refetch()} />
      ) : (
        <Loading what="the run" />
      )}
    </Shell>
  );
}

function RunsLink() {
  return <Link to="/">Runs</Link>;
}

function Loaded({ run, readAt }: { run: RunDetail; readAt: number }) {
  const view = useRunView(run);
  const reader = useRef<Reader | null>(null);
  const { gestures, zoomedIn } = view;
  useKeys(gestures);
  useEffect(() => {
    document.title = `${run.name} · Corral`;
    return () => {
      document.title = "Corral";
      useView.setState({ cursor: null, hovered: null, drag: null, hidden: new Set() });
    };
  }, [run.name]);
  return (
    <Shell
      crumbs={crumbsOf(run)}
      panel={<Panel run={run} readAt={readAt} view={view} />}
      toolbar={<RunToolbar run={run} readAt={readAt} gestures={gestures} zoomedIn={zoomedIn} />}
      footer={
        <>
          <Readout reader={reader} resolution={(gestures.range.to - gestures.range.from) / 600} />
          <Cost cores={collectingCost(view.metrics.byRun[run.id] ?? [])} />
        </>
      }
    >
      <Content run={run} view={view} reader={reader} />
    </Shell>
  );
}

function crumbsOf(run: RunDetail): ReactNode[] {
  const crumbs = [
    <RunsLink key="runs" />,
    <Link key="experiment" to="/" search={{ experiment: run.experiment_id }}>
      {run.experiment}
    </Link>,
  ];
  if (run.workload !== null) {
    const search = { experiment: run.experiment_id, workload: run.workload_id };
    crumbs.push(
      <Link key="workload" to="/" search={search} title="Workload">
        {run.workload}
      </Link>,
    );
  }
  crumbs.push(
    <span key="run" aria-current="page" className="cut">
      {run.name}
    </span>,
  );
  return crumbs;
}

function Panel({ run, readAt, view }: { run: RunDetail; readAt: number; view: RunView }) {
  const theme = useChartTheme();
  return (
    <>
      <Neighbours
        run={run}
        runs={view.siblings}
        shown={new Set(view.shown.map((one) => one.id))}
        theme={theme}
        choose={view.chooseRun}
      />
      <MetricList
        charts={view.charts}
        shown={view.chosen}
        pending={view.metrics.pending}
        error={view.metrics.error}
        choose={view.chooseMetric}
        reset={view.defaultChoice ? null : view.resetMetrics}
      />
      <Facts run={run} duration={<Elapsed run={run} readAt={readAt} />} />
      <Details run={run} />
    </>
  );
}

function Cost({ cores }: { cores: number | null }) {
  if (cores === null) return null;
  return (
    <span title="CPU time of the process that measures this run">
      collecting cost {formatNumber(cores * 100, 2)}
      {kThin}% of a core
    </span>
  );
}

interface ContentProps {
  run: RunDetail;
  view: RunView;
  reader: RefObject<Reader | null>;
}

function Content({ run, view, reader }: ContentProps) {
  const { metrics, charts, drawn, gestures, originNs } = view;
  const drawing = { originNs, gestures, theme: useChartTheme(), font: usePageFont() };
  return (
    <div className="content">
      <div className="board">
        {metrics.error && charts.length === 0 ? (
          <Failing error={metrics.error} retry={() => location.reload()} />
        ) : (
          <ChartsOrWords
            pending={metrics.pending}
            all={charts.length}
            drawn={drawn.length}
            live={view.live}
          />
        )}
        {drawn.length > 0 && (
          <Board
            {...drawing}
            charts={drawn}
            zoomed={view.zoomedIn}
            revision={view.chartRevision}
            reader={reader}
          />
        )}
        <Lanes
          {...drawing}
          runs={view.shown}
          phases={view.phases.byRun}
          pending={view.phases.pending}
        />
        <LogTail run={run.id} status={run.status} revision={view.revision} />
      </div>
    </div>
  );
}

function ChartsOrWords(at: { pending: boolean; all: number; drawn: number; live: boolean }) {
  if (at.drawn > 0) return null;
  if (at.pending) return <Loading what="metrics" />;
  if (at.all > 0) {
    return (
      <Notice>
        <p>No chart is chosen.</p>
        <p>Tick a metric at the left.</p>
      </Notice>
    );
  }
  return (
    <Notice>
      <p>{at.live ? "Nothing was measured yet." : "Nothing was measured in this run."}</p>
      <p>
        {at.live
          ? "The first samples arrive within a second."
          : "corral doctor says which listeners this machine offers."}
      </p>
    </Notice>
  );
}
