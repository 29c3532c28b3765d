// Box plots: median, quartiles, whiskers to the farthest values within 1.5 interquartile ranges, what lies
// beyond as dots. Pure.
import { quantile } from "../format/quantile";
import type { FontMetrics } from "./font";
import type { Mark } from "./marks";
import { text, titleMarks } from "./plot";
import {
  drawFrame,
  type Frame,
  fillMarks,
  fillOf,
  type HitBox,
  type SummaryPicture,
  type SummarySpec,
  type SummaryTable,
  valueWords,
} from "./summary";

export interface BoxData {
  categories: readonly string[];
  groups: readonly string[];
  // Values by category, then group.
  samples: readonly (readonly (readonly number[])[])[];
}

export interface BoxStatistics {
  n: number;
  median: number;
  q1: number;
  q3: number;
  // Ends of the whiskers.
  low: number;
  high: number;
  outliers: number[];
}

// Null when no value is finite.
export function boxStatistics(values: readonly number[]): BoxStatistics | null {
  const sorted = Float64Array.from(values.filter(Number.isFinite)).sort();
  const n = sorted.length;
  if (n === 0) return null;
  const [q1, median, q3] = [0.25, 0.5, 0.75].map((part) => quantile(sorted, part)) as [
    number,
    number,
    number,
  ];
  const reach = 1.5 * (q3 - q1);
  const inside = sorted.filter((v) => v >= q1 - reach && v <= q3 + reach);
  const outliers = [...sorted.filter((v) => v < q1 - reach || v > q3 + reach)];
  const [low, high] = [inside[0] as number, inside.at(-1) as number];
  return { n, median, q1, q3, low, high, outliers };
}

interface Place {
  category: number;
  group: number;
  found: BoxStatistics;
}

function allBoxes({ samples }: BoxData): Place[] {
  return samples.flatMap((row, category) =>
    row.flatMap((values, group) => {
      const found = boxStatistics(values);
      return found === null ? [] : [{ category, group, found }];
    }),
  );
}

function wordsOf(data: BoxData, { category, group, found }: Place, spec: SummarySpec): string {
  const names = [data.categories[category], data.groups[group]].filter(Boolean).join(" · ");
  const words = (value: number) => valueWords(value, spec);
  const out = found.outliers.length;
  return `${names}: median ${words(found.median)}, quartiles ${words(found.q1)} to ${words(found.q3)}, whiskers ${words(found.low)} to ${words(found.high)}, ${out} beyond, n = ${found.n}`;
}

const kMaxWide = 44;

export interface BoxSpec extends SummarySpec {
  yLog?: boolean;
}

export function drawBoxes(data: BoxData, spec: BoxSpec, font: FontMetrics): SummaryPicture {
  const { categories, groups } = data;
  const all = allBoxes(data);
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { found } of all) {
    low = Math.min(low, found.low, found.outliers[0] ?? found.low);
    high = Math.max(high, found.high, found.outliers.at(-1) ?? found.high);
  }
  if (all.length === 0) [low, high] = [0, 1];
  const log = spec.yLog ?? false;
  const frame = drawFrame({ categories, groups, low, high, feet: 1, zero: false, log }, spec, font);
  const marks: Mark[] = [...titleMarks(spec, frame.axis.scale.unit, font), ...frame.marks];
  const boxes = all.map((place): HitBox => {
    const drawn = drawBox(place, data.groups.length, { frame, spec, font });
    marks.push(...drawn.marks);
    const { x, width } = drawn;
    const [top, bottom] = [frame.y(place.found.high), frame.y(place.found.low)];
    const words = wordsOf(data, place, spec);
    const key = `${place.category}/${place.group}`;
    return { key, x, width, y: top, height: Math.max(bottom - top, 3), words };
  });
  const notes = log && low <= 0 ? ["not logarithmic: some values are ≤ 0"] : [];
  return { width: spec.width, height: spec.height, marks, plot: frame.plot, boxes, notes };
}

function drawBox(
  { category, group, found }: Place,
  groups: number,
  at: { frame: Frame; spec: SummarySpec; font: FontMetrics },
): { marks: Mark[]; x: number; width: number } {
  const { frame, spec, font } = at;
  const { y, plot, size } = frame;
  const slot = frame.slot(category);
  const each = slot.width / Math.max(1, groups);
  const width = Math.min(each * 0.8, kMaxWide);
  const x = slot.x + (group + 0.5) * each - width / 2;
  const middle = x + width / 2;
  const fill = fillOf(spec, group);
  const [top, bottom] = [y(found.q3), y(found.q1)];
  const rect = { x, y: top, width, height: Math.max(bottom - top, 0.75) };
  const lift = [Number.NaN, Number.NaN];
  const cap = width / 4;
  const [high, low] = [y(found.high), y(found.low)];
  const whiskers = Float64Array.of(
    ...[middle, top, middle, high, ...lift, middle - cap, high, middle + cap, high, ...lift],
    ...[middle, bottom, middle, low, ...lift, middle - cap, low, middle + cap, low],
  );
  const median = Float64Array.of(x, y(found.median), x + width, y(found.median));
  const outline = Float64Array.of(
    ...[x, top, x + width, top, x + width, bottom, x, bottom, x, top],
  );
  const { colour } = fill;
  const line = { kind: "line", dash: [] } as const;
  const dots = Float64Array.from(found.outliers.flatMap((v) => [middle, y(v)]));
  const small = size * 0.9;
  const count = [`n = ${found.n}`, String(found.n)].find((t) => font.width(t, small, 400) <= each);
  const foot = { x: middle, y: plot.y + plot.height + size, colour: spec.theme.ink2, size: small };
  const marks: Mark[] = [
    ...fillMarks(rect, { ...fill, alpha: 0.25 }),
    { ...line, points: outline, colour, width: 1 },
    { ...line, points: whiskers, colour, width: 1 },
    { ...line, points: median, colour: spec.theme.ink1, width: 1.6 },
    { kind: "dots", points: dots, colour, radius: 1.8 },
    ...(count === undefined ? [] : [text(count, { ...foot, anchor: "middle" })]),
  ];
  return { marks, x, width };
}

export function summariseBoxes(title: string, data: BoxData, spec: SummarySpec): string {
  const words = allBoxes(data).map((place) => wordsOf(data, place, spec));
  return `${title}. ${words.length === 0 ? "No run has a value for this" : words.join("; ")}.`;
}

export function boxTable(data: BoxData, spec: SummarySpec): SummaryTable {
  const head = ["category", "group", "n", "low", "q1", "median", "q3", "high", "beyond"];
  const rows = allBoxes(data).map(({ category, group, found }) => [
    data.categories[category] ?? "",
    data.groups[group] ?? "",
    String(found.n),
    ...[found.low, found.q1, found.median, found.q3, found.high].map((v) => valueWords(v, spec)),
    String(found.outliers.length),
  ]);
  return { head, rows };
}
