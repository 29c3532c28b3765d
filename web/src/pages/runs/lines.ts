// The lines of the table: without groups one for each run; with groups one for each group, and below an open one those
// of its runs. Runs are places in the list, whose order keeps the runs of a group together. Pure.
import type { RunGroup } from "../../api/runSearch";
import type { Range } from "./selection";

export interface Lines {
  total: number;
  // The run of a line; null for that of a group.
  runAt: (line: number) => number | null;
  groupAt: (line: number) => RunGroup | null;
  // The runs of the lines of a range, without those of closed groups.
  runsIn: (range: Range) => Range[];
}

const flat = (total: number): Lines => ({
  total,
  runAt: (line) => line,
  groupAt: () => null,
  runsIn: (range) => [range],
});

interface Block {
  group: RunGroup;
  // The line of the group, the place of its first run, and the number of its lines below.
  line: number;
  run: number;
  shown: number;
}

function blocksOf(groups: readonly RunGroup[], open: ReadonlySet<string>): Block[] {
  let line = 0;
  let run = 0;
  return groups.map((group) => {
    const block = { group, line, run, shown: open.has(group.value) ? group.count : 0 };
    line += 1 + block.shown;
    run += group.count;
    return block;
  });
}

export function linesOf(
  total: number,
  groups: readonly RunGroup[] | undefined,
  open: ReadonlySet<string>,
): Lines {
  if (groups === undefined) return flat(total);
  const blocks = blocksOf(groups, open);
  const last = blocks.at(-1);
  // The last block that begins at the line or before it.
  const blockAt = (line: number): Block | undefined => {
    let [low, high] = [0, blocks.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((blocks[middle]?.line ?? 0) <= line) low = middle + 1;
      else high = middle;
    }
    return blocks[low - 1];
  };
  return {
    total: last === undefined ? 0 : last.line + 1 + last.shown,
    runAt: (line) => {
      const block = blockAt(line);
      const below = block === undefined ? 0 : line - block.line;
      return block === undefined || below === 0 || below > block.shown
        ? null
        : block.run + below - 1;
    },
    groupAt: (line) => {
      const block = blockAt(line);
      return block?.line === line ? block.group : null;
    },
    runsIn: ({ first, last: end }) =>
      blocks
        .map(({ line, run, shown }) => ({
          first: run + Math.max(first, line + 1) - line - 1,
          last: run + Math.min(end, line + shown) - line - 1,
        }))
        .filter((range) => range.first <= range.last),
  };
}
