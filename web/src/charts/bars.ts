// Bars over a matrix of categories and groups: the figure that systems papers print. Side by side with error
// bars, or stacked; how many repetitions each stands for; its ratio to a baseline above it. Pure.
import type { FontMetrics } from "./font";
import type { Mark } from "./marks";
import { text, titleMarks } from "./plot";
import {
  commonCount,
  drawFrame,
  type Fill,
  type Frame,
  fillMarks,
  fillOf,
  type HitBox,
  ratioWords,
  type SummaryPicture,
  type SummarySpec,
  type SummaryTable,
  valueWords,
} from "./summary";

export interface BarCell {
  value: number;
  // Ends of the error bar, on the value axis.
  low?: number;
  high?: number;
  // Repetitions behind it.
  n?: number;
}

export interface BarData {
  // Along x, as "batch 32", "batch 64".
  categories: readonly string[];
  // Side by side or stacked, as "alone", "MPS".
  groups: readonly string[];
  // By category, then group; null where nothing is known.
  cells: readonly (readonly (BarCell | null)[])[];
}

export interface BarSpec extends SummarySpec {
  stacked?: boolean;
  // The baseline of ratios: a group (of the same category) or a category (of the same group).
  baseline?: { group: number } | { category: number };
}

const cellAt = ({ cells }: BarData, category: number, group: number) =>
  cells[category]?.[group] ?? null;

// Returns the ratio of a bar to its baseline; null for the baseline itself and if there is none.
export function ratioOf(
  data: BarData,
  at: { category: number; group: number },
  baseline: BarSpec["baseline"],
): number | null {
  if (baseline === undefined) return null;
  const base = { ...at, ...baseline };
  if (base.category === at.category && base.group === at.group) return null;
  const [cell, other] = [
    cellAt(data, at.category, at.group),
    cellAt(data, base.category, base.group),
  ];
  return cell === null || other === null || other.value === 0 ? null : cell.value / other.value;
}

function extremes(data: BarData, stacked: boolean): [number, number] {
  let [low, high] = [0, 0];
  for (const row of data.cells) {
    let [up, down] = [0, 0];
    for (const cell of row) {
      if (cell === null) continue;
      if (stacked) {
        if (cell.value >= 0) up += cell.value;
        else down += cell.value;
      } else {
        up = Math.max(up, cell.value, cell.high ?? cell.value);
        down = Math.min(down, cell.value, cell.low ?? cell.value);
      }
    }
    [low, high] = [Math.min(low, down), Math.max(high, up)];
  }
  return [low, high];
}

function wordsOf(data: BarData, at: { category: number; group: number }, spec: BarSpec): string {
  const cell = cellAt(data, at.category, at.group) as BarCell;
  const names = [data.categories[at.category], data.groups[at.group]].filter(Boolean).join(" · ");
  const parts = [`${names}: ${valueWords(cell.value, spec)}`];
  if (cell.low !== undefined && cell.high !== undefined)
    parts.push(`${valueWords(cell.low, spec)} to ${valueWords(cell.high, spec)}`);
  if (cell.n !== undefined) parts.push(`n = ${cell.n}`);
  const ratio = ratioOf(data, at, spec.baseline);
  if (ratio !== null) parts.push(`${ratioWords(ratio)} of the baseline`);
  return parts.join(", ");
}

export function drawBars(data: BarData, spec: BarSpec, font: FontMetrics): SummaryPicture {
  const stacked = spec.stacked ?? false;
  const [low, high] = extremes(data, stacked);
  const counts = data.cells.flat().map((cell) => cell?.n);
  const same = commonCount(counts);
  const feet = !stacked && same === null && counts.some((n) => n !== undefined) ? 1 : 0;
  const { categories, groups } = data;
  const frame = drawFrame({ categories, groups, low, high, feet, zero: true }, spec, font);
  const marks: Mark[] = [...titleMarks(spec, frame.axis.scale.unit, font), ...frame.marks];
  const boxes: HitBox[] = [];
  categories.forEach((_, category) => {
    const drawn = stacked
      ? drawStack(data, category, { frame, spec })
      : drawGroup(data, category, { frame, spec, font, feet: feet > 0 });
    marks.push(...drawn.marks);
    boxes.push(...drawn.boxes);
  });
  marks.push(zeroLine(frame, spec));
  const { plot } = frame;
  const notes = same === null ? [] : [`n = ${same}`];
  if (counts.length > 0 && data.cells.flat().every((cell) => cell === null)) {
    const at = { x: plot.x + plot.width / 2, y: plot.y + plot.height / 2, colour: spec.theme.ink3 };
    marks.push(text("No run has a value for this.", { ...at, anchor: "middle" }));
  }
  return { width: spec.width, height: spec.height, marks, plot, boxes, notes };
}

function zeroLine({ plot, y }: Frame, { theme }: BarSpec): Mark {
  const at = Math.round(y(0) + 1e-6) + 0.5;
  const points = Float64Array.of(plot.x, at, plot.x + plot.width, at);
  return { kind: "line", points, colour: theme.ink3, width: 1, dash: [] };
}

interface Drawn {
  marks: Mark[];
  boxes: HitBox[];
}

interface GroupPlace {
  frame: Frame;
  spec: BarSpec;
  font: FontMetrics;
  feet: boolean;
}

const keyOf = (category: number, group: number) => `${category}/${group}`;

function drawGroup(data: BarData, category: number, at: GroupPlace): Drawn {
  const { frame, spec, font, feet } = at;
  const { x, width } = frame.slot(category);
  const each = width / Math.max(1, data.groups.length);
  const out: Drawn = { marks: [], boxes: [] };
  const small = frame.size * 0.9;
  const centred = { anchor: "middle", size: small, colour: spec.theme.ink2 } as const;
  data.groups.forEach((_, group) => {
    const cell = cellAt(data, category, group);
    if (cell === null || !Number.isFinite(cell.value)) return;
    const air = Math.min(2, each * 0.12);
    const left = x + group * each + air / 2;
    const rect = barRect(frame, { left, width: each - air, from: 0, to: cell.value });
    out.marks.push(...fillMarks(rect, fillOf(spec, group)));
    const middle = left + (each - air) / 2;
    out.marks.push(...errorBar(cell, middle, at));
    out.boxes.push({
      key: keyOf(category, group),
      ...rect,
      words: wordsOf(data, { category, group }, spec),
    });
    const top = Math.min(rect.y, cell.high === undefined ? rect.y : frame.y(cell.high));
    const ratio = ratioOf(data, { category, group }, spec.baseline);
    const words = ratio === null ? "" : ratioWords(ratio);
    if (words !== "" && font.width(words, small, 400) <= each)
      out.marks.push(text(words, { ...centred, x: middle, y: top - 4 }));
    const count = cell.n === undefined ? "" : String(cell.n);
    if (feet && font.width(count, small, 400) <= each) {
      const y = frame.plot.y + frame.plot.height + frame.size;
      out.marks.push(
        text(group === 0 && each > 34 ? `n = ${count}` : count, { ...centred, x: middle, y }),
      );
    }
  });
  return out;
}

function barRect(
  { y, plot }: Frame,
  bar: { left: number; width: number; from: number; to: number },
) {
  const clamp = (row: number) => Math.min(Math.max(row, plot.y), plot.y + plot.height);
  const [a, b] = [clamp(y(bar.from)), clamp(y(bar.to))];
  return {
    x: bar.left,
    y: Math.min(a, b),
    width: bar.width,
    height: Math.max(Math.abs(a - b), 0.75),
  };
}

function errorBar(cell: BarCell, x: number, { frame, spec }: GroupPlace): Mark[] {
  if (cell.low === undefined || cell.high === undefined) return [];
  const [top, bottom] = [frame.y(cell.high), frame.y(cell.low)];
  if (Number.isNaN(top) || Number.isNaN(bottom)) return [];
  const lift = [Number.NaN, Number.NaN];
  const cap = 3;
  const points = Float64Array.of(
    ...[x, top, x, bottom, ...lift],
    ...[x - cap, top, x + cap, top, ...lift],
    ...[x - cap, bottom, x + cap, bottom],
  );
  return [{ kind: "line", points, colour: spec.theme.ink1, width: 1, dash: [] }];
}

// Positive values stack upwards from zero, negative ones downwards.
function drawStack(data: BarData, category: number, at: { frame: Frame; spec: BarSpec }): Drawn {
  const { frame, spec } = at;
  const { x, width } = frame.slot(category);
  const most = Math.min(width, 72);
  const left = x + (width - most) / 2;
  const out: Drawn = { marks: [], boxes: [] };
  let [up, down] = [0, 0];
  data.groups.forEach((_, group) => {
    const cell = cellAt(data, category, group);
    if (cell === null || !Number.isFinite(cell.value)) return;
    const from = cell.value >= 0 ? up : down;
    const to = from + cell.value;
    if (cell.value >= 0) up = to;
    else down = to;
    const rect = barRect(frame, { left, width: most, from, to });
    const fill: Fill = fillOf(spec, group);
    out.marks.push(...fillMarks(rect, fill));
    out.boxes.push({
      key: keyOf(category, group),
      ...rect,
      words: wordsOf(data, { category, group }, spec),
    });
  });
  return out;
}

// For screen readers.
export function summariseBars(title: string, data: BarData, spec: BarSpec): string {
  const words = data.cells.flatMap((row, category) =>
    row.flatMap((cell, group) => (cell === null ? [] : [wordsOf(data, { category, group }, spec)])),
  );
  return `${title}. ${words.length === 0 ? "No run has a value for this" : words.join("; ")}.`;
}

export function barTable(data: BarData, spec: BarSpec): SummaryTable {
  const head = ["category", "group", "value", "from", "to", "n"];
  if (spec.baseline !== undefined) head.push("ratio");
  const words = (value: number | undefined) =>
    value === undefined ? "–" : valueWords(value, spec);
  const rows = data.cells.flatMap((row, category) =>
    row.flatMap((cell, group) => {
      if (cell === null) return [];
      const ratio = ratioOf(data, { category, group }, spec.baseline);
      const names = [data.categories[category] ?? "", data.groups[group] ?? ""];
      const values = [words(cell.value), words(cell.low), words(cell.high), String(cell.n ?? "–")];
      const last = spec.baseline === undefined ? [] : [ratio === null ? "–" : ratioWords(ratio)];
      return [[...names, ...values, ...last]];
    }),
  );
  return { head, rows };
}
