// Boards kept on the server: which charts, on which axis, how smoothed and grouped, for any selection.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { getJson, sendJson } from "../api/client";
import { Popup } from "../app/Popup";
import { parseSearch, stringifySearch } from "../app/search";
import { formatMoment } from "../format/time";
import { offerUndo } from "../state/toast";
import { choiceText } from "./choice";
import { ToastPlace } from "./Toast";
import type { BoardView, ViewChange } from "./useBoard";
import { kNoPlace, type ViewSearch, viewSearch } from "./view";

interface Saved {
  name: string;
  updated_ns: string;
  state: string;
}

// A saved board keeps these settings, but neither the selection nor the visible range.
const kKept = [
  "metric",
  "x",
  "xmetric",
  "align",
  "smooth",
  "group",
  "singles",
  "height",
  "enlarged",
] as const;

export function boardState(view: Pick<BoardView, "search" | "choices">): string {
  // A chart's own runs belong to the selection, its own range to the place.
  const metric = view.choices.map(({ runs: _, range: __, ...choice }) => choiceText(choice));
  const kept: Record<string, unknown> = { metric };
  for (const key of kKept) if (view.search[key] !== undefined) kept[key] = view.search[key];
  return stringifySearch(kept);
}

// All settings of a board, and undefined for those it leaves open.
export function boardChange(state: string): ViewChange {
  const said: ViewSearch = viewSearch(parseSearch(state));
  return Object.fromEntries(kKept.map((key) => [key, said[key]])) as ViewChange;
}

export function Boards({ view }: { view: BoardView }) {
  return (
    <>
      <Popup button="Boards" label="Saved boards" className="button" testid="boards">
        {(close) => <List view={view} close={close} />}
      </Popup>
      <ToastPlace />
    </>
  );
}

// The server's boards, and the actions on them; `failed`: why the last action failed.
function useSavedBoards(view: BoardView) {
  const client = useQueryClient();
  const [failed, setFailed] = useState<string | null>(null);
  const answer = useQuery({
    queryKey: ["boards"],
    queryFn: ({ signal }) => getJson<{ boards: Saved[] }>("/boards", {}, signal),
  });
  const act = (doing: Promise<unknown>) =>
    void doing
      .then(() => setFailed(null))
      .catch((reason: unknown) => setFailed(reason instanceof Error ? reason.message : "failed"))
      .finally(() => void client.invalidateQueries({ queryKey: ["boards"] }));
  const path = (of: string) => `/boards/${encodeURIComponent(of)}`;
  // As it was, unless somebody has saved another one since.
  const putBack =
    ({ name, state }: Saved, over: string) =>
    () =>
      act(sendJson("PUT", path(name), { state, expected_updated_ns: over }));
  const boards = answer.data?.boards ?? [];
  const save = async (as: string) => {
    const before = boards.find((board) => board.name === as);
    const saved = await sendJson<{ updated_ns: string }>("PUT", path(as), {
      state: boardState(view),
    });
    if (before !== undefined)
      offerUndo({ text: `Board ${as} replaced`, undo: putBack(before, saved.updated_ns) });
  };
  const remove = async (board: Saved) => {
    await sendJson("DELETE", path(board.name));
    offerUndo({ text: `Board ${board.name} deleted`, undo: putBack(board, "0") });
  };
  return {
    boards,
    none: answer.data !== undefined && boards.length === 0,
    error: answer.error,
    failed,
    save: (as: string) => act(save(as)),
    remove: (board: Saved) => act(remove(board)),
  };
}

function List({ view, close }: { view: BoardView; close: () => void }) {
  const [name, setName] = useState("");
  const { boards, none, error, failed, save, remove } = useSavedBoards(view);
  const open = (board: Saved) => {
    const nothing = { ...kNoPlace, base: undefined, compare: undefined };
    view.change(() => ({ ...boardChange(board.state), ...nothing }), false);
    close();
  };
  return (
    <div className="form">
      {boards.map((board) => (
        <div key={board.name} className="saved">
          <button type="button" className="cut name" onClick={() => open(board)}>
            {board.name}
          </button>
          <span className="quiet">{formatMoment(board.updated_ns, new Date())}</span>
          <button type="button" className="link" onClick={() => save(board.name)}>
            replace
          </button>
          <button
            type="button"
            className="icon-button small"
            aria-label={`Delete ${board.name}`}
            title={`Delete ${board.name}`}
            onClick={() => remove(board)}
          >
            ×
          </button>
        </div>
      ))}
      {none && <p className="quiet">No saved boards yet. A board keeps charts, axis and groups.</p>}
      {error && <p className="quiet">{error.message}</p>}
      <form
        className="finder"
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim() !== "") save(name.trim());
          setName("");
        }}
      >
        <input
          type="text"
          aria-label="Board name"
          placeholder="Save these charts as"
          maxLength={250}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <button type="submit" className="button">
          Save
        </button>
      </form>
      {failed !== null && (
        <p role="alert" className="quiet">
          {failed}
        </p>
      )}
    </div>
  );
}
