// Moving through the rows by keyboard, and ranges from an anchor to where one is. Pure.

export interface Place {
  active: number;
  // Row at which a range with Shift begins.
  anchor: number;
}

export interface Extent {
  count: number;
  // Rows in sight.
  page: number;
}

// The row a key leads to; null for keys that do not move.
export function rowAfter(key: string, active: number, { count, page }: Extent): number | null {
  const to: Record<string, number> = {
    ArrowDown: active + 1,
    ArrowUp: active - 1,
    j: active + 1,
    k: active - 1,
    J: active + 1,
    K: active - 1,
    PageDown: active + page,
    PageUp: active - page,
    Home: 0,
    End: count - 1,
  };
  const row = Object.hasOwn(to, key) ? to[key] : undefined;
  return row === undefined ? null : Math.max(0, Math.min(count - 1, row));
}

export interface Range {
  first: number;
  last: number;
}

const rangeOf = ({ active, anchor }: Place): Range => ({
  first: Math.min(active, anchor),
  last: Math.max(active, anchor),
});

function without(a: Range, b: Range): Range[] {
  const before = { first: a.first, last: Math.min(a.last, b.first - 1) };
  const after = { first: Math.max(a.first, b.last + 1), last: a.last };
  return [before, after].filter(({ first, last }) => first <= last);
}

// The rows to select and to deselect when the range from one anchor changes its end: a range that shrinks deselects the
// rows it leaves.
export function rangeChange(before: Place, after: Place): { add: Range; remove: Range[] } {
  const add = rangeOf(after);
  return { add, remove: before.anchor === after.anchor ? without(rangeOf(before), add) : [] };
}
