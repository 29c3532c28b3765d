// A note about a moment or a span of the axis of time: its run and its text.
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { sendJson } from "../api/client";
import { Choice } from "../app/fields";
import { useModal } from "../app/useModal";
import { nsAt } from "../format/time";
import { useView } from "../state/view";
import { placeWords } from "./axis";
import type { Range } from "./pointer";
import type { BoardView } from "./useBoard";

export function NoteDialog({ view }: { view: BoardView }) {
  const at = useView((state) => state.noteAt);
  // On another axis a place is no time.
  useEffect(() => {
    if (at !== null && !view.onTime) useView.setState({ noteAt: null });
  }, [at, view.onTime]);
  if (at === null || !view.onTime || view.shown.length === 0) return null;
  return <Opened view={view} at={at} />;
}

function Opened({ view, at }: { view: BoardView; at: Range }) {
  const client = useQueryClient();
  const dialog = useModal();
  const [run, setRun] = useState(view.shown[0]?.id ?? "");
  const [text, setText] = useState("");
  const [failed, setFailed] = useState("");
  const saving = useRef(false);
  const place = placeWords(view.axis, at.to > at.from ? at : view.gestures.range);
  // Once, however often the button is pressed.
  const save = async () => {
    if (saving.current || text.trim() === "") return;
    saving.current = true;
    try {
      const origin = view.shown.find((one) => one.id === run)?.origin ?? 0n;
      const span = at.to > at.from ? { end_ns: nsAt(at.to, origin) } : {};
      const note = { time_ns: nsAt(at.from, origin), ...span, text };
      await sendJson("POST", `/runs/${run}/notes`, note);
      void client.invalidateQueries({ queryKey: ["notes", run] });
      dialog.current?.close();
    } catch (reason) {
      setFailed(reason instanceof Error ? reason.message : "It failed.");
      saving.current = false;
    }
  };
  return (
    <dialog
      ref={dialog}
      className="dialog"
      aria-label="A note"
      data-testid="note-dialog"
      onCancel={(event) => {
        if (text.trim() !== "" && !confirm("Discard the note?")) event.preventDefault();
      }}
      onClose={() => useView.setState({ noteAt: null })}
    >
      <form
        className="form dialog-body"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <h2>
          {at.to > at.from
            ? `Note from ${place(at.from)} to ${place(at.to)}`
            : `Note at ${place(at.from)}`}
        </h2>
        <Choice
          label="Run"
          value={run}
          options={view.shown.map(({ id, name }) => [id, name] as const)}
          change={setRun}
        />
        <textarea
          aria-label="Text of the note"
          rows={3}
          maxLength={10_000}
          value={text}
          autoFocus
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <div className="form-row">
          <button type="submit" className="button">
            Save
          </button>
          <button type="button" className="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
        </div>
        {failed !== "" && <p role="alert">{failed}</p>}
      </form>
    </dialog>
  );
}
