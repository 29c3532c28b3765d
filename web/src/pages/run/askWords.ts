// The text beside the button that requests a profile.
import type { ProfileAsk } from "../../api/profileAsk";

export const kMaxSteps = 1000;

export const countWords = (steps: number): string => (steps === 1 ? "1 step" : `${steps} steps`);

export function stateWordsOf({ state, first, last }: ProfileAsk): string {
  const known = first !== undefined && last !== undefined;
  const steps = !known ? "steps" : first === last ? `step ${first}` : `steps ${first}–${last}`;
  switch (state) {
    case "asked":
      return "asked";
    case "waiting":
      return "waiting for a step to end";
    case "running":
      return `profiling ${steps}`;
    case "saving":
      return `saving ${steps}`;
    case "done":
      return `${steps} profiled`;
    default:
      return state;
  }
}

// The number that was typed, as far as it can be asked for.
export function stepsOf(typed: number): number | null {
  return Number.isInteger(typed) && typed >= 1 && typed <= kMaxSteps ? typed : null;
}
