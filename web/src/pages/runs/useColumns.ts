// The columns of the table: those of the address, else those that this browser remembers, else the default. A change is
// written to both; that of a saved list only to the address.
import { useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import type { Facets } from "../../api/runSearch";
import { keep, readKept } from "../../state/kept";
import { type Column, columnWords, kDefault, parseColumns, sameColumns } from "./columns";
import { type Differing, onlyDiffering } from "./differing";
import type { RunsSearch } from "./search";

const kKey = "corral-columns";

function remembered(): Column[] | null {
  try {
    const words: unknown = JSON.parse(readKept(kKey) ?? "null");
    return Array.isArray(words) ? parseColumns(words.map(String)) : null;
  } catch {
    return null;
  }
}

const remember = (columns: readonly Column[]): void =>
  keep(kKey, sameColumns(columns, kDefault) ? null : JSON.stringify(columnWords(columns)));

export interface ColumnState {
  columns: readonly Column[];
  isDefault: boolean;
  change: (columns: readonly Column[]) => void;
}

export function useColumns(search: RunsSearch): ColumnState {
  const navigate = useNavigate({ from: "/" });
  const words = JSON.stringify(search.col ?? null);
  const [kept, setKept] = useState(remembered);
  const columns = useMemo(
    () => parseColumns((JSON.parse(words) as string[] | null) ?? []) ?? kept ?? kDefault,
    [words, kept],
  );
  return {
    columns,
    isDefault: sameColumns(columns, kDefault),
    change: (next) => {
      const saved = search.tab !== undefined;
      if (!saved) {
        remember(next);
        setKept([...next]);
      }
      const { col: _col, ...rest } = search;
      const col = sameColumns(next, kDefault) && !saved ? {} : { col: columnWords(next) };
      void navigate({ search: () => ({ ...rest, ...col }), replace: true });
    },
  };
}

export interface ShownColumns {
  columns: readonly Column[];
  // With `only=differs`, once the server has counted.
  differing: Differing | null;
  change: (columns: readonly Column[]) => void;
}

// The columns that the table shows of those chosen.
export function useShownColumns(
  chosen: ColumnState,
  search: RunsSearch,
  facets: Facets | undefined,
): ShownColumns {
  const { columns, change } = chosen;
  const differing = useMemo(
    () => (search.only && facets ? onlyDiffering(columns, facets, search) : null),
    [columns, facets, search],
  );
  if (differing === null) return { columns, differing, change };
  return {
    columns: differing.shown,
    differing,
    // Those left out stay chosen.
    change: (next) => change([...next, ...differing.alike]),
  };
}
