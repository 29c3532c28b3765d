// ⌘K: runs, metrics and actions by a few letters. Loaded when it is first opened.
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useMemo, useState } from "react";
import { sendJson } from "../api/client";
import type { Run } from "../api/types";
import { type Action, openPalette, score, usePalette } from "../state/palette";
import { useModal } from "./useModal";

const kShown = 14;
const kRuns = 6;

// Runs that hold all the words, asked of the server.
function useFoundRuns(typed: string): Action[] {
  const navigate = useNavigate();
  const text = typed.trim();
  const answer = useQuery({
    queryKey: ["palette-runs", text],
    queryFn: ({ signal }) =>
      sendJson<{ runs: Run[] }>("POST", "/runs/search", { text, limit: kRuns }, signal),
    enabled: text !== "",
    retry: false,
  });
  return (answer.data?.runs ?? []).map((run) => ({
    id: `run/${run.id}`,
    group: "run",
    label: run.name,
    hint: run.workload === null ? run.experiment : `${run.experiment} › ${run.workload}`,
    act: () => void navigate({ to: "/runs/$id", params: { id: run.id } }),
  }));
}

function useOffered(typed: string): Action[] {
  const offered = usePalette((state) => state.offered);
  const runs = useFoundRuns(typed);
  return useMemo(() => {
    const known = Object.values(offered)
      .flat()
      .flatMap((action) => {
        const points = score(`${action.group} ${action.label}`, typed);
        return points === null ? [] : [{ action, points }];
      })
      .sort((a, b) => a.points - b.points)
      .map(({ action }) => action);
    return [...known.slice(0, kShown - Math.min(runs.length, kRuns)), ...runs];
  }, [offered, typed, runs]);
}

export function Palette() {
  const dialog = useModal();
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const actions = useOffered(typed);
  // biome-ignore lint/correctness/useExhaustiveDependencies: other words, other list
  useEffect(() => setAt(0), [typed]);
  const run = (action: Action | undefined) => {
    if (action === undefined) return;
    dialog.current?.close();
    action.act();
  };
  const press = (event: React.KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setAt((now) => (now + step + actions.length) % Math.max(1, actions.length));
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(actions[at]);
    }
  };
  return (
    <dialog
      ref={dialog}
      className="dialog palette"
      aria-label="Search runs, metrics, actions"
      onClose={() => openPalette(false)}
      onClick={(event) => event.target === dialog.current && dialog.current?.close()}
      onKeyDown={press}
      data-testid="palette"
    >
      <input
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={actions[at] ? `palette-${at}` : undefined}
        placeholder="Search runs, metrics, actions"
        aria-label="Search runs, metrics, actions"
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
      <div id="palette-list" className="palette-list" role="listbox" aria-label="Found">
        {actions.map((action, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys
          <div
            key={action.id}
            id={`palette-${i}`}
            role="option"
            tabIndex={-1}
            aria-selected={i === at}
            className={i === at ? "row selected" : "row"}
            onPointerMove={() => setAt(i)}
            onClick={() => run(action)}
          >
            <span className="quiet palette-group">{action.group}</span>
            <span className="cut name">{action.label}</span>
            {action.hint !== undefined && (
              <span className="quiet cut palette-hint">{action.hint}</span>
            )}
          </div>
        ))}
        {actions.length === 0 && <div className="row quiet">No matches</div>}
      </div>
    </dialog>
  );
}
