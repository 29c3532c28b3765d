// The values of a run compared to those of the pinned baseline, as their columns show them. Pure.
import type { FoundRun } from "../../api/runSearch";
import { finite, type Num } from "../../api/types";
import { formatNumber, kThin } from "../../format/units";
import { columnOf } from "./columns";

// `share`: "+12 %" of the baseline's value; `difference`: "+0.02".
export type CompareAs = "share" | "difference";

export interface Baseline {
  run: FoundRun;
  as: CompareAs;
}

export interface Delta {
  text: string;
  // The sentence of the tooltip.
  title: string;
  // null: neither side is known to be better, or there is no difference.
  better: boolean | null;
}

export const isCompared = (column: string): boolean =>
  column === "loss" || column === "duration" || column.startsWith("metrics.");

const kMuch = 10; // times the baseline: a factor reads better than a share

const signed = (value: number, text: string) => (value > 0 ? `+${text}` : text);

function valueIn(run: FoundRun, column: string): number | null {
  if (column === "loss") return finite(run.loss?.value as Num);
  if (column === "duration") return run.duration_s;
  return finite(run.values[column] as Num);
}

// A loss and a time are better when less, once both runs have come to their end; of other metrics nothing is known.
function lessIsBetter(column: string, runs: readonly FoundRun[]): boolean {
  const known =
    column === "loss" || column === "duration" || columnOf(column).title.endsWith("loss");
  return known && runs.every(({ status }) => status === "finished");
}

function textOf(value: number, base: number, as: CompareAs): string | null {
  const difference = value - base;
  if (difference === 0) return as === "share" ? `±0${kThin}%` : "±0";
  if (as === "difference") return signed(difference, formatNumber(difference, 3));
  if (base === 0) return null;
  if (value / base >= kMuch) return `×${formatNumber(value / base, 3)}`;
  const share = formatNumber((difference / Math.abs(base)) * 100, 2);
  return signed(difference, `${share}${kThin}%`);
}

// null for columns that are not compared, and in the baseline's own row.
export function deltaOf(run: FoundRun, baseline: Baseline, column: string): Delta | null {
  const { run: base, as } = baseline;
  if (run.id === base.id || !isCompared(column)) return null;
  const none = (title: string): Delta => ({ text: "–", title, better: null });
  const [value, other] = [valueIn(run, column), valueIn(base, column)];
  if (value === null) return none("Not compared: this run has no value here");
  if (other === null) return none(`Not compared: the baseline ${base.name} has no value here`);
  if (column === "loss" && run.loss?.metric !== base.loss?.metric) {
    return none(`Not compared: ${run.loss?.metric} here, ${base.loss?.metric} in the baseline`);
  }
  const text = textOf(value, other, as);
  if (text === null) return none("No ratio: the baseline's value is 0");
  const difference = value - other;
  const better = difference !== 0 && lessIsBetter(column, [run, base]) ? difference < 0 : null;
  const words = [
    `${formatNumber(value)} against ${formatNumber(other)} in ${base.name}: `,
    textOf(value, other, "difference"),
    other === 0 || as === "difference" ? "" : `, ${text}`,
    better === null ? "" : better ? ", better" : ", worse",
    ". Single runs have no interval: compare groups for one",
  ];
  return { text, title: words.join(""), better };
}
