// `/board`: charts of any selection of runs and workloads, within and across experiments.
import { Link } from "@tanstack/react-router";
import { type ReactNode, useEffect, useRef } from "react";
import { late } from "../../app/late";
import { Failing, Loading, Notice } from "../../app/Notice";
import { RunsLink, Shell } from "../../app/Shell";
import { useTitle } from "../../app/useTitle";
import { AddExpression } from "../../board/AddExpression";
import { placeWords } from "../../board/axis";
import { BoardBody } from "../../board/BoardBody";
import { MetricList } from "../../board/MetricList";
import { useKeys } from "../../board/pointer";
import { type Reader, Readout } from "../../board/Readout";
import { BoardToolbar } from "../../board/Toolbar";
import { useBoard } from "../../board/useBoard";
import type { BoardSearch } from "../../board/view";
import { plural } from "../../format/units";
import { clearView } from "../../state/view";
import { SelectionPanel } from "./SelectionPanel";
import { SelectedRuns, useSelected } from "./selected";
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

function Frame({ children }: { children: ReactNode }) {
  return (
    <Shell
      crumbs={[<RunsLink key="runs" />, "Board"]}
      panel={null}
      toolbar={<h1>Board</h1>}
      footer={null}
    >
      {children}
    </Shell>
  );
}

interface SelectedProps {
  search: BoardSearch;
  change: (part: (old: BoardSearch) => BoardChange, replace: boolean) => void;
}

function Selected({ search, change }: SelectedProps) {
  const { slots, slotsLeft, ...selected } = useSelected(search);
  const { runs, pending } = selected;
  const view = useBoard({ runs, slots, search, change });
  const reader = useRef<Reader | null>(null);
  useKeys(view.gestures, view.region);
  return (
    <Shell
      crumbs={[<RunsLink key="runs" />, "Board"]}
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
          <SelectedRuns {...selected}>
            <BoardBody view={view} reader={reader} />
            <MediaSection runs={view.shown} search={view.search} change={view.change} />
          </SelectedRuns>
        </div>
      </div>
    </Shell>
  );
}

const MediaSection = late({
  what: "Media",
  load: async () => (await import("../../board/Media")).MediaSection,
});
