// Asks a running run for a profile of its next steps, and says how far that is.
import { useMemo, useRef, useState } from "react";
import { isOver, type ProfileAsk, useProfileAsk } from "../../api/profileAsk";
import type { RunDetail } from "../../api/types";
import { Popup } from "../../app/Popup";
import { type Action, usePaletteActions } from "../../state/palette";
import { countWords, kMaxSteps, stateWordsOf, stepsOf } from "./askWords";
import { reveal } from "./reveal";

interface AskProps {
  run: RunDetail;
  // To where the profiles are shown.
  toCharts: () => void;
}

export function AskProfile({ run, toCharts }: AskProps) {
  const { latest, ask, asking, error } = useProfileAsk(run.id);
  const [typed, setTyped] = useState(3);
  const steps = stepsOf(typed);
  const onItsWay = asking || (latest !== null && !isOver(latest));
  const may = run.status === "running" && !onItsWay;
  useAskAction(steps ?? 3, may ? ask : null);
  const show = (artifact: string) => {
    toCharts();
    void reveal(artifact);
  };
  return (
    <form
      className="ask-profile wide-only"
      aria-label="Profile"
      onSubmit={(event) => {
        event.preventDefault();
        if (may && steps !== null) ask(steps);
      }}
    >
      <span className="cut" role="status" data-testid="profile-state">
        {error !== null ? (
          <Reason word="refused" reason={error.message} />
        ) : (
          latest !== null && <State ask={latest} show={show} />
        )}
      </span>
      {run.status === "running" && (
        <>
          <input
            type="number"
            aria-label="Steps to profile"
            min={1}
            max={kMaxSteps}
            step={1}
            value={Number.isNaN(typed) ? "" : typed}
            onChange={(event) => setTyped(event.currentTarget.valueAsNumber)}
          />
          <button
            type="submit"
            className="button"
            disabled={!may || steps === null}
            title="Records the next steps of this run with PyTorch's profiler; they take longer"
          >
            Profile {countWords(steps ?? 3)}
          </button>
        </>
      )}
    </form>
  );
}

function State({ ask, show }: { ask: ProfileAsk; show: (artifact: string) => void }) {
  const { state, artifact, reason } = ask;
  const words = stateWordsOf(ask);
  if (state === "done" && artifact !== undefined)
    return (
      <button type="button" className="link" onClick={() => show(artifact)}>
        {words}
      </button>
    );
  if (reason === undefined) return <span className="quiet">{words}</span>;
  return <Reason word={words} reason={reason} />;
}

// A word, and the sentence behind it.
function Reason({ word, reason }: { word: string; reason: string }) {
  return (
    <Popup button={word} label={`No profile: ${reason}`} className="link" testid="profile-reason">
      {() => <p className="ask-reason">No profile: {reason}</p>}
    </Popup>
  );
}

function useAskAction(steps: number, ask: ((steps: number) => void) | null): void {
  const latest = useRef(ask);
  latest.current = ask;
  const may = ask !== null;
  const actions = useMemo(
    (): Action[] =>
      may
        ? [
            {
              id: "run/profile",
              group: "run",
              label: `profile ${countWords(steps)}`,
              act: () => latest.current?.(steps),
            },
          ]
        : [],
    [may, steps],
  );
  usePaletteActions("profile", actions);
}
