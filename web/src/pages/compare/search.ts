// The address of a comparison or a history, in the words of `corral compare` and `corral history`: one question that can
// be shared, asked of the server and copied as a command. Pure.
import {
  type CompareQuestion,
  type GroupQuestion,
  kStatistics,
  type Statistic,
} from "../../api/compare";
import { defined, list, type Raw, word } from "../../app/search";
import { commandLine } from "../../format/text";

export interface CompareSearch {
  // Each a name of runs, a workload, a run, or a filter.
  group?: string[];
  by?: string;
  // "duration" or the name of a metric; absent: time per step.
  metric?: string;
  of?: Statistic;
  // As written: "2%" or "0.02".
  margin?: string;
  // "val_acc >= 0.9": the time to it, instead of a metric. Not of histories.
  target?: string;
}

export interface HistorySearch extends CompareSearch {
  better?: "less" | "greater";
  // Limits of the values, as written.
  "at-least"?: string;
  "at-most"?: string;
}

const text = (value: unknown) => word(value)?.trim() || undefined;
// As the command line reads it.
const kDecimal = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const number = (value: unknown) => {
  const written = text(value);
  return written !== undefined && kDecimal.test(written) ? written : undefined;
};

function commonSearch(raw: Raw): Record<string, unknown> {
  const groups = list(raw.group)?.flatMap((one) => text(one) ?? []) ?? [];
  const metric = text(raw.metric);
  return {
    group: groups.length > 0 ? groups : undefined,
    by: text(raw.by),
    metric: metric === kStepTime ? undefined : metric,
    of: isMetric(metric) ? kStatistics.find((one) => one === raw.of) : undefined,
    margin: text(raw.margin),
  };
}

export function historySearch(raw: Raw): HistorySearch {
  const common = commonSearch(raw);
  const measured = isMetric(text(raw.metric));
  const out = {
    ...common,
    better: measured ? (["less", "greater"] as const).find((one) => one === raw.better) : undefined,
    "at-least": number(raw["at-least"]),
    "at-most": number(raw["at-most"]),
  };
  return defined(out) as HistorySearch;
}

export function compareSearch(raw: Raw): CompareSearch {
  const target = text(raw.target);
  const value = target === undefined ? {} : { metric: undefined, of: undefined };
  return defined({ ...commonSearch(raw), ...value, target }) as CompareSearch;
}

export const kStepTime = "step_time";
export const kDuration = "duration";

export const isMetric = (metric: string | undefined) =>
  metric !== undefined && metric !== kStepTime && metric !== kDuration;

// Runs by their ids as a group.
export const groupOfRuns = (ids: readonly string[]) =>
  `attributes.run_id IN (${ids.map((id) => `'${id}'`).join(", ")})`;

const kRuns = /^attributes\.run_id IN \(('[0-9a-f]{32}'(?:, '[0-9a-f]{32}')*)\)$/;

// The ids of such a group; null for another one.
export function runsOfGroup(group: string): string[] | null {
  const found = kRuns.exec(group)?.[1];
  return found === undefined ? null : found.split(", ").map((one) => one.slice(1, -1));
}

// A share of one, written as "2%" or "0.02"; null: it is neither.
export function shareOf(written: string): number | null {
  const number = written.trim().replace(/\s*%$/, "");
  const value = number === "" ? Number.NaN : Number(number);
  const share = written.trim().endsWith("%") ? value / 100 : value;
  return share > 0 && share < 1 ? share : null;
}

// null: the margin is not a share. Without one, that which the runs were started with counts, else 2 %.
export function questionOf(search: HistorySearch): CompareQuestion | null {
  const margin = search.margin === undefined ? undefined : shareOf(search.margin);
  if (margin === null) return null;
  const { by, metric: value, of, better, target, group: groups = [] } = search;
  const [atLeast, atMost] = [search["at-least"], search["at-most"]];
  const chosen = groups.filter((group) => runsOfGroup(group) !== null);
  const asked = groups.map((group): GroupQuestion => {
    const runs = runsOfGroup(group);
    if (runs === null) return { named: group };
    const which = chosen.length > 1 ? ` ${chosen.indexOf(group) + 1}` : "";
    return { runs, name: `selection${which}` };
  });
  return defined({
    groups: asked,
    margin,
    by,
    value,
    of,
    target,
    better,
    at_least: atLeast === undefined ? undefined : Number(atLeast),
    at_most: atMost === undefined ? undefined : Number(atMost),
  }) as CompareQuestion;
}

export const kPages = {
  compare: { title: "Compare groups", to: "/compare" },
  history: { title: "From run to run", to: "/history" },
} as const;

// The command that asks the same.
export function commandOf(verb: keyof typeof kPages, search: HistorySearch): string {
  const { group = [], ...options } = search;
  const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  // Behind two hyphens nothing is an option.
  const words = group.some((name) => name.startsWith("-"))
    ? [...flags, "--", ...group]
    : [...group, ...flags];
  return commandLine(["corral", verb, ...words]);
}

// Selected runs as one group that is divided by the names of its runs; undefined: too many for an address.
const kMostChosen = 200;
export const searchOfRuns = (ids: readonly string[]): CompareSearch | undefined =>
  ids.length > 0 && ids.length <= kMostChosen
    ? { group: [groupOfRuns(ids)], by: "name" }
    : undefined;
