// The metrics that a person has starred: lists of metrics and columns begin with them. Kept by this browser, and the
// same in all its tabs.
import { create } from "zustand";
import { followKept, keep, readKept } from "./kept";

const kKey = "corral-favourites";

export function parseFavourites(text: string | null): ReadonlySet<string> {
  try {
    const names: unknown = JSON.parse(text ?? "[]");
    return new Set(Array.isArray(names) ? names.map(String) : []);
  } catch {
    return new Set();
  }
}

export const useFavourites = create<{ names: ReadonlySet<string> }>(() => ({
  names: parseFavourites(readKept(kKey)),
}));

export function toggleFavourite(name: string): void {
  const names = new Set(useFavourites.getState().names);
  if (!names.delete(name)) names.add(name);
  useFavourites.setState({ names });
  keep(kKey, JSON.stringify([...names]));
}

followKept(kKey, (text) => useFavourites.setState({ names: parseFavourites(text) }));

// Starred ones first, otherwise in their order.
export function favouritesFirst<T>(
  all: readonly T[],
  names: ReadonlySet<string>,
  nameOf: (one: T) => string | null,
): T[] {
  const starred = (one: T) => names.has(nameOf(one) ?? "");
  return [...all.filter(starred), ...all.filter((one) => !starred(one))];
}
