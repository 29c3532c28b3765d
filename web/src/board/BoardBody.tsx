// The part below the toolbar of every board: the charts (or the message in their place) and the lanes under them.
import type { RefObject } from "react";
import { Boundary } from "../app/Boundary";
import { useChartTheme } from "../app/colours";
import { late } from "../app/late";
import { Failing, Loading, Notice } from "../app/Notice";
import type { FontMetrics } from "../charts/font";
import type { ChartTheme } from "../charts/theme";
import { useView } from "../state/view";
import { kAxisWords, lackingWords, placeWords } from "./axis";
import { Board } from "./Board";
import { movedWords, unsureWords } from "./clocks";
import { Folds } from "./Folds";
import { Lanes } from "./Lanes";
import { Pinned } from "./Pinned";
import type { Reader } from "./Readout";
import { hasPlace } from "./sharing";
import type { BoardView } from "./useBoard";
import { useBoardActions } from "./useBoardActions";
import { usePageFont } from "./usePageFont";

const Minimap = late({
  what: "The overview",
  load: async () => (await import("./Minimap")).Minimap,
});
const Region = late({ what: "The region", load: async () => (await import("./Region")).Region });
const ColourLegend = late({
  what: "The legend",
  load: async () => (await import("./ColourLegend")).ColourLegend,
});
const NoteDialog = late({
  what: "The note",
  load: async () => (await import("./NoteDialog")).NoteDialog,
  close: () => useView.setState({ noteAt: null }),
});
const SharingLanes = late({
  what: "Sharing",
  load: async () => (await import("./SharingLanes")).SharingLanes,
});
const PhasePanel = late({
  what: "The phase",
  load: async () => (await import("./PhasePanel")).PhasePanel,
});

const TimeBars = late({
  what: "Where the time went",
  load: async () => (await import("./TimeBar")).TimeBars,
});
const PhaseTable = late({
  what: "Time by phase",
  load: async () => (await import("./PhaseTable")).PhaseTable,
});
const kMaxCompared = 8; // runs

export interface BodyProps {
  view: BoardView;
  reader: RefObject<Reader | null>;
}

export function BoardBody({ view, reader }: BodyProps) {
  const { metrics, defs, charts } = view;
  useBoardActions(view);
  const marked = useView(({ marks }) => marks.a !== null && marks.b !== null);
  const noting = useView(({ noteAt }) => noteAt !== null);
  const regarded = marked || view.region !== null;
  const place = placeWords(view.axis, view.gestures.range);
  const drawing = { theme: useChartTheme(), font: usePageFont() };
  return (
    <>
      {metrics.error && defs.length === 0 ? (
        <Failing error={metrics.error} retry={() => location.reload()} />
      ) : (
        <ChartsOrWords
          pending={metrics.pending}
          all={defs.length}
          drawn={charts.length}
          live={view.live}
        />
      )}
      {view.lacking.length > 0 && (
        <p className="quiet" data-testid="lacking">
          {lackingWords(view.axis, view.shown.length)}: {view.lacking.join(", ")}
        </p>
      )}
      <Clocks view={view} />
      {view.legend !== null && <ColourLegend legend={view.legend} />}
      {view.problems.map(({ name, wrong }) => (
        <p key={name} className="quiet" role="alert" data-testid="wrong-expression">
          Not drawn: <code>{name}</code>: {wrong}
        </p>
      ))}
      {regarded && <Region view={view} />}
      {view.stretches.length > 0 && <Folds view={view} />}
      {charts.length > 0 && (
        <Boundary what="The charts" again={view.search}>
          <Board {...drawing} view={view} reader={reader} />
        </Boundary>
      )}
      {view.onTime && <PhaseLanes view={view} drawing={drawing} place={place} />}
      {view.onTime && view.phase !== null && (
        <PhasePanel
          at={view.phase}
          phases={view.phases.byRun[view.phase.run.id] ?? []}
          place={place}
          step={view.gestures.step}
          close={view.closePhase}
        />
      )}
      {view.onTime && view.lanes.length > 0 && isCompared(view.shown.length) && (
        <PhaseTable
          runs={view.shown}
          known={Object.values(view.phases.byRun).reduce((n, phases) => n + phases.length, 0)}
          base={view.making.baseline?.key ?? ""}
        />
      )}
      {view.onTime && view.shown.some(hasPlace) && (
        <SharingLanes {...drawing} view={view} place={place} />
      )}
      {view.lanes.length > 0 && isCompared(view.shown.length) && <TimeBars runs={view.shown} />}
      {noting && <NoteDialog view={view} />}
      <Boundary what="The pinned values" again={view.search.pin}>
        <Pinned reader={reader} place={place} letGo={() => view.gestures.pin(null)} />
      </Boundary>
      {charts.length > 0 && view.zoomedIn && <Minimap view={view} theme={drawing.theme} />}
    </>
  );
}

// Names the hosts whose clocks differ, and says if times are known less exactly than a pixel shows.
function Clocks({ view: { moved, unsure, search, change } }: { view: BoardView }) {
  if (moved.length + unsure.length === 0) return null;
  const raw = search.clocks === "raw";
  const other = () => change(() => ({ clocks: raw ? undefined : "raw" }), false);
  return (
    <p className="quiet" data-testid="clocks">
      {moved.length > 0 && (
        <>
          Times of hosts are {raw ? "as recorded" : "corrected"}: {movedWords(moved)}.{" "}
          <button type="button" className="link" onClick={other}>
            {raw ? "Correct them" : "Show them as recorded"}
          </button>{" "}
        </>
      )}
      {unsure.length > 0 && unsureWords(unsure)}
    </p>
  );
}

interface PhaseLanesProps {
  view: BoardView;
  drawing: { theme: ChartTheme; font: FontMetrics };
  place: (x: number) => string;
}

function PhaseLanes({ view, drawing, place }: PhaseLanesProps) {
  return (
    <Boundary what="The phases" again={view.lanes}>
      <Lanes
        {...drawing}
        gestures={view.gestures}
        region={view.region}
        unit={kAxisWords[view.axis]}
        kind={view.axis === "wall" ? "wall" : "time"}
        place={place}
        rows={view.lanes}
        pending={view.phases.pending}
        chosen={view.phase?.span.id ?? null}
        choose={view.choosePhase}
      />
    </Boundary>
  );
}

const isCompared = (runs: number) => runs >= 2 && runs <= kMaxCompared;

function ChartsOrWords(at: { pending: boolean; all: number; drawn: number; live: boolean }) {
  if (at.drawn > 0) return null;
  if (at.pending) return <Loading what="metrics" />;
  if (at.all > 0) {
    return (
      <Notice>
        <p>No charts selected.</p>
        <p>Select a metric on the left.</p>
      </Notice>
    );
  }
  return (
    <Notice>
      <p>{at.live ? "No data yet" : "No data in this run"}</p>
      <p>
        {at.live
          ? "The first samples arrive within a second."
          : "corral doctor says which listeners this machine offers."}
      </p>
    </Notice>
  );
}
