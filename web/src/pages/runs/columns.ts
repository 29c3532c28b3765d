// The columns of the table of runs: the available ones, their form in the address and the browser's memory (`name:220`,
// `metrics.loss.min`), and the steps by which they change. Pure.

export interface Column {
  key: string;
  // Pixels; absent for the column's own.
  width?: number;
}

export interface ColumnMeaning {
  key: string;
  title: string;
  // The part that the title leaves out.
  about: string;
  width: number;
  // Takes a part of the window's remaining width.
  grows: boolean;
  number: boolean;
  // Key of the order by it, as sent to the server; absent if it cannot sort.
  sort?: string;
  value?: string;
  // Not shown until a person asks for it.
  onWish?: boolean;
}

const plain = (
  key: string,
  title: string,
  width: number,
  more: Partial<ColumnMeaning> = {},
): ColumnMeaning => ({
  key,
  title,
  about: "",
  width,
  grows: false,
  number: false,
  ...more,
});

export const kColumns: readonly ColumnMeaning[] = [
  plain("status", "Status", 80, { sort: "status" }),
  plain("name", "Name", 146, { sort: "name", grows: true }),
  plain("trend", "Loss", 76, { about: "its trend over the run" }),
  plain("loss", "Last loss", 142, { number: true }),
  plain("experiment", "Experiment", 112, { sort: "experiment" }),
  plain("workload", "Workload", 72, { sort: "workload" }),
  plain("start", "Started", 112, { sort: "start" }),
  plain("duration", "Duration", 72, { sort: "duration", number: true }),
  plain("host", "Host", 68, { sort: "host" }),
  plain("creator", "Recorded by", 84, { sort: "creator", onWish: true }),
  plain("collocation", "Collocation", 92, {
    sort: "collocation",
    value: "collocation",
    onWish: true,
  }),
  plain("model", "Model", 104, { sort: "model", value: "model", onWish: true }),
  plain("device", "Device", 84, { sort: "device", value: "device", onWish: true }),
  plain("command", "Command", 74, { grows: true }),
];
const kPlain = new Map(kColumns.map((column) => [column.key, column]));
const kSummary = /^(.+)\.(min|max|mean|last)$/s;

// For any key: one that is neither built in nor a figure, parameter or tag has no meaning.
export function meaningOf(key: string): ColumnMeaning | null {
  const known = kPlain.get(key);
  if (known) return known;
  const found = /^(trend|metrics|params|tags)\.(.+)$/s.exec(key);
  if (found === null) return null;
  const [, entity, name = ""] = found;
  if (entity === "trend") return plain(key, name, 88, { about: "its trend over the run" });
  if (entity !== "metrics")
    return plain(key, name, 110, {
      about: entity === "params" ? "parameter" : "tag",
      sort: key,
      value: key,
    });
  const summary = kSummary.exec(name);
  const about = summary ? (summary[2] as string) : "last";
  return plain(key, summary?.[1] ?? name, 110, { about, number: true, sort: key, value: key });
}

export function columnOf(key: string): ColumnMeaning {
  return meaningOf(key) ?? plain(key, key, 110);
}

// The metric whose trend a column shows: "" for each run's own loss; null if it shows something else.
export const trendMetric = (key: string): string | null =>
  key === "trend" ? "" : key.startsWith("trend.") ? key.slice("trend.".length) : null;

export const kDefault: readonly Column[] = kColumns.flatMap(({ key, onWish }) =>
  onWish ? [] : [{ key }],
);

export const kNarrowest = 44;
export const kWidest = 900;
const clamp = (width: number) => Math.min(kWidest, Math.max(kNarrowest, Math.round(width)));

// A key that looks as if it had a width gets ":0", which is none.
export const columnWords = (columns: readonly Column[]): string[] =>
  columns.map(({ key, width }) =>
    width === undefined ? (/:\d+$/.test(key) ? `${key}:0` : key) : `${key}:${width}`,
  );

const kMost = 100;

// Words without a meaning and repetitions are passed over; null where nothing remains.
export function parseColumns(words: readonly string[]): Column[] | null {
  const out = new Map<string, Column>();
  for (const word of words) {
    const [, name, digits] = /^(.*?)(?::(\d+))?$/s.exec(word) ?? [];
    const key = name ?? word;
    if (meaningOf(key) === null || out.has(key)) continue;
    const width = Number(digits ?? 0);
    out.set(key, width > 0 ? { key, width: clamp(width) } : { key });
  }
  return out.size > 0 ? [...out.values()].slice(0, kMost) : null;
}

export const sameColumns = (a: readonly Column[], b: readonly Column[]): boolean =>
  a.length === b.length &&
  a.every(({ key, width }, i) => key === b[i]?.key && width === b[i]?.width);

// `key` stands where `before` stands; at the end with null.
export function movedColumn(
  columns: readonly Column[],
  key: string,
  before: string | null,
): Column[] {
  const moved = columns.find((column) => column.key === key);
  if (moved === undefined || key === before) return [...columns];
  const rest = columns.filter((column) => column !== moved);
  const at = rest.findIndex((column) => column.key === before);
  return at < 0 ? [...rest, moved] : [...rest.slice(0, at), moved, ...rest.slice(at)];
}

export const sizedColumn = (
  columns: readonly Column[],
  key: string,
  width: number | null,
): Column[] =>
  columns.map((column) =>
    column.key !== key ? column : width === null ? { key } : { key, width: clamp(width) },
  );

// The last column cannot be taken away. A new one stands before those that grow at the end.
export function toggledColumn(columns: readonly Column[], key: string): Column[] {
  if (columns.some((column) => column.key === key)) {
    return columns.length === 1 ? [...columns] : columns.filter((column) => column.key !== key);
  }
  const last = columns.at(-1);
  return movedColumn([...columns, { key }], key, last?.key === "command" ? "command" : null);
}

export const kGap = 14;
export const kTick = 14;

// grid-template-columns, and how wide the table is at least. `more`: pixels that a column of that key needs beside its
// own.
export function tracksOf(
  columns: readonly Column[],
  more: (key: string) => number = () => 0,
): { template: string; least: number } {
  const widths = columns.map(({ key, width }) => width ?? columnOf(key).width + more(key));
  const tracks = columns.map(({ key, width }, i) =>
    width === undefined && columnOf(key).grows ? `minmax(${widths[i]}px, 1fr)` : `${widths[i]}px`,
  );
  const least = kTick + widths.reduce((sum, width) => sum + width + kGap, 0) + 2 * 20;
  return { template: [`${kTick}px`, ...tracks].join(" "), least };
}
