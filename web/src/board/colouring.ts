// Colours of runs by the value of a param, a tag or their place: words have a colour each, numbers one of a scale. Pure.
import { kRampFirst, kRampSteps, kUncoloured } from "../charts/theme";
import { natural } from "../format/order";
import { groupsOf, valueUnder } from "./groups";
import type { ShownRun } from "./model";
import { parseGrouping } from "./view";

export interface Scale {
  kind: "numbers";
  // The param.
  name: string;
  least: number;
  greatest: number;
  log: boolean;
  // Runs without a number.
  without: number;
}

export interface Words {
  kind: "words";
  name: string;
  // With their places in the palette.
  entries: { label: string; index: number }[];
}

export type Legend = Scale | Words;

// So many times the least value make a scale of logarithms.
const kDecades = 50;

const numberOf = (value: unknown): number | null => {
  const text = value === null || value === undefined ? "" : String(value).trim();
  const number = text === "" ? Number.NaN : Number(text);
  return Number.isFinite(number) ? number : null;
};

// The runs with their places in the palette, and what these mean; null: the address names nothing that all of the runs
// have in common. `by` as in a grouping.
export function colouredBy(
  runs: readonly ShownRun[],
  by: string | undefined,
): { runs: readonly ShownRun[]; legend: Legend | null } {
  const grouping = parseGrouping(by);
  if (grouping === null || runs.length < 2) return { runs, legend: null };
  const name = grouping.by.replace(/^(param|tag):/, "");
  const own = (run: ShownRun) => run.dash ?? run.index;
  const values = runs.map((run) => valueUnder(run, grouping.by));
  const numbers = values.map(numberOf);
  const known = numbers.filter((one) => one !== null);
  const worded = values.some((value, i) => value != null && numbers[i] === null);
  const [least, greatest] = [Math.min(...known), Math.max(...known)];
  if (!worded && known.length > 0 && greatest > least) {
    const log = least > 0 && greatest >= least * kDecades;
    const place = log ? Math.log : (v: number) => v;
    const span = place(greatest) - place(least);
    const indexOf = (v: number | null) =>
      v === null
        ? kUncoloured
        : kRampFirst + Math.round(((place(v) - place(least)) / span) * (kRampSteps - 1));
    const without = runs.length - known.length;
    return {
      runs: runs.map((run, i) => ({ ...run, index: indexOf(numbers[i] ?? null), dash: own(run) })),
      legend: { kind: "numbers", name, least, greatest, log, without },
    };
  }
  const groups = groupsOf(runs, grouping);
  const indices = new Map(groups.flatMap(({ runs, index }) => runs.map((id) => [id, index])));
  const entries = groups.map(({ label, index }) => ({ label, index }));
  entries.sort((a, b) => natural(a.label, b.label));
  return {
    runs: runs.map((run) => ({ ...run, index: indices.get(run.id) ?? 0, dash: own(run) })),
    legend: { kind: "words", name, entries },
  };
}
