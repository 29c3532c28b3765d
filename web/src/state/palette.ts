// The entries of the palette: each page adds its actions while it is open.
import { useEffect } from "react";
import { create } from "zustand";

export interface Action {
  // Unique among all that is offered.
  id: string;
  // The kind of entry: "metric", "view", "run", "page".
  group: string;
  label: string;
  hint?: string;
  act: () => void;
}

interface PaletteState {
  open: boolean;
  offered: Readonly<Record<string, readonly Action[]>>;
}

export const usePalette = create<PaletteState>(() => ({ open: false, offered: {} }));

export const openPalette = (open: boolean) => usePalette.setState({ open });

export function usePaletteActions(owner: string, actions: readonly Action[]): void {
  useEffect(() => {
    usePalette.setState(({ offered }) => ({ offered: { ...offered, [owner]: actions } }));
    return () => usePalette.setState(({ offered: { [owner]: _, ...rest } }) => ({ offered: rest }));
  }, [owner, actions]);
}

// Rates how well `label` matches `typed`: every word must occur; earlier matches and matches at a word's start rate
// higher. Null if it does not match. Pure.
export function score(label: string, typed: string): number | null {
  const text = label.toLowerCase();
  let sum = 0;
  for (const word of typed.toLowerCase().split(/\s+/)) {
    if (word === "") continue;
    const at = text.indexOf(word);
    if (at < 0) return null;
    const start = at === 0 || /[^\p{L}\p{N}]/u.test(text[at - 1] as string);
    sum += (start ? 0 : 20) + Math.min(at, 40) / 4;
  }
  return sum + text.length / 100;
}
