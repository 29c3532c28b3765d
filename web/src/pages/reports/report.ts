// A report: Markdown in which an address of this page, alone in a paragraph, stands for what the address shows. Pure.
import { escaped, safeMarkdown } from "../../app/markdown";
import { parseSearch, type Raw } from "../../app/search";

export interface Version {
  // Holds the text: GET /views/{view}.
  view: string;
  saved_ns: string;
}

export interface Report {
  text: string;
  // Earlier texts, the newest first.
  versions: readonly Version[];
}

const kMostVersions = 50;

// The report of a saved state; one that another program saved is a text without versions.
export function parseReport(state: string): Report {
  try {
    const { text, versions } = JSON.parse(state) as Partial<Report>;
    if (typeof text !== "string") return { text: state, versions: [] };
    return { text, versions: Array.isArray(versions) ? versions.filter(isVersion) : [] };
  } catch {
    return { text: state, versions: [] };
  }
}

const isVersion = (one: unknown): one is Version => {
  const { view, saved_ns } = (one ?? {}) as Partial<Version>;
  return typeof view === "string" && typeof saved_ns === "string" && /^\d+$/.test(saved_ns);
};

// The state of a new text; `before`: the version that it replaces, if it has one.
export function reportState(
  text: string,
  known: readonly Version[],
  before: Version | null,
): string {
  const older = before === null ? known : [before, ...known];
  return JSON.stringify({ text, versions: older.slice(0, kMostVersions) });
}

export type LiveKind = "board" | "run" | "compare";

export type Block =
  | { kind: "text"; html: string }
  // `address` begins with "/".
  | { kind: LiveKind; address: string; run?: string; search: Raw };

// The live part that an address stands for; null: it is none of this page, or stands for nothing that a report shows.
export function liveOf(text: string, origin: string): Exclude<Block, { kind: "text" }> | null {
  if (!/^(\/|https?:\/\/)\S+$/.test(text) || !URL.canParse(text, origin)) return null;
  const url = new URL(text, origin);
  if (url.origin !== origin) return null;
  const at = { address: url.pathname + url.search, search: parseSearch(url.search) as Raw };
  if (url.pathname === "/board") return { kind: "board", ...at };
  if (url.pathname === "/compare") return { kind: "compare", ...at };
  const run = /^\/runs\/([^/]+)$/.exec(url.pathname)?.[1];
  if (run === undefined) return null;
  try {
    return { kind: "run", run: decodeURIComponent(run), ...at };
  } catch {
    return null; // a "%" that begins no character
  }
}

// Addresses of the web and of this page; a script is none.
const linkOf = (href: string) => (/^(https?:\/\/|mailto:|\/(?![\\/])|#)/i.test(href) ? href : null);

// Files of runs: no other server learns that somebody reads a report.
const pictureOf = (href: string) => (/^\/api\/corral\/v1\/runs\/[^?#]+$/.test(href) ? href : null);

// `far`: for a file elsewhere, whose links have to name the server. A text that is too deeply nested to be read is shown
// as it is.
export function blocksOf(text: string, origin: string, far = false): Block[] {
  try {
    return readBlocks(text, origin, far);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return [{ kind: "text", html: `<pre>${escaped(text)}</pre>` }];
  }
}

function readBlocks(text: string, origin: string, far: boolean): Block[] {
  const farLink = (href: string) => linkOf(href)?.replace(/^\//, `${origin}/`) ?? null;
  const marked = safeMarkdown({ addressOf: far ? farLink : linkOf, pictureOf });
  const blocks: Block[] = [];
  const tokens = marked.lexer(text);
  let words = tokens.slice(0, 0);
  const flush = () => {
    const html = marked.parser(words);
    if (html !== "") blocks.push({ kind: "text", html });
    words = tokens.slice(0, 0);
  };
  for (const token of tokens) {
    const live = token.type === "paragraph" ? liveOf(token.raw.trim(), origin) : null;
    if (live === null) {
      words.push(token);
      continue;
    }
    flush();
    blocks.push(live);
  }
  flush();
  return blocks;
}
