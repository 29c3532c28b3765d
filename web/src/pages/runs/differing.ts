// The columns that tell the listed runs apart: the params, tags and facts that not all of them have with the same
// value, as `corral ls runs` chooses them. Pure.
import type { Facets, FacetValue } from "../../api/runSearch";
import type { Column } from "./columns";
import { type Facet, isFacet, type RunsSearch } from "./search";

// More would be neither read nor asked for at once.
export const kMostDiffering = 40;

interface Values {
  values: readonly FacetValue[];
  // The number of all values; `values` has the most frequent.
  distinct: number;
}

// A facet counts also the values that its own choice leaves out; of these none is listed.
function differs({ values, distinct }: Values, chosen: readonly string[]): boolean {
  if (chosen.length === 0) return distinct > 1;
  const counts = new Map(values.map(({ value, count }) => [value, count]));
  const listed = chosen.filter(
    (value) => (counts.get(value) ?? (distinct > values.length ? 1 : 0)) > 0,
  );
  return listed.length > 1;
}

function valuesOf(facets: Facets, key: Facet): Values | null {
  const [, kind, name] = /^(params|tags)\.(.+)$/s.exec(key) ?? [];
  if (kind === undefined) {
    const values = facets[key as keyof Facets] as FacetValue[] | undefined;
    return values === undefined ? null : { values, distinct: values.length };
  }
  const found = facets[kind as "params" | "tags"]?.find((one) => one.key === name);
  return found ?? null;
}

export interface Differing {
  // The chosen columns without those in which all runs are alike; beside the name every other param that differs.
  shown: Column[];
  // The chosen columns that are left out.
  alike: Column[];
  // The number of params that differ and have no room.
  more: number;
}

// A tag that the server did not count stays, and so does a column of figures.
export function onlyDiffering(
  columns: readonly Column[],
  facets: Facets,
  search: RunsSearch,
): Differing {
  const differing = (facets.params ?? [])
    .filter((param) => differs(param, search[`params.${param.key}`] ?? []))
    .map(({ key }) => `params.${key}`)
    .sort();
  const among = new Set(differing);
  const alike = (key: string) => {
    if (key === "experiment" || key === "workload") return search[key] !== undefined;
    if (key.startsWith("params.")) return !among.has(key);
    if (key === "status" || !isFacet(key)) return false;
    const values = valuesOf(facets, key);
    return values !== null && !differs(values, search[key] ?? []);
  };
  const kept = columns.filter(({ key }) => !alike(key));
  const known = new Set(kept.map(({ key }) => key));
  const added = differing.filter((key) => !known.has(key));
  const room = Math.max(0, kMostDiffering - kept.length);
  const params = added.slice(0, room).map((key) => ({ key }));
  // Beside the name, or at the beginning.
  const at = kept.findIndex(({ key }) => key === "name") + 1;
  return {
    shown: [...kept.slice(0, at), ...params, ...kept.slice(at)],
    alike: columns.filter(({ key }) => alike(key)),
    more: added.length - params.length,
  };
}
