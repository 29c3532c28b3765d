// The cursor, the drag in progress, the two marked places and the pinned read-out, shared by all charts and lanes.
// Drawn by subscribers, without React renders. State that a link should restore lives in the address.
import { create } from "zustand";

export interface ViewState {
  // On the board's axis.
  cursor: number | null;
  // The chart the cursor is in (its key), or null.
  hovered: string | null;
  byKeyboard: boolean;
  // `zoom`: the range to zoom to; `select`: the region to look into.
  drag: { from: number; to: number; kind: "zoom" | "select" } | null;
  // Two places, set by 1 and 2; like the pin, a copy of the address.
  marks: { a: number | null; b: number | null };
  // The line that the pointer is on, highlighted in every chart.
  line: string | null;
  // The read-out stays at this place; the chart that was clicked leads.
  pinned: number | null;
  pinnedBy: string | null;
  // Grows when the charts' values may read differently.
  readings: number;
  // A note is being written about this span, which may have no length.
  noteAt: { from: number; to: number } | null;
}

const kEmpty: ViewState = {
  cursor: null,
  hovered: null,
  byKeyboard: false,
  drag: null,
  marks: { a: null, b: null },
  line: null,
  pinned: null,
  pinnedBy: null,
  readings: 0,
  noteAt: null,
};

export const useView = create<ViewState>(() => kEmpty);

// Leaving a board.
export function clearView(): void {
  useView.setState(kEmpty);
}
