// The end of the run's output, both streams, following while it is live and the reader is at the bottom.
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { getJson } from "../../api/client";
import type { LogPage, Status } from "../../api/types";
import { formatCount } from "../../format/units";
import { addChunks, emptyLog, type Log } from "./log";

const kMaxPages = 200;

function useLog(
  run: string,
  member: string | undefined,
  revision: number,
): { log: Log; error: Error | null; loaded: boolean } {
  const [log, setLog] = useState(emptyLog);
  const [error, setError] = useState<Error | null>(null);
  const [loaded, setLoaded] = useState(false);
  const start = { run, member, log: emptyLog(), cursor: undefined as string | undefined };
  const progress = useRef(start);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new revision means new output
  useEffect(() => {
    if (progress.current.run !== run || progress.current.member !== member)
      progress.current = start;
    const abort = new AbortController();
    const state = progress.current;
    const read = async () => {
      for (let i = 0; i < kMaxPages; i++) {
        const page = await getJson<LogPage>(
          `/runs/${run}/logs`,
          { from: state.cursor, member },
          abort.signal,
        );
        if (abort.signal.aborted) return;
        const done = page.chunks.length === 0 || page.next === null || page.next === state.cursor;
        state.log = addChunks(state.log, page.chunks, page.gaps);
        state.cursor = page.next ?? state.cursor;
        if (done) break;
      }
      setLog(state.log);
      setLoaded(true);
      setError(null);
    };
    read().catch((reason: unknown) => {
      if (!abort.signal.aborted)
        setError(reason instanceof Error ? reason : new Error(String(reason)));
    });
    return () => abort.abort();
  }, [run, member, revision]);
  return { log, error, loaded };
}

export function LogTail({
  run,
  member,
  status,
  revision,
}: {
  run: string;
  // Number of the process that is shown; undefined: the run has one.
  member: string | undefined;
  status: Status;
  revision: number;
}) {
  const { log, error, loaded } = useLog(run, member, revision);
  const [only, setOnly] = useState<string | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const follow = useRef(true);
  const streams = [...new Set(log.lines.map((line) => line.stream))].sort();
  const lines = only === null ? log.lines : log.lines.filter((line) => line.stream === only);
  // biome-ignore lint/correctness/useExhaustiveDependencies: new lines are what moves the end
  useLayoutEffect(() => {
    if (follow.current && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  }, [lines]);
  return (
    <section className="log" aria-label="Output" data-testid="log-tail">
      <div className="line-head">
        <h2>Output</h2>
        {streams.length > 1 && (
          <span className="tabs">
            {[null, ...streams].map((stream) => (
              <button
                key={stream ?? "all"}
                type="button"
                aria-pressed={only === stream}
                onClick={() => setOnly(stream)}
              >
                {stream ?? "both"}
              </button>
            ))}
          </span>
        )}
        {log.dropped > 0 && (
          <span className="badge">
            {formatCount(log.dropped)} earlier lines: corral export, or the command line
          </span>
        )}
      </div>
      {error !== null && lines.length === 0 && (
        <p className="quiet">The output cannot be read: {error.message}</p>
      )}
      {loaded && lines.length === 0 && (
        <p className="quiet">
          {status === "running" ? "No output yet; new lines appear here." : "No output."}
        </p>
      )}
      {lines.length > 0 && (
        <div
          className={streams.length > 1 && only === null ? "log-lines named" : "log-lines"}
          ref={box}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keys
          tabIndex={0}
          role="log"
          aria-live="off"
          onScroll={(event) => {
            const { scrollHeight, scrollTop, clientHeight } = event.currentTarget;
            follow.current = scrollHeight - scrollTop - clientHeight < 24;
          }}
        >
          {lines.map((line) => (
            <div key={line.number} className={`log-line ${line.stream}`}>
              <span>{line.stream === "stdout" ? "" : line.stream}</span>
              <span>{line.text}</span>
            </div>
          ))}
        </div>
      )}
    </section>
  );
}
