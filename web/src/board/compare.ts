// One computed line compared to the baseline's, column by column, and the message if nothing remains. Pure.
import { plural } from "../format/units";

export interface Baseline {
  // A run's id, or a group's key.
  key: string;
  label: string;
  as: "difference" | "ratio";
}

export interface Compared {
  value: Float64Array;
  // Why there is less than one would expect; absent where there is all.
  told?: string;
}

// A ratio to less than this part of the baseline's greatest value says nothing but that the baseline was idle.
const kMinBase = 0.01;

const some = (values: Float64Array) => values.some((v) => !Number.isNaN(v));

export function compared(value: Float64Array, base: Float64Array, baseline: Baseline): Compared {
  const { as, label } = baseline;
  let most = 0;
  for (const v of base) if (Math.abs(v) > most) most = Math.abs(v);
  let left = 0;
  const result = value.map((v, i) => {
    const b = base[i] as number;
    if (as === "difference") return v - b;
    if (Math.abs(b) >= most * kMinBase && b !== 0) return v / b;
    if (!Number.isNaN(v) && !Number.isNaN(b)) left++;
    return Number.NaN;
  });
  const told = whyLess({ value, base, result }, { left, label });
  return told === null ? { value: result } : { value: result, told };
}

function whyLess(
  { value, base, result }: { value: Float64Array; base: Float64Array; result: Float64Array },
  { left, label }: { left: number; label: string },
): string | null {
  if (some(result))
    return left > 0 ? `${plural(left, "column")} skipped: ${label} is near 0 there` : null;
  if (!some(value)) return null;
  if (!some(base)) return `nothing to compare: ${label} has no data in this range`;
  if (left > 0) return `nothing to compare: ${label} is near 0`;
  return `nothing to compare: no samples at the same positions as ${label}; try the step axis`;
}

// The notes of the lines, each note once with the lines that share it: `a, b: n = 1`; without names if all lines share
// it.
export function noteWords(
  lines: readonly { label: string; hidden: boolean; told?: string }[],
): string | null {
  const shown = lines.filter(({ hidden }) => !hidden);
  const said = [...new Set(shown.flatMap(({ told }) => told ?? []))];
  if (said.length === 0) return null;
  const words = said.map((text) => {
    const who = shown.filter(({ told }) => told === text).map(({ label }) => label);
    return who.length === shown.length ? text : `${who.join(", ")}: ${text}`;
  });
  return words.join("; ");
}
