// Removes for good what is in the trash, after a dialog that says what would be lost. Runs that still run stay.
import { useEffect, useState } from "react";
import { type Removal, removeTrashed } from "../../api/changeRuns";
import { ApiError } from "../../api/client";
import { allRows } from "../../api/runSearch";
import { useModal } from "../../app/useModal";
import { formatCount, formatValue, plural } from "../../format/units";
import { removeRuns } from "../../state/basket";

const kNamed = 10; // runs named in the dialog
const kSized = 500; // runs whose size is asked for, each by a request of its own
const kAtOnce = 4; // requests

type Trashed = { id: string; name: string };

// Calls `act` for each, a few at a time, in no order; stops as soon as `act` returns false.
async function forEachOf<T>(all: readonly T[], act: (one: T) => Promise<boolean>): Promise<void> {
  let next = 0;
  const work = async () => {
    for (let one = all[next++]; one !== undefined; one = all[next++]) {
      if (!(await act(one))) next = all.length;
    }
  };
  await Promise.all(Array.from({ length: kAtOnce }, work));
}

interface Planned {
  runs: Trashed[];
  running: number;
  // null: too many runs to ask for.
  size: Removal | null;
}

async function plan(): Promise<Planned> {
  const all = await allRows({ state: "trashed" });
  const runs = all.filter(({ status }) => status !== "running");
  const running = all.length - runs.length;
  if (runs.length > kSized) return { runs, running, size: null };
  const size: Removal = { points: 0, bytes: 0 };
  await forEachOf(runs, async ({ id }) => {
    const one = await removeTrashed(id, { dry: true });
    size.points += one.points;
    size.bytes += one.bytes;
    return true;
  });
  return { runs, running, size };
}

type State =
  | { step: "planning" }
  | { step: "asking"; plan: Planned }
  | { step: "removing"; done: number; of: number }
  | { step: "failed"; words: string };

const wordsOf = (reason: unknown) => (reason instanceof Error ? reason.message : "It failed.");

// Returns the state and the step that removes what was planned; `finish` is called when all of it is gone.
function useEmptying(finish: () => void) {
  const [state, setState] = useState<State>({ step: "planning" });
  useEffect(() => {
    plan().then(
      (planned) => setState({ step: "asking", plan: planned }),
      (reason: unknown) => setState({ step: "failed", words: wordsOf(reason) }),
    );
  }, []);
  const remove = async (runs: readonly Trashed[]) => {
    let done = 0;
    let stopped: string | null = null;
    setState({ step: "removing", done, of: runs.length });
    await forEachOf(runs, async ({ id }) => {
      try {
        await removeTrashed(id);
      } catch (reason) {
        // Somebody else has removed or restored it, or it has begun to run.
        const passes = reason instanceof ApiError && [404, 409].includes(reason.status);
        if (!passes) stopped = wordsOf(reason);
        return passes;
      }
      removeRuns([id]);
      done++;
      setState({ step: "removing", done, of: runs.length });
      return true;
    });
    if (stopped === null) finish();
    else
      setState({
        step: "failed",
        words: `${formatCount(done)} of ${plural(runs.length, "run")} removed. ${stopped}`,
      });
  };
  return { state, remove };
}

export function EmptyTrash({ close }: { close: () => void }) {
  const dialog = useModal();
  const { state, remove } = useEmptying(() => dialog.current?.close());
  return (
    <dialog
      ref={dialog}
      className="dialog"
      aria-label="Empty the trash"
      data-testid="empty-trash-dialog"
      onClose={close}
    >
      <div className="form dialog-body empty-trash">
        <h2>Empty the trash</h2>
        {state.step === "planning" && <p>Reading the trash.</p>}
        {state.step === "asking" && <Question plan={state.plan} />}
        {state.step === "removing" && (
          <p role="status">
            Removing: {formatCount(state.done)} of {formatCount(state.of)}.
          </p>
        )}
        {state.step === "failed" && <p role="alert">{state.words}</p>}
        <div className="form-row">
          {state.step === "asking" && state.plan.runs.length > 0 && (
            <button
              type="button"
              className="button danger"
              data-testid="empty-trash-confirm"
              onClick={() => void remove(state.plan.runs)}
            >
              Remove {plural(state.plan.runs.length, "run")} for good
            </button>
          )}
          <button type="button" className="button" onClick={() => dialog.current?.close()}>
            {state.step === "asking" ? "Cancel" : "Close"}
          </button>
        </div>
      </div>
    </dialog>
  );
}

function Question({ plan: { runs, running, size } }: { plan: Planned }) {
  const more = runs.length - kNamed;
  return (
    <>
      {runs.length > 0 && (
        <p>
          This cannot be undone. {plural(runs.length, "run")} with all metrics, output and files
          {size && `: ${plural(size.points, "point")}, ${formatValue(size.bytes, "B")}`}.
        </p>
      )}
      <ul className="trashed">
        {runs.slice(0, kNamed).map(({ id, name }) => (
          <li key={id} className="cut name" title={name}>
            {name}
          </li>
        ))}
        {more > 0 && <li className="quiet">and {formatCount(more)} more</li>}
      </ul>
      {running > 0 && (
        <p>
          {plural(running, "run")} {running === 1 ? "is" : "are"} still running and{" "}
          {running === 1 ? "stays" : "stay"} in the trash.
        </p>
      )}
    </>
  );
}
