// What the address of a summary says: which runs, which metric, drawn how and along what. Pure.
import { parseKind, type SummaryKind } from "./data";

export interface SummarySearch {
  run?: string[];
  workload?: string[];
  experiment?: string[];
  metric?: string;
  of?: "last" | "mean" | "min" | "max";
  kind?: SummaryKind;
  // Along x and side by side: `workload`, `collocation`, `params.lr`, …
  by?: string;
  group?: string;
  // The group or category that ratios are to.
  base?: string;
  stacked?: boolean;
  // Logarithmic axes.
  log?: SummaryLog[];
}

export type SummaryLog = "x" | "y";
const kLogs: readonly SummaryLog[] = ["x", "y"];

const list = (value: unknown): string[] | undefined =>
  value === undefined ? undefined : (Array.isArray(value) ? value : [value]).map(String);
const word = (value: unknown): string | undefined => list(value)?.[0];

function logOf(words: readonly string[] = []): SummaryLog[] | undefined {
  const found = kLogs.filter((one) => words.includes(one));
  return found.length === 0 ? undefined : found;
}

export function summarySearch(raw: Record<string, unknown>): SummarySearch {
  const out: Record<string, unknown> = {
    run: list(raw.run),
    workload: list(raw.workload),
    experiment: list(raw.experiment),
    metric: word(raw.metric),
    of: ["last", "mean", "min", "max"].find((one) => one === raw.of),
    kind: parseKind(word(raw.kind)),
    by: word(raw.by),
    group: word(raw.group),
    base: word(raw.base),
    stacked: String(raw.stacked) === "true" ? true : undefined,
    log: logOf(list(raw.log)),
  };
  for (const key of Object.keys(out)) if (out[key] === undefined) delete out[key];
  return out as SummarySearch;
}
