// Output chunks → lines, the newest few thousand. A line may arrive in pieces; a carriage return starts it
// anew, as progress bars expect. Pure.
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

export const kMostLines = 2000;

export function emptyLog(): Log {
  return { lines: [], open: {}, next: 0, dropped: 0 };
}

// What a terminal would show of a line: colours left out, what a carriage return overwrote gone.
function shown(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: terminal escapes are control characters
  const plain = text.replace(/\u001b\[[0-9;?]*[A-Za-z]/g, "").replace(/\r+$/, "");
  return plain.slice(plain.lastIndexOf("\r") + 1);
}

export function addChunks(
  log: Log,
  chunks: readonly LogChunk[],
  gaps: LogPage["gaps"],
  most = kMostLines,
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
