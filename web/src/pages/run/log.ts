// Output chunks → lines, the newest few thousand. A line may arrive in pieces; a carriage return restarts it, as
// progress bars expect. Pure.
import type { LogChunk, LogPage } from "../../api/types";
import { formatValue } from "../../format/units";

export interface LogLine {
  number: number;
  stream: string;
  text: string;
}

export interface Log {
  lines: LogLine[];
  // Per stream, the line that has no end yet, as it came.
  open: Readonly<Record<string, { number: number; raw: string }>>;
  next: number;
  dropped: number;
}

export const kMaxLines = 2000;

export function emptyLog(): Log {
  return { lines: [], open: {}, next: 0, dropped: 0 };
}

// Returns a line as a terminal shows it: without colours, and without text that a carriage return overwrote.
function shown(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: terminal escapes are control characters
  const plain = text.replace(/\u001b\[[0-9;?]*[A-Za-z]/g, "").replace(/\r+$/, "");
  return plain.slice(plain.lastIndexOf("\r") + 1);
}

export function addChunks(
  log: Log,
  chunks: readonly LogChunk[],
  gaps: LogPage["gaps"],
  most = kMaxLines,
): Log {
  const lines = [...log.lines];
  const open: Record<string, { number: number; raw: string }> = { ...log.open };
  let { next, dropped } = log;
  for (const gap of gaps) {
    const size = formatValue(Number(BigInt(gap.to) - BigInt(gap.from)), "B", 3);
    lines.push({ number: next++, stream: gap.stream, text: `(${size} were not recorded)` });
  }
  for (const { stream, text } of chunks) {
    const pieces = text.split("\n");
    pieces.forEach((piece, i) => {
      const last = i === pieces.length - 1;
      const before = open[stream];
      const at =
        before === undefined ? -1 : lines.findLastIndex((line) => line.number === before.number);
      if (before !== undefined && at >= 0) {
        const raw = before.raw + piece;
        open[stream] = { number: before.number, raw };
        lines[at] = { number: before.number, stream, text: shown(raw) };
      } else if (!last || piece !== "") {
        open[stream] = { number: next, raw: piece };
        lines.push({ number: next++, stream, text: shown(piece) });
      }
      if (!last) delete open[stream];
    });
  }
  const extra = Math.max(0, lines.length - most);
  dropped += extra;
  return { lines: lines.slice(extra), open, next, dropped };
}

// The line of the output that the reason of a run's end quotes (src/run/outcome.cpp), in a form that can be searched;
// undefined if it quotes none. Colours have left their codes in it; the longest part without one is taken.
export function lineOfReason(why: string): string | undefined {
  if (/^(the kernel killed|killed while the kernel)\b/.test(why)) return undefined;
  const ended = /^(?:exit status \d+|ended by (?:SIG\w+|signal \d+))(?:: (.*))?$/s.exec(why);
  const line = (ended === null ? why : (ended[1] ?? "")).replace(/\ufffd*…$/, "");
  const parts = line.split(/ \[[0-9;]*m/).map((part) => part.trim());
  const longest = parts.reduce((a, b) => (b.length > a.length ? b : a));
  // Between slashes it would be a regular expression.
  const text = /^\/.+\/$/.test(longest) ? longest.slice(1) : longest;
  return text === "" ? undefined : text;
}

// Returns a function that is true if a line contains the searched text, with the rules of the server's search. Not of
// regular expressions: the server's take linear time, the browser's may take for ever.
export function lineFinder(find: string | undefined): (line: string) => boolean {
  if (find === undefined || find === "" || /^\/.+\/$/.test(find)) return () => false;
  const text = find.toLowerCase();
  return (line) => line.toLowerCase().includes(text);
}
