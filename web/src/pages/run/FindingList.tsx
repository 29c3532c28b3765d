// The findings about a run, the greatest first: each zooms the board to its evidence, and a person keeps or dismisses it,
// with a note.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { sendJson } from "../../api/client";
import type { Finding } from "../../api/explain";
import { type MarkedNote, type MarkKind, useMarks } from "../../api/notes";
import { plural } from "../../format/units";
import { apart } from "./found";

interface FindingListProps {
  run: string;
  // "Findings"
  name: string;
  findings: readonly Finding[];
  show: (finding: Finding) => void;
}

export function FindingList({ run, name, findings, show }: FindingListProps) {
  const client = useQueryClient();
  const marks = useMarks(run);
  const [failed, setFailed] = useState("");
  const { shown, dismissed } = apart(findings, marks);
  const change = (request: Promise<unknown>) =>
    void request
      .then(() => setFailed(""))
      .catch((reason: unknown) =>
        setFailed(reason instanceof Error ? reason.message : "It failed."),
      )
      .finally(() => void client.invalidateQueries({ queryKey: ["notes", run] }));
  const mark = (finding: string, kind: MarkKind, text = "") =>
    change(sendJson("POST", `/runs/${run}/notes`, { finding, mark: kind, text }));
  const row = (finding: Finding) => {
    const note = marks.get(finding.id);
    const press = (kind: MarkKind) =>
      note?.mark === kind
        ? change(sendJson("DELETE", `/runs/${run}/notes/${note.id}`))
        : mark(finding.id, kind, note?.text);
    return (
      <li key={finding.id}>
        <span>
          <button
            type="button"
            className="link"
            title="Zoom to its time"
            onClick={() => show(finding)}
          >
            {finding.text}
          </button>{" "}
          {finding.hint}
        </span>
        <MarkButton kind="kept" word="Keep" note={note} press={press} />
        <MarkButton kind="dismissed" word="Dismiss" note={note} press={press} />
        {note && (
          <Why key={note.id} note={note} save={(text) => mark(finding.id, note.mark, text)} />
        )}
      </li>
    );
  };
  return (
    <div>
      <ul className="findings" aria-label={name}>
        {shown.map(row)}
      </ul>
      {dismissed.length > 0 && (
        <details>
          <summary>{plural(dismissed.length, "dismissed finding")}</summary>
          <ul className="findings" aria-label={`Dismissed: ${name}`}>
            {dismissed.map(row)}
          </ul>
        </details>
      )}
      {failed !== "" && <p role="alert">{failed}</p>}
    </div>
  );
}

interface MarkButtonProps {
  kind: MarkKind;
  word: string;
  note: MarkedNote | undefined;
  press: (kind: MarkKind) => void;
}

function MarkButton({ kind, word, note, press }: MarkButtonProps) {
  return (
    <button
      type="button"
      className="link quiet"
      aria-pressed={note?.mark === kind}
      onClick={() => press(kind)}
    >
      {note?.mark === kind ? `${word} ✓` : word}
    </button>
  );
}

function Why({ note, save }: { note: MarkedNote; save: (text: string) => void }) {
  const [text, setText] = useState(note.text);
  const keep = () => {
    if (text.trim() !== note.text) save(text.trim());
  };
  return (
    <form
      className="why"
      onSubmit={(event) => {
        event.preventDefault();
        keep();
      }}
    >
      <input
        type="text"
        aria-label="Note about the finding"
        placeholder="Why? (optional)"
        maxLength={10_000}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        onBlur={keep}
      />
    </form>
  );
}
