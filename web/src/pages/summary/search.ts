// The address of a summary: its runs, its metric, the kind of picture and its axes. Pure.
import { defined, list, type Raw, word } from "../../app/search";
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
  // Metrics that give the points of a scatter their size and colour.
  size?: string;
  colour?: string;
  // Logarithmic axes.
  log?: SummaryLog[];
}

export type SummaryLog = "x" | "y";
const kLogs: readonly SummaryLog[] = ["x", "y"];

function logOf(words: readonly string[] = []): SummaryLog[] | undefined {
  const found = kLogs.filter((one) => words.includes(one));
  return found.length === 0 ? undefined : found;
}

export function summarySearch(raw: Raw): SummarySearch {
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
    size: word(raw.size) || undefined,
    colour: word(raw.colour) || undefined,
    stacked: String(raw.stacked) === "true" ? true : undefined,
    log: logOf(list(raw.log)),
  };
  return defined(out) as SummarySearch;
}
