// A saved list of runs: search, facets, order, groups and columns as the query of an address. Pure.
import { parseSearch, stringifySearch } from "../../app/search";
import { type Column, columnWords, kDefault, parseColumns } from "./columns";
import { isFacet, type RunsSearch, runsSearch } from "./search";

// Equal lists have equal texts: the parts in one order, the values of a facet too. The columns are always said, so that
// a list looks the same in every browser.
export function listState(search: RunsSearch, columns: readonly Column[]): string {
  const { tab: _tab, open: _open, ...kept } = search;
  const parts = Object.entries({ ...kept, col: columnWords(columns) }).map(
    ([key, value]): [string, unknown] => [
      key,
      isFacet(key) && Array.isArray(value) ? [...value].sort() : value,
    ],
  );
  parts.sort(([a], [b]) => (a < b ? -1 : 1));
  return stringifySearch(Object.fromEntries(parts));
}

// The address that shows it.
export function searchOf({ name, state }: { name: string; state: string }): RunsSearch {
  const { col, ...rest } = runsSearch(parseSearch(state));
  const columns = parseColumns(col ?? []) ?? kDefault;
  return { ...rest, col: columnWords(columns), tab: name };
}

// True if the shown list is another than the saved one.
export function differs(
  saved: { name: string; state: string },
  search: RunsSearch,
  columns: readonly Column[],
): boolean {
  const as = searchOf(saved);
  return listState(as, parseColumns(as.col ?? []) ?? kDefault) !== listState(search, columns);
}
