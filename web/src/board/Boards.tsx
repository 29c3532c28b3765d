// Boards kept on the server: which charts, on which axis, how smoothed and grouped, for any selection.
import { useState } from "react";
import { type Saved, useSaved } from "../api/saved";
import { Popup } from "../app/Popup";
import { parseSearch, stringifySearch } from "../app/search";
import { formatMoment } from "../format/time";
import { choiceText } from "./choice";
import { ToastPlace } from "./Toast";
import type { BoardView, ViewChange } from "./useBoard";
import { kNoPlace, type ViewSearch, viewSearch } from "./view";

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

function List({ view, close }: { view: BoardView; close: () => void }) {
  const [name, setName] = useState("");
  const { all: boards, known, error, failed, ...saved } = useSaved("boards");
  const save = (as: string) => void saved.save(as, boardState(view));
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
            onClick={() => void saved.remove(board)}
          >
            ×
          </button>
        </div>
      ))}
      {known && boards.length === 0 && (
        <p className="quiet">No saved boards yet. A board keeps charts, axis and groups.</p>
      )}
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
