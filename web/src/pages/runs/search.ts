// The address of the list of runs. Pure.
import { defined, list, type Raw, word } from "../../app/search";

// Facets that a run has one value of, and those with a key of their own.
export const kFacets = ["status", "collocation", "device", "model", "host", "creator"] as const;
export type Facet = (typeof kFacets)[number] | `params.${string}` | `tags.${string}`;
export const isFacet = (key: string): key is Facet =>
  /^(params|tags)\../s.test(key) || kFacets.some((facet) => facet === key);

// Fields that group the list.
export type Grouping = Facet | "experiment" | "workload";
export const isGrouping = (key: string | undefined): key is Grouping =>
  key !== undefined && (isFacet(key) || key === "experiment" || key === "workload");

// `state`: runs in the archive or the trash; `q`: words or comparisons; `workload`: an id, or "none" for runs without
// one; `sort`: keys of columns, "-" before one for descending; `col`: columns and their widths (pages/runs/columns.ts);
// `tab`: the name of the saved list that this began as; `only`: shows the columns that differ (differing.ts);
// `group`: what groups the runs, `open`: values whose groups are open; `base`: the run pinned as baseline, `compare`:
// how others are compared to it (baseline.ts). A facet's values are alternatives, "" is "not set".
export type RunsSearch = {
  tab?: string;
  state?: "archived" | "trashed";
  q?: string;
  experiment?: string;
  workload?: string;
  sort?: string[];
  col?: string[];
  only?: "differs";
  group?: Grouping;
  open?: string[];
  base?: string;
  compare?: "difference";
} & { [facet in Facet]?: string[] };

export function runsSearch(raw: Raw): RunsSearch {
  const out: Record<string, unknown> = {
    tab: word(raw.tab),
    state: raw.state === "archived" || raw.state === "trashed" ? raw.state : undefined,
    q: word(raw.q),
    experiment: word(raw.experiment),
    workload: word(raw.workload),
    sort: list(raw.sort),
    col: list(raw.col),
    only: raw.only === "differs" ? raw.only : undefined,
    group: isGrouping(word(raw.group)) ? word(raw.group) : undefined,
    open: list(raw.open),
    base: /^[0-9a-f]{32}$/.exec(word(raw.base) ?? "")?.[0],
    compare: raw.compare === "difference" ? raw.compare : undefined,
  };
  for (const [key, value] of Object.entries(raw)) if (isFacet(key)) out[key] = list(value);
  return defined(out) as RunsSearch;
}
