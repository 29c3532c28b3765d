// What the address of a plan's page says: which of its runs are looked at. Pure.
export interface PlanSearch {
  q?: string;
  state?: string[];
  experiment?: string[];
  collocation?: string[];
}

export type PlanFacet = "state" | "experiment" | "collocation";

const list = (value: unknown): string[] | undefined =>
  value === undefined ? undefined : (Array.isArray(value) ? value : [value]).map(String);

export function planSearch(raw: Record<string, unknown>): PlanSearch {
  const found = {
    q: raw.q === undefined || raw.q === "" ? undefined : String(raw.q),
    state: list(raw.state),
    experiment: list(raw.experiment),
    collocation: list(raw.collocation),
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
