// From the address to the question for the server, and the steps by which facets and the order change. Pure.
import type { Order, RunFilter, RunList } from "../../api/runSearch";
import { type Column, columnOf } from "./columns";
import { readQuery } from "./query";
import { type Facet, isFacet, type RunsSearch } from "./search";

export const kNoWorkload = "none";

// An invalid search text is left out; the field reports the error.
export function filterOf(search: RunsSearch): RunFilter {
  const out: RunFilter = {};
  if (search.state !== undefined) out.state = search.state;
  if (search.experiment !== undefined) out.experiments = [search.experiment];
  const where: Record<string, string[]> = {};
  if (search.workload === kNoWorkload) where.workload = [""];
  else if (search.workload !== undefined) out.workloads = [search.workload];
  for (const facet of facetsIn(search)) where[facet] = search[facet] ?? [];
  if (Object.keys(where).length > 0) out.where = where;
  const query = readQuery(search.q ?? "");
  if (query.kind === "filter") out.filter = query.text;
  if (query.kind === "words") out.text = query.text;
  return out;
}

export const facetsIn = (search: RunsSearch): Facet[] =>
  Object.keys(search)
    .filter(isFacet)
    .filter((facet) => (search[facet]?.length ?? 0) > 0);

export const isNarrowed = ({ state: _, ...search }: RunsSearch): boolean =>
  Object.keys(filterOf(search)).length > 0;

export function listOf(search: RunsSearch, columns: readonly Column[]): RunList {
  const values = columns.flatMap((column) => columnOf(column.key).value ?? []);
  const order = ordersOf(search.sort ?? []);
  return {
    ...filterOf(search),
    ...(order.length > 0 ? { order } : {}),
    ...(search.group !== undefined ? { group: search.group } : {}),
    ...(values.length > 0 ? { columns: values } : {}),
  };
}

// "-metrics.loss", "name".
export const ordersOf = (words: readonly string[]): Order[] =>
  words
    .map((word) => {
      const descending = word.startsWith("-");
      return { by: descending ? word.slice(1) : word, descending };
    })
    .filter(({ by }) => /^(metrics|params|tags)\../s.test(by) || kOrders.has(by))
    .slice(0, kMaxOrders);

const kMaxOrders = 10;
const kOrders = new Set([
  "collocation",
  "model",
  "device",
  "start",
  "name",
  "duration",
  "status",
  "experiment",
  "workload",
  "host",
  "creator",
]);
// The newest and the longest come first.
const kDescendingFirst = /^(start|duration)$/;

// A click on a column's head: once, then the other way round, then no order by it. With shift the keys before
// stay.
export function sortedBy(words: readonly string[], by: string, also: boolean): string[] {
  const at = words.findIndex((word) => word === by || word === `-${by}`);
  const [once, other] = kDescendingFirst.test(by) ? [`-${by}`, by] : [by, `-${by}`];
  const next = at < 0 ? once : words[at] === once ? other : null;
  if (!also) return next === null ? [] : [next];
  if (at < 0) return [...words, once];
  return words.flatMap((word, i) => (i !== at ? [word] : next === null ? [] : [next]));
}

export function withFacet(
  search: RunsSearch,
  change: { facet: Facet; value: string; on: boolean },
): RunsSearch {
  const { facet, value, on } = change;
  const rest = (search[facet] ?? []).filter((one) => one !== value);
  return withoutEmpty({ ...search, [facet]: on ? [...rest, value] : rest });
}

export function withoutFacets(search: RunsSearch, facets: readonly Facet[]): RunsSearch {
  return withoutEmpty({ ...search, ...Object.fromEntries(facets.map((facet) => [facet, []])) });
}

function withoutEmpty(search: RunsSearch): RunsSearch {
  const kept = Object.entries(search).filter(
    ([, value]) => !Array.isArray(value) || value.length > 0,
  );
  return Object.fromEntries(kept) as RunsSearch;
}
