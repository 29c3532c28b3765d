// The cursor and the drag in progress, shared by all charts and lanes. Drawn by subscribers, without React
// renders. The zoom itself lives in the address.
import { create } from "zustand";

export interface ViewState {
  // Seconds since the workload's start.
  cursor: number | null;
  // The chart the cursor is in (its metric), or null.
  hovered: string | null;
  byKeyboard: boolean;
  drag: { from: number; to: number } | null;
  // Lines switched off, by key.
  hidden: ReadonlySet<string>;
}

export const useView = create<ViewState>(() => ({
  cursor: null,
  hovered: null,
  byKeyboard: false,
  drag: null,
  hidden: new Set(),
}));

export function toggleLine(key: string): void {
  const hidden = new Set(useView.getState().hidden);
  if (!hidden.delete(key)) hidden.add(key);
  useView.setState({ hidden });
}

// Only `key` of `all` stays; when it is alone already, all come back.
export function soloLine(key: string, all: readonly string[]): void {
  const { hidden } = useView.getState();
  const others = all.filter((other) => other !== key);
  const alone = !hidden.has(key) && others.every((other) => hidden.has(other));
  useView.setState({ hidden: new Set(alone ? [] : others) });
}
