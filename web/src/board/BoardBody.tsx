// What stands below the toolbar of every board: charts (or the words in their place) and the lanes under them.
import { lazy, type RefObject, Suspense } from "react";
import { Failing, Loading, Notice } from "../app/Notice";
import { useView } from "../state/view";
import { kAxisWords, placeWords } from "./axis";
import { Board } from "./Board";
import { Lanes } from "./Lanes";
import { Pinned } from "./Pinned";
import type { Reader } from "./Readout";
import { hasPlace } from "./sharing";
import { type BoardView, useChartTheme } from "./useBoard";
import { useBoardActions } from "./useBoardActions";
import { usePageFont } from "./usePageFont";

const Minimap = lazy(async () => ({ default: (await import("./Minimap")).Minimap }));
const Region = lazy(async () => ({ default: (await import("./Region")).Region }));
const NoteDialog = lazy(async () => ({ default: (await import("./NoteDialog")).NoteDialog }));
const SharingLanes = lazy(async () => ({
  default: (await import("./SharingLanes")).SharingLanes,
}));
const PhasePanel = lazy(async () => ({
  default: (await import("./PhasePanel")).PhasePanel,
}));

const PhaseTable = lazy(async () => ({
  default: (await import("./PhaseTable")).PhaseTable,
}));
const kMostCompared = 8; // runs

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
          {view.axis === "epoch" ? "Without epochs, so not drawn" : "Without it, so from the start"}
          : {view.lacking.join(", ")}
        </p>
      )}
      <Suspense fallback={null}>{regarded && <Region view={view} />}</Suspense>
      {charts.length > 0 && (
        // Its room is there before it, so that nothing moves.
        <Suspense fallback={<div className="minimap" />}>
          {view.zoomedIn ? (
            <Minimap view={view} theme={drawing.theme} />
          ) : (
            <div className="minimap" />
          )}
        </Suspense>
      )}
      {charts.length > 0 && <Board {...drawing} view={view} reader={reader} />}
      {view.onTime && (
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
      )}
      {view.onTime && view.phase !== null && (
        <Suspense fallback={null}>
          <PhasePanel
            at={view.phase}
            phases={view.phases.byRun[view.phase.run.id] ?? []}
            place={place}
            step={view.gestures.step}
            close={view.closePhase}
          />
        </Suspense>
      )}
      {view.onTime && view.lanes.length > 0 && isCompared(view.shown.length) && (
        <Suspense fallback={null}>
          <PhaseTable
            runs={view.shown}
            known={Object.values(view.phases.byRun).reduce((n, phases) => n + phases.length, 0)}
            base={view.making.baseline?.key ?? ""}
          />
        </Suspense>
      )}
      {view.onTime && view.shown.some(hasPlace) && (
        <Suspense fallback={null}>
          <SharingLanes {...drawing} view={view} place={place} />
        </Suspense>
      )}
      <Suspense fallback={null}>{noting && <NoteDialog view={view} />}</Suspense>
      <Pinned reader={reader} place={place} letGo={() => view.gestures.pin(null)} />
    </>
  );
}

const isCompared = (runs: number) => runs >= 2 && runs <= kMostCompared;

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
