// The metrics that a person has starred: lists of metrics and columns begin with them. Kept by this browser, and the
// same in all its tabs.
import { create } from "zustand";

const kKey = "corral-favourites";

export function parseFavourites(text: string | null): ReadonlySet<string> {
  try {
    const names: unknown = JSON.parse(text ?? "[]");
    return new Set(Array.isArray(names) ? names.map(String) : []);
  } catch {
    return new Set();
  }
}

function kept(): ReadonlySet<string> {
  try {
    return parseFavourites(localStorage.getItem(kKey));
  } catch {
    return new Set(); // no storage in this browser: they last as long as the page
  }
}

export const useFavourites = create<{ names: ReadonlySet<string> }>(() => ({ names: kept() }));

export function toggleFavourite(name: string): void {
  const names = new Set(useFavourites.getState().names);
  if (!names.delete(name)) names.add(name);
  useFavourites.setState({ names });
  try {
    localStorage.setItem(kKey, JSON.stringify([...names]));
  } catch {
    // full or forbidden: as above
  }
}

globalThis.addEventListener?.("storage", ({ key, newValue }) => {
  if (key === kKey || key === null)
    useFavourites.setState({ names: parseFavourites(key === null ? null : newValue) });
});

// Starred ones first, otherwise in their order.
export function favouritesFirst<T>(
  all: readonly T[],
  names: ReadonlySet<string>,
  nameOf: (one: T) => string | null,
): T[] {
  const starred = (one: T) => names.has(nameOf(one) ?? "");
  return [...all.filter(starred), ...all.filter((one) => !starred(one))];
}
