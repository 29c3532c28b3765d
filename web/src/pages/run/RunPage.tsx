// `/runs/$id`: one run, and the runs of its workload that are drawn along, on one time axis.
import { getRouteApi, Link } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { healthWords, useHealth } from "../../api/health";
import { useRun } from "../../api/queries";
import type { Metric, RunDetail } from "../../api/types";
import { useChartTheme } from "../../app/colours";
import { late } from "../../app/late";
import { Failing, Loading } from "../../app/Notice";
import { type Crumbs, RunsLink, Shell } from "../../app/Shell";
import { useTitle } from "../../app/useTitle";
import { AddExpression } from "../../board/AddExpression";
import { placeWords } from "../../board/axis";
import { BoardBody } from "../../board/BoardBody";
import { MetricList } from "../../board/MetricList";
import { collectingCost } from "../../board/model";
import { useKeys } from "../../board/pointer";
import { type Reader, Readout } from "../../board/Readout";
import { BoardToolbar } from "../../board/Toolbar";
import type { BoardView } from "../../board/useBoard";
import { formatNumber, kThin } from "../../format/units";
import { clearView } from "../../state/view";
import { LogTail } from "./LogTail";
import { firstMember } from "./member";
import { Elapsed, RunHeadline } from "./RunHeadline";
import { Details, Facts, Neighbours } from "./RunPanel";
import { kRunTabs, type RunTab } from "./search";
import { spanOf } from "./span";
import { useProfiles } from "./useProfiles";
import { type RunBoard, useRunBoard } from "./useRunBoard";

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

// Reports what could not be measured in the run; its space is reserved in advance.
function HealthLine({ run }: { run: RunDetail }) {
  const health = useHealth(run.id);
  const words = healthWords(health?.parts ?? []);
  if (words === null && (run.health_problems ?? 0) === 0) return null;
  return (
    <p className="health cut" title={words ?? undefined} data-testid="health">
      {words}
    </p>
  );
}

function Loaded({ run, readAt }: { run: RunDetail; readAt: number }) {
  const runBoard = useRunBoard(run);
  const { board, search, change } = runBoard;
  const tab = search.tab ?? "charts";
  const reader = useRef<Reader | null>(null);
  useKeys(board.gestures, board.region, tab === "charts");
  useTitle(run.name);
  const explained = useExplained(run);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another run starts over
  useEffect(() => clearView, [run.name]);
  return (
    <Shell
      crumbs={crumbsOf(run)}
      panel={<Panel run={run} readAt={readAt} runBoard={runBoard} />}
      toolbar={
        <>
          <RunHeadline run={run} readAt={readAt} />
          <span className="grow" />
          <AskProfileOf
            run={run}
            toCharts={() => tab !== "charts" && change(() => ({ tab: "charts" }), false)}
          />
          <Tabs tab={tab} choose={(to) => change(() => ({ tab: to }), false)} />
        </>
      }
      footer={
        <>
          <Readout reader={reader} place={placeWords(board.axis, board.gestures.range)} />
          <Cost cores={costOf(run, board.metrics.byRun[run.id])} />
        </>
      }
    >
      <div className="content">
        {(run.state ?? "active") !== "active" && <HiddenRun run={run} />}
        {tab === "charts" && (
          <div className="toolbar sticky">
            <BoardToolbar view={board} />
          </div>
        )}
        {tab === "charts" ? (
          <div className="board">
            <HealthLine run={run} />
            {explained && <Found run={run} board={board} />}
            <BoardBody view={board} reader={reader} />
            <ProfilesOf run={run} board={board} />
            <LogTail
              run={run.id}
              member={firstMember(run.members ?? [])}
              status={run.status}
              revision={board.revision}
            />
          </div>
        ) : (
          <Other tab={tab} run={run} runBoard={runBoard} />
        )}
      </div>
    </Shell>
  );
}

const HiddenRun = late({
  what: "Where the run is kept",
  load: async () => (await import("./RunChanges")).HiddenRun,
});

const Found = late({
  what: "Where the time went",
  load: async () => (await import("./Found")).Found,
  waiting: <section className="found" aria-label="What was found" />,
});

const Profiles = late({
  what: "Profiles",
  load: async () => (await import("./Profiles")).Profiles,
});

// True if it has phases, or was running when the page was opened and may get some: then there is room for what they
// tell.
function useExplained(run: RunDetail): boolean {
  const [was] = useState(run.status === "running");
  return was || run.has_phases === true;
}

// Few runs have any: what shows them is loaded where there is something to show.
function ProfilesOf({ run, board }: { run: RunDetail; board: BoardView }) {
  const phases = board.phases.byRun[run.id] ?? [];
  const found = useProfiles(run, phases);
  if (found === null) return null;
  const origin = board.onTime ? board.shown.find(({ id }) => id === run.id)?.origin : undefined;
  return <Profiles run={run} found={found} origin={origin ?? null} phases={phases} />;
}

const AskProfile = late({
  what: "The profiler",
  load: async () => (await import("./AskProfile")).AskProfile,
});

// Shown if the run was running when the page was opened.
function AskProfileOf(at: { run: RunDetail; toCharts: () => void }) {
  const [was] = useState(at.run.status === "running");
  if (!was) return null;
  return <AskProfile {...at} />;
}

function crumbsOf(run: RunDetail): Crumbs {
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
  return [...crumbs, run.name];
}

const kTabs: Record<RunTab, string> = {
  charts: "Charts",
  about: "About",
  output: "Output",
  media: "Media",
  files: "Files",
  diff: "Difference",
};

function Tabs({ tab, choose }: { tab: RunTab; choose: (tab: RunTab) => void }) {
  return (
    <nav className="page-tabs" aria-label="Parts of the run">
      {kRunTabs.map((one) => (
        <button
          key={one}
          type="button"
          aria-current={one === tab ? "page" : undefined}
          data-testid={`tab-${one}`}
          onClick={() => choose(one)}
        >
          {kTabs[one]}
        </button>
      ))}
    </nav>
  );
}

const About = late({
  what: "This part",
  load: async () => (await import("./About")).About,
  waiting: <Loading what="this part" />,
});
const Output = late({
  what: "The output",
  load: async () => (await import("./Output")).Output,
  waiting: <Loading what="the output" />,
});
const Media = late({
  what: "The media",
  load: async () => (await import("../../board/Media")).Media,
  waiting: <Loading what="the media" />,
});
const Files = late({
  what: "The files",
  load: async () => (await import("./Files")).Files,
  waiting: <Loading what="the files" />,
});
const Diff = late({
  what: "The comparison",
  load: async () => (await import("./Diff")).Diff,
  waiting: <Loading what="the comparison" />,
});

function Other(at: { tab: RunTab; run: RunDetail; runBoard: RunBoard }) {
  const { run } = at;
  const { board, search, change } = at.runBoard;
  const metrics = board.metrics.byRun[run.id] ?? [];
  switch (at.tab) {
    case "output":
      return (
        <Output
          run={run.id}
          members={run.members ?? []}
          member={search.member}
          setMember={(member) => change(() => ({ member }), false)}
          running={run.status === "running"}
          revision={board.revision}
          find={search.find}
          setFind={(find) => change(() => ({ find }), false)}
        />
      );
    case "media":
      return <Media runs={board.shown} search={search} change={board.change} />;
    case "files":
      return (
        <Files run={run.id} path={search.path} open={(path) => change(() => ({ path }), false)} />
      );
    case "diff":
      return (
        <Diff
          run={run}
          metrics={metrics}
          against={search.against}
          choose={(against) => change(() => ({ against }), false)}
        />
      );
    default:
      return (
        <About
          run={run}
          metrics={metrics}
          phases={board.phases.byRun[run.id] ?? []}
          zoom={(to) => change((old) => ({ ...spanOf(run, board, to)(old), tab: "charts" }), false)}
        />
      );
  }
}

interface PanelProps {
  run: RunDetail;
  readAt: number;
  runBoard: RunBoard;
}

function Panel({ run, readAt, runBoard }: PanelProps) {
  const { board, siblings, chooseRun } = runBoard;
  return (
    <>
      <Neighbours
        run={run}
        runs={siblings}
        shown={new Set(board.shown.map((one) => one.id))}
        places={new Map(board.shown.map(({ id, index }) => [id, index]))}
        theme={useChartTheme()}
        choose={chooseRun}
      />
      <MetricList
        charts={board.defs}
        shown={board.chosen}
        pending={board.metrics.pending}
        error={board.metrics.error}
        choose={board.chooseMetrics}
        reset={board.defaultChoice ? null : board.resetMetrics}
        interest={board.interest}
        extra={<AddExpression view={board} />}
      />
      <Facts run={run} duration={<Elapsed run={run} readAt={readAt} />} />
      <Details run={run} />
    </>
  );
}

// The overhead that its supervisor reported at the end, as the terminal showed it, else the overhead measured so far.
function costOf(run: RunDetail, metrics: readonly Metric[] = []): number | null {
  const told = run.info.collecting_cores;
  return typeof told === "number" ? told : collectingCost(metrics);
}

function Cost({ cores }: { cores: number | null }) {
  if (cores === null) return null;
  return (
    <span title="CPU time of the supervisor, which measures this run">
      Collector overhead: {formatNumber(cores * 100, 2)}
      {kThin}% of a core
    </span>
  );
}
