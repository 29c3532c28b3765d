// The parts of a comparison that the page and a report's file share: words, pictures, tables. Pure.
import type { ComparedGroup, Comparison, Verdict } from "../../api/compare";
import type { FontMetrics } from "../../charts/font";
import { drawForest } from "../../charts/forest";
import { drawSequence } from "../../charts/sequence";
import type { SummaryPicture } from "../../charts/summary";
import type { ChartTheme } from "../../charts/theme";
import { formatDuration } from "../../format/time";
import { formatCount, formatNumber, formatValue, percent } from "../../format/units";

export interface Drawing {
  width: number;
  theme: ChartTheme;
  font: FontMetrics;
}

const kHeight = 240;
const kNeutral: readonly Verdict[] = ["inconclusive", "too few", "unequal budgets"];
export const isShown = (verdict: Verdict) => !kNeutral.includes(verdict);

export function marginWords({ value, margin, margin_planned, family }: Comparison): string {
  const planned = margin_planned ? "given when the runs started" : "post hoc";
  const corrected = family > 1 ? `; corrected for ${formatCount(family)} comparisons` : "";
  if (margin === null) return `${value}, by ranks${corrected}`;
  return `${value}, within a margin of ${percent(margin)} (${planned})${corrected}`;
}

export function warningsOf({ groups, differences }: Comparison): string[] {
  const all = [
    ...groups.flatMap(({ name, warnings }) => warnings.map((text) => `${name}: ${text}`)),
    ...differences.flatMap(({ a, b, warnings }) =>
      warnings.map((text) => `${b} against ${a}: ${text}`),
    ),
  ];
  return [...new Set(all)];
}

// null: no ratio is known.
export function ratiosOf({ differences, groups, margin, confidence }: Comparison) {
  if (margin === null || differences.every(({ ratio }) => ratio === null)) return null;
  const baseline = groups[0]?.name ?? "";
  const rows = differences.map(({ b, ratio, low, high, verdict }) => {
    return { name: b, ratio, low, high, shown: isShown(verdict) };
  });
  const [low, high] = [1 / (1 + margin), 1 + margin].map((one) => formatNumber(one, 3));
  return {
    label: "Ratios to the baseline",
    caption: `Ratios of geometric means with ${percent(confidence)} intervals; shaded: the margin, ${low} to ${high}`,
    draw: ({ width, theme, font }: Drawing): SummaryPicture =>
      drawForest(rows, { width, theme, margin, baseline }, font),
  };
}

export interface PlacedUnit {
  group: ComparedGroup;
  unit: ComparedGroup["units"][number];
}

export const unitsOf = (groups: readonly ComparedGroup[]): PlacedUnit[] =>
  groups.flatMap((group) => group.units.map((unit) => ({ group, unit })));

export function unitValue({ group, unit }: PlacedUnit): string {
  if (unit.missed_s !== null) return `missed after ${formatDuration(unit.missed_s)}`;
  return unit.value === null ? (unit.reason ?? "no value") : formatValue(unit.value, group.unit);
}

export function valuesOf({ groups, value }: Comparison) {
  const unit = groups.find((group) => group.unit !== "")?.unit ?? "";
  const means = groups.some(({ mean }) => mean !== null) ? "; lines: geometric means" : "";
  return {
    label: `${value} of each run`,
    caption: `A point per run, a cross where there is no value${means}`,
    draw: (on: Drawing): SummaryPicture =>
      drawSequence(sequenceOf(groups), { ...on, height: kHeight, unit }, on.font),
  };
}

function sequenceOf(groups: readonly ComparedGroup[]) {
  let first = 0;
  const places = groups.map((group, series) => {
    const last = first + group.units.length - 1;
    const place = { first, last, series, mean: group.mean, text: group.name };
    first = last + 1;
    return { ...place, low: null, high: null };
  });
  const values = unitsOf(groups).map((one, i) => ({
    key: String(i),
    words: `${one.unit.name} of ${one.group.name}: ${unitValue(one)}`,
    value: one.unit.value,
  }));
  return { values, stretches: places, labels: places };
}

interface WordColumn<T> {
  name: string;
  cell: (row: T) => string;
  left?: boolean;
}

export const kGroups: WordColumn<ComparedGroup>[] = [
  { name: "group", cell: ({ name }) => name, left: true },
  { name: "counted", cell: ({ n, units }) => `${n} of ${units.length}` },
  { name: "mean", cell: ({ mean, unit }) => formatValue(mean, unit) },
  { name: "least", cell: ({ min, unit }) => formatValue(min, unit) },
  { name: "greatest", cell: ({ max, unit }) => formatValue(max, unit) },
];
