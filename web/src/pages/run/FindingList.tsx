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
  const row = (finding: Finding) => (
    <Row
      key={finding.id}
      finding={finding}
      note={marks.get(finding.id)}
      show={() => show(finding)}
      mark={(kind, text) =>
        change(sendJson("POST", `/runs/${run}/notes`, { finding: finding.id, mark: kind, text }))
      }
      unmark={(id) => change(sendJson("DELETE", `/runs/${run}/notes/${id}`))}
    />
  );
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

interface RowProps {
  finding: Finding;
  note: MarkedNote | undefined;
  show: () => void;
  mark: (kind: MarkKind, text: string) => void;
  unmark: (id: string) => void;
}

// The typed note goes with each change of the mark, or by itself once the row is left.
function Row({ finding, note, show, mark, unmark }: RowProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const text = typed ?? note?.text ?? "";
  const press = (kind: MarkKind) => {
    if (note?.mark === kind) unmark(note.id);
    else mark(kind, text.trim());
    setTyped(null);
  };
  const keep = () => {
    if (note !== undefined && text.trim() !== note.text) mark(note.mark, text.trim());
  };
  return (
    <li
      onBlur={({ relatedTarget, currentTarget }) => {
        if (!currentTarget.contains(relatedTarget)) keep();
      }}
    >
      <span>
        <button type="button" className="link" title="Zoom to its time" onClick={show}>
          {finding.text}
        </button>{" "}
        {finding.hint}
      </span>
      <MarkButton kind="kept" word="Keep" note={note} press={press} />
      <MarkButton kind="dismissed" word="Dismiss" note={note} press={press} />
      {note && (
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
            onChange={(event) => setTyped(event.currentTarget.value)}
          />
        </form>
      )}
    </li>
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
