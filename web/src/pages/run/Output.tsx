// All that a run wrote, read in pieces around the place one looks at: the end first, earlier output as one
// scrolls up, later as one scrolls down; found lines by the server's search. A gigabyte of it is never loaded.
import { useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { getJson } from "../../api/client";
import type { LogPage, RunMember } from "../../api/types";
import { Choice } from "../../app/fields";
import { formatCount, formatValue } from "../../format/units";
import { addChunks, emptyLog, type Log, lineFinder } from "./log";
import { firstMember, memberTitle } from "./member";

export interface OutputProps {
  run: string;
  // Empty for a run of one process.
  members: readonly RunMember[];
  // Number of the process whose output is shown; undefined: the first rank.
  member: string | undefined;
  setMember: (member: string) => void;
  running: boolean;
  revision: number;
  find: string | undefined;
  setFind: (text: string | undefined) => void;
}

interface Page extends LogPage {
  prev?: string | null;
}

// Pieces in order; only so many are kept, the far ones are let go.
interface Pieces {
  pages: Page[];
  // There is more before the first, and after the last.
  prev: string | null;
  next: string | null;
  atEnd: boolean;
}

// A chunk is what the process wrote at once: a line, or up to 64 KiB.
const kTail = 4;
const kPageText = 256 * 1024;
const kMostChunks = 256; // the server gives no more at once
const kMaxPages = 8;

// The number of chunks that are about kPageText, as far as those at hand tell.
function chunksOfPage(pages: readonly Page[]): number {
  const chunks = pages.flatMap((page) => page.chunks);
  const text = chunks.reduce((sum, { text }) => sum + text.length, 0);
  if (text === 0) return kTail;
  return Math.min(kMostChunks, Math.max(kTail, Math.floor((kPageText * chunks.length) / text)));
}

type Query = Record<string, string | number | undefined>;

// The output of one process of a run.
interface Source {
  run: string;
  member: string | undefined;
}

const ask = ({ run, member }: Source, query: Query, signal: AbortSignal) =>
  getJson<Page>(`/runs/${run}/logs`, { ...query, member }, signal);

function linesOf(pieces: Pieces): Log {
  return pieces.pages.reduce(
    (log, page) => addChunks(log, page.chunks, page.gaps, Number.POSITIVE_INFINITY),
    emptyLog(),
  );
}

// Adds a page before the first; pages too far below are dropped.
function withEarlier(now: Pieces, page: Page): Pieces {
  const pages = [page, ...now.pages];
  const kept = pages.slice(0, kMaxPages);
  const cut = kept.length < pages.length;
  return {
    pages: kept,
    prev: page.chunks.length === 0 ? null : (page.prev ?? null),
    next: cut ? (kept.at(-1)?.next ?? now.next) : now.next,
    atEnd: now.atEnd && !cut,
  };
}

// Adds a page after the last; pages too far above are dropped.
function withLater(now: Pieces, page: Page): Pieces {
  if (page.chunks.length === 0) return { ...now, atEnd: true };
  const pages = [...now.pages, page];
  const kept = pages.slice(-kMaxPages);
  const cut = kept.length < pages.length;
  return {
    pages: kept,
    prev: cut ? (kept[0]?.prev ?? now.prev) : now.prev,
    next: page.next,
    atEnd: false,
  };
}

// The place to look at: the end, or where a found line begins.
function usePieces(source: Source, at: string | null, revision: number) {
  const { run, member } = source;
  const [pieces, setPieces] = useState<Pieces | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const busy = useRef(false);
  // Number of the current jump: an answer to a request from before it is discarded.
  const turn = useRef(0);
  const latest = useRef(pieces);
  latest.current = pieces;
  const read = useCallback(
    async (query: Query, merge: (page: Page) => Pieces) => {
      if (busy.current) return;
      busy.current = true;
      const mine = turn.current;
      try {
        const page = await ask({ run, member }, query, new AbortController().signal);
        if (mine !== turn.current) return;
        const next = merge(page);
        latest.current = next;
        setPieces(next);
        setError(null);
      } catch (reason) {
        if (mine === turn.current)
          setError(reason instanceof Error ? reason : new Error(String(reason)));
      } finally {
        if (mine === turn.current) busy.current = false;
      }
    },
    [run, member],
  );
  useEffect(() => {
    turn.current++;
    busy.current = false;
    const query = at === null ? { tail: kTail } : { from: at, limit: kTail };
    void read(query, (page) => ({
      pages: [page],
      prev: page.prev ?? at,
      next: page.next,
      atEnd: at === null,
    }));
  }, [at, read]);
  const earlier = useCallback(() => {
    const now = latest.current;
    if (now === null || now.prev === null) return;
    const limit = chunksOfPage(now.pages);
    void read({ before: now.prev, limit }, (page) => withEarlier(now, page));
  }, [read]);
  const later = useCallback(() => {
    const now = latest.current;
    if (now === null || now.next === null) return;
    const limit = chunksOfPage(now.pages);
    void read({ from: now.next, limit }, (page) => withLater(now, page));
  }, [read]);
  // For a box that has room for more lines, and so cannot be scrolled to them.
  const fill = useCallback(() => {
    const now = latest.current;
    if (now === null || now.pages.length >= kMaxPages) return;
    if (now.prev !== null) earlier();
    else if (!now.atEnd) later();
  }, [earlier, later]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new revision means new output
  useEffect(() => {
    if (latest.current?.atEnd) later();
  }, [revision, later]);
  return { pieces, error, earlier, later, fill };
}

// The scroll position of the box of lines: it follows the end while the end is visible, else it stays.
function useScroll(at: {
  cursor: string | null;
  read: Pick<ReturnType<typeof usePieces>, "earlier" | "later" | "fill">;
  // Returns true if it has scrolled to a line that was searched for.
  arrive: (box: HTMLElement) => boolean;
}) {
  const box = useRef<HTMLDivElement>(null);
  const follow = useRef(true);
  const height = useRef(0);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    // Lines that arrive above must not move the visible ones.
    if (follow.current && at.cursor === null) element.scrollTop = element.scrollHeight;
    else if (element.scrollTop < 40 && height.current > 0)
      element.scrollTop += Math.max(0, element.scrollHeight - height.current);
    if (at.arrive(element)) follow.current = false;
    height.current = element.scrollHeight;
    if (element.scrollHeight <= element.clientHeight) at.read.fill();
  });
  const onScroll = () => {
    const element = box.current;
    if (element === null) return;
    const { scrollTop, scrollHeight, clientHeight } = element;
    follow.current = scrollHeight - scrollTop - clientHeight < 24;
    if (scrollTop < 200) at.read.earlier();
    if (follow.current) at.read.later();
  };
  return { box, follow, onScroll };
}

export function Output(props: OutputProps) {
  const { members, setMember } = props;
  // Named in each request: a lower rank or another attempt may come meanwhile.
  const member = props.member ?? firstMember(members);
  const attempts = new Set(members.map((one) => one.attempt)).size;
  return (
    <>
      {members.length > 1 && (
        <div className="output-of">
          <Choice
            label="Output of"
            value={member ?? ""}
            options={members.map(
              (one) => [String(one.member), memberTitle(one, attempts)] as const,
            )}
            change={setMember}
          />
        </div>
      )}
      <OutputOfOne key={member} {...props} member={member} />
    </>
  );
}

function OutputOfOne({ run, member, running, revision, find, setFind }: OutputProps) {
  const [at, setAt] = useState<string | null>(null);
  const { pieces, error, ...read } = usePieces({ run, member }, at, revision);
  const log = pieces === null ? emptyLog() : linesOf(pieces);
  const isFound = lineFinder(find);
  const arrival = useArrival(find, setAt);
  const arrive = (element: HTMLElement) => arrival.arrive(element, pieces !== null);
  const { box, follow, onScroll } = useScroll({ cursor: at, read, arrive });
  const empty = pieces !== null && log.lines.length === 0;
  return (
    <div className="output" data-testid="output">
      <Finder
        source={{ run, member }}
        find={find}
        setFind={(text) => {
          arrival.choose(text);
          setFind(text);
        }}
        go={setAt}
        ended={arrival.setLast}
      />
      {error !== null && <p className="quiet">The output cannot be read: {error.message}</p>}
      {empty && (
        <p className="quiet">
          {running ? "No output yet; new lines appear here." : "No output was recorded."}
        </p>
      )}
      {at !== null && (
        <button
          type="button"
          className="link"
          onClick={() => {
            follow.current = true;
            setAt(null);
          }}
        >
          to the end
        </button>
      )}
      <div
        className="log-lines named tall"
        ref={box}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keys
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label="Output"
        onScroll={onScroll}
      >
        {log.lines.map((line) => (
          <div
            key={line.number}
            className={`log-line ${line.stream}${isFound(line.text) ? " found" : ""}`}
          >
            <span>{line.stream === "stdout" ? "" : line.stream}</span>
            <span>{line.text}</span>
          </div>
        ))}
      </div>
    </div>
  );
}

// Goes once to the line that the address looks for: to the last one that is there, else to the last that the search
// finds. A search typed into the field does not scroll: its user chooses a match.
function useArrival(find: string | undefined, setAt: (cursor: string) => void) {
  const arrived = useRef<string>(undefined);
  // True while a request is in progress.
  const coming = useRef(false);
  const [last, setLast] = useState<LastMatch | null>(null);
  const choose = (text: string | undefined) => {
    arrived.current = text;
    coming.current = false;
  };
  // `loaded`: the box has output. Returns true if it has scrolled to a line now.
  const arrive = (box: HTMLElement, loaded: boolean): boolean => {
    const other = find !== undefined && find !== arrived.current;
    if (!other && !coming.current) return false;
    if (toFound(box)) {
      choose(find);
      return true;
    }
    if (other && loaded && last?.find === find) {
      arrived.current = find;
      coming.current = last.cursor !== null;
      if (last.cursor !== null) setAt(last.cursor);
    }
    return false;
  };
  return { arrive, choose, setLast };
}

// The last of the found lines that are there comes into the middle.
function toFound(box: HTMLElement): boolean {
  const line = [...box.querySelectorAll(".found")].at(-1);
  if (line === undefined) return false;
  const down = line.getBoundingClientRect().top - box.getBoundingClientRect().top;
  box.scrollTop += down - box.clientHeight / 2;
  return true;
}

// Position of the last match of a search; null if there is none.
interface LastMatch {
  find: string;
  cursor: string | null;
}

interface Match {
  stream: string;
  offset: string;
  line: string;
  cursor: string;
}

interface Found {
  matches: Match[];
  next: string | null;
  searched_bytes: string;
  done: boolean;
}

const kMaxMatches = 200;

// Asks on until there are enough or everything was searched.
async function search(source: Source, text: string, signal: AbortSignal): Promise<Found> {
  const { run, member } = source;
  const all: Found = { matches: [], next: null, searched_bytes: "0", done: false };
  let bytes = 0n;
  let from: string | undefined;
  while (!all.done && all.matches.length < kMaxMatches) {
    const regex = /^\/(.+)\/$/.exec(text)?.[1];
    const query = { text: regex ?? text, regex: regex === undefined ? 0 : 1, from, member };
    const page = await getJson<Found>(`/runs/${run}/logs/search`, query, signal);
    all.matches.push(...page.matches);
    bytes += BigInt(page.searched_bytes);
    all.done = page.done || page.next === null;
    from = page.next ?? undefined;
  }
  return { ...all, searched_bytes: String(bytes) };
}

interface FinderProps {
  source: Source;
  find: string | undefined;
  setFind: (text: string | undefined) => void;
  go: (cursor: string) => void;
  // The search has come to its end.
  ended: (last: LastMatch) => void;
}

function Finder({ source, find, setFind, go, ended }: FinderProps) {
  const [typed, setTyped] = useState(find ?? "");
  useEffect(() => setTyped(find ?? ""), [find]);
  const found = useQuery({
    queryKey: ["log-search", source.run, source.member, find],
    queryFn: ({ signal }) => search(source, find ?? "", signal),
    enabled: find !== undefined && find !== "",
    retry: false,
  });
  const { data } = found;
  useEffect(() => {
    if (find !== undefined && data !== undefined)
      ended({ find, cursor: data.matches.at(-1)?.cursor ?? null });
  }, [find, data, ended]);
  return (
    <search>
      <form
        className="finder"
        onSubmit={(event) => {
          event.preventDefault();
          setFind(typed === "" ? undefined : typed);
        }}
      >
        <input
          type="search"
          placeholder="Find in the output; /…/ is a regular expression"
          aria-label="Find in the output"
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        <button type="submit" className="button">
          Find
        </button>
      </form>
      {find !== undefined && (
        <p className="quiet" role="status">
          {found.error?.message ??
            (found.data === undefined ? "Searching." : foundWords(found.data))}
        </p>
      )}
      {found.data !== undefined && found.data.matches.length > 0 && (
        <div className="matches" data-testid="log-matches">
          {found.data.matches.slice(0, kMaxMatches).map((match) => (
            <button
              key={`${match.stream} ${match.offset}`}
              type="button"
              className="row mono"
              onClick={() => go(match.cursor)}
            >
              <span className="cut">{match.line}</span>
            </button>
          ))}
        </div>
      )}
    </search>
  );
}

function foundWords({ matches, done, searched_bytes }: Found): string {
  const size = formatValue(Number(searched_bytes), "B", 3);
  if (matches.length === 0) return `No matches in ${size}.`;
  const lines = matches.length === 1 ? "line" : "lines";
  return done
    ? `${formatCount(matches.length)} ${lines} in ${size}`
    : `the first ${formatCount(matches.length)} ${lines}, in ${size}`;
}
