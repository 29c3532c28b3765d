// The colours of runs: each keeps its place in the palette as long as the page shows it.
import { useRef } from "react";
import { colourSlots } from "./model";

export interface SlotsInput {
  ids: readonly string[];
  // The place among the workload's runs.
  preferred: readonly number[];
  // The slot that the address names.
  told?: (id: string) => number | undefined;
  // `preferred` may still change.
  pending: boolean;
}

export function useSlots({ ids, preferred, told, pending }: SlotsInput): number[] {
  const kept = useRef(new Map<string, number>());
  const slots = colourSlots(
    preferred,
    ids.map((id) => kept.current.get(id) ?? told?.(id)),
  );
  if (!pending) for (const [i, id] of ids.entries()) kept.current.set(id, slots[i] as number);
  return slots;
}

const kShortId = 12;

// The entries of the address that keep the colours of the remaining runs; without them, others would get their colours
// at the next reload.
export function slotWords(left: readonly { id: string; preferred: number; slot: number }[]) {
  const usual = colourSlots(left.map(({ preferred }) => preferred));
  const words = left.flatMap(({ id, slot }, i) =>
    slot === usual[i] ? [] : [`${id.slice(0, kShortId)}:${slot}`],
  );
  return words.length === 0 ? undefined : words;
}
