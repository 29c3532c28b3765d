// The address of a plan's page: the filter of its runs, and the metric of its cells. Pure.
import { list, type Raw } from "../../app/search";

export interface PlanSearch {
  q?: string;
  state?: string[];
  experiment?: string[];
  collocation?: string[];
  // Shown in the cells instead of "finished".
  metric?: string;
}

export type PlanFacet = "state" | "experiment" | "collocation";

export function planSearch(raw: Raw): PlanSearch {
  const found = {
    q: raw.q === undefined || raw.q === "" ? undefined : String(raw.q),
    state: list(raw.state),
    experiment: list(raw.experiment),
    collocation: list(raw.collocation),
    metric: raw.metric === undefined || raw.metric === "" ? undefined : String(raw.metric),
  };
  return Object.fromEntries(
    Object.entries(found).filter(([, value]) => value !== undefined && value.length > 0),
  ) as PlanSearch;
}

// With a value of a facet chosen or let go.
export function withValue(
  search: PlanSearch,
  { facet, value, on }: { facet: PlanFacet; value: string; on: boolean },
): PlanSearch {
  const rest = (search[facet] ?? []).filter((one) => one !== value);
  return planSearch({ ...search, [facet]: on ? [...rest, value] : rest });
}
