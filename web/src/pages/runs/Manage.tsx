// Changes of the selected runs: name, tags, archive and trash, each with an undo.
import { useState } from "react";
import { type Change, changeRuns, readTags, undoOf } from "../../api/changeRuns";
import { ApiError } from "../../api/client";
import type { RunState } from "../../api/types";
import { Popup } from "../../app/Popup";
import { plural } from "../../format/units";
import { removeRuns, renameRun } from "../../state/basket";
import { offerUndo } from "../../state/toast";

export interface ManageProps {
  ids: readonly string[];
  // The name of the first selected run, or "".
  name: string;
  // The state of the listed runs.
  state: RunState;
}

const kMoved: Record<RunState, string> = {
  active: "restored",
  archived: "archived",
  trashed: "moved to the trash",
};

interface Move {
  to: RunState;
  // The lists that offer it.
  from: readonly RunState[];
  label: string;
  title?: string;
  testid: string;
}

const kMoves: readonly Move[] = [
  {
    to: "archived",
    from: ["active"],
    label: "Archive",
    title: "Leave out of lists, and keep",
    testid: "archive",
  },
  { to: "active", from: ["archived", "trashed"], label: "Restore", testid: "restore" },
  {
    to: "trashed",
    from: ["active", "archived"],
    label: "Move to trash",
    title: "Removed for good after 30 days",
    testid: "to-trash",
  },
];

const wordsOf = (reason: unknown) => (reason instanceof Error ? reason.message : "failed");

interface Failure {
  words: string;
  // Repeats the change with force: some of the runs are running.
  anyway: (() => void) | null;
}

// `apply` changes the runs and offers to undo it; `failure`: why the last change failed.
function useChanges(ids: readonly string[]) {
  const [failure, setFailure] = useState<Failure | null>(null);
  const apply = async (change: Change, done: string, force = false): Promise<void> => {
    try {
      const changed = await changeRuns([{ runs: [...ids], ...change }], force);
      setFailure(null);
      // The selection keeps names, and no runs that leave the list.
      if (change.name !== undefined) for (const run of changed) renameRun(run.id, run.name);
      if (change.state !== undefined) removeRuns(ids);
      const back = undoOf(changed);
      const undo = () => {
        void changeRuns(back, true)
          .then((runs) => {
            for (const run of runs) renameRun(run.id, run.name);
          })
          .catch((reason: unknown) => setFailure({ words: wordsOf(reason), anyway: null }));
      };
      if (back.length > 0) offerUndo({ text: `${plural(back.length, "run")} ${done}`, undo });
    } catch (reason) {
      const running = reason instanceof ApiError && reason.status === 409 && !force;
      setFailure({
        words: wordsOf(reason),
        anyway: running ? () => void apply(change, done, true) : null,
      });
    }
  };
  return { apply, failure, forget: () => setFailure(null) };
}

export function Manage({ ids, name, state }: ManageProps) {
  const { apply, failure, forget } = useChanges(ids);
  return (
    <>
      {ids.length > 0 && (
        <>
          {ids.length === 1 && (
            <Popup button="Rename" label="Rename the run" className="link" testid="rename">
              {(close) => (
                <Rename
                  name={name}
                  rename={(to) => {
                    close();
                    void apply({ name: to }, `renamed to ${to}`);
                  }}
                />
              )}
            </Popup>
          )}
          <Popup button="Tag" label="Set and remove tags" className="link" testid="tag">
            {(close) => (
              <Tags
                count={ids.length}
                set={(tags) => {
                  close();
                  void apply({ tags }, "tagged");
                }}
              />
            )}
          </Popup>
          {kMoves.map(
            ({ to, from, label, title, testid }) =>
              from.includes(state) && (
                <button
                  key={to}
                  type="button"
                  className="link"
                  title={title}
                  data-testid={testid}
                  onClick={() => void apply({ state: to }, kMoved[to])}
                >
                  {label}
                </button>
              ),
          )}
        </>
      )}
      {failure !== null && (
        <span role="alert" data-testid="change-failed">
          {failure.words}{" "}
          {failure.anyway !== null && (
            <button type="button" className="link" onClick={failure.anyway}>
              Move anyway
            </button>
          )}{" "}
          <button type="button" className="link" onClick={forget}>
            Close
          </button>
        </span>
      )}
    </>
  );
}

function Rename({ name, rename }: { name: string; rename: (to: string) => void }) {
  const [text, setText] = useState(name);
  const to = text.trim();
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault();
        if (to !== "" && to !== name) rename(to);
      }}
    >
      <input
        type="text"
        aria-label="New name"
        data-testid="new-name"
        // biome-ignore lint/a11y/noAutofocus: the person asked for this field
        autoFocus
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <button type="submit" className="button" disabled={to === "" || to === name}>
        Rename
      </button>
    </form>
  );
}

function Tags(at: { count: number; set: (tags: Record<string, string | null>) => void }) {
  const [text, setText] = useState("");
  const tags = readTags(text);
  const submit = () => {
    if (tags !== null) at.set(tags);
  };
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <textarea
        aria-label="Tags, one a line"
        placeholder={"team=vision\nold="}
        rows={3}
        data-testid="new-tags"
        // biome-ignore lint/a11y/noAutofocus: the person asked for this field
        autoFocus
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
        }}
      />
      <p className="quiet">key=value sets a tag, key= removes it; one a line.</p>
      <button type="submit" className="button" disabled={tags === null}>
        Change {plural(at.count, "run")}
      </button>
    </form>
  );
}
