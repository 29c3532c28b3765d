// Changes of one run on its page: its name, its tags, and its way back from the archive or the trash.
import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { type Change, changeRuns, readTags } from "../../api/changeRuns";
import type { RunDetail } from "../../api/types";
import { formatExactMoment } from "../../format/time";
import { formatCount } from "../../format/units";
import { renameRun } from "../../state/basket";

// `change` changes the run; `failed`: why the last change failed.
function useChange(run: RunDetail) {
  const client = useQueryClient();
  const [failed, setFailed] = useState<string | null>(null);
  const change = async (to: Change): Promise<void> => {
    try {
      const [changed] = await changeRuns([{ runs: [run.id], ...to }]);
      if (changed) renameRun(run.id, changed.name);
      setFailed(null);
    } catch (reason) {
      setFailed(reason instanceof Error ? reason.message : "failed");
    }
    await client.invalidateQueries({ queryKey: ["run"] });
  };
  return { change, failed };
}

const Failed = ({ why }: { why: string | null }): ReactNode =>
  why === null ? null : (
    <p className="quiet" role="alert">
      {why}
    </p>
  );

// Says that lists leave the run out, and offers to bring it back.
export function HiddenRun({ run }: { run: RunDetail }) {
  const { change, failed } = useChange(run);
  const trashed = run.state === "trashed";
  return (
    <div className="banner" data-testid="hidden-run">
      <span>
        {trashed ? "This run is in the trash" : "This run is in the archive: lists leave it out"}
        {trashed && run.removal_ns && `, and removed for good ${formatExactMoment(run.removal_ns)}`}
        .{" "}
      </span>
      <button
        type="button"
        className="link"
        data-testid="restore-run"
        onClick={() => void change({ state: "active" })}
      >
        Restore
      </button>
      <Failed why={failed} />
    </div>
  );
}

export function RenameRun({ run }: { run: RunDetail }) {
  const { change, failed } = useChange(run);
  const [text, setText] = useState<string | null>(null);
  const name = (text ?? run.name).trim();
  return (
    <section aria-label="Name">
      <div className="line-head">
        <h2>Name</h2>
      </div>
      <form
        className="finder"
        onSubmit={(event) => {
          event.preventDefault();
          if (name !== "" && name !== run.name) void change({ name }).then(() => setText(null));
        }}
      >
        <input
          type="text"
          aria-label="Name of the run"
          data-testid="run-name"
          value={text ?? run.name}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <button type="submit" className="button" disabled={name === "" || name === run.name}>
          Rename
        </button>
      </form>
      <Failed why={failed} />
    </section>
  );
}

// `show` shows a value.
export function Tags({ run, show }: { run: RunDetail; show: (text: string) => ReactNode }) {
  const { change, failed } = useChange(run);
  const [text, setText] = useState("");
  const tags = Object.entries(run.tags);
  const wanted = readTags(text);
  return (
    <section aria-label="Tags, to change">
      <div className="line-head">
        <h2>Tags</h2>
        <span className="unit">{formatCount(tags.length)}</span>
      </div>
      <dl className="facts wide">
        {tags.map(([key, value]) => (
          <div key={key} style={{ display: "contents" }}>
            <dt className="cut" title={key}>
              {key}
            </dt>
            <dd className="run-tag">
              {show(String(value))}
              <button
                type="button"
                className="icon-button small"
                aria-label={`Remove the tag ${key}`}
                title={`Remove the tag ${key}`}
                onClick={() => void change({ tags: { [key]: null } })}
              >
                ×
              </button>
            </dd>
          </div>
        ))}
      </dl>
      <form
        className="finder"
        onSubmit={(event) => {
          event.preventDefault();
          if (wanted !== null) void change({ tags: wanted }).then(() => setText(""));
        }}
      >
        <input
          type="text"
          placeholder="key=value"
          aria-label="A tag to set, key=value"
          data-testid="new-tag"
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <button type="submit" className="button" disabled={wanted === null}>
          Set
        </button>
      </form>
      <Failed why={failed} />
    </section>
  );
}
