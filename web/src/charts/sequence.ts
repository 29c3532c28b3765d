// Values in the order of runs: a point each, the mean of each stretch of them as a step with its interval, the places
// where they changed. A run without a value is a cross on the axis. Pure.
import { formatNumber, plural } from "../format/units";
import { tightAxis, type ValueAxis } from "./axis";
import { type FontMetrics, fitText } from "./font";
import type { Mark, Rect } from "./marks";
import { hairline, inset, inside, kTextSize, kTickAir, labelRoom, text } from "./plot";
import type { HitBox, SummaryPicture, SummarySpec } from "./summary";
import { seriesColour } from "./theme";
import { project } from "./yaxis";

export interface SequenceValue {
  key: string;
  words: string;
  value: number | null;
  // Not like those around it.
  hollow?: boolean;
}

// Places are those of values; both ends belong to it.
export interface Stretch {
  first: number;
  last: number;
  mean: number | null;
  low: number | null;
  high: number | null;
  // The place in the palette.
  series: number;
}

export interface ChangeAt {
  lastBefore: number;
  firstAfter: number;
  ratio: number | null;
  confirmed: boolean;
}

export interface SequenceData {
  values: readonly SequenceValue[];
  stretches: readonly Stretch[];
  changes?: readonly ChangeAt[];
  // Values that are not to be passed.
  limits?: readonly number[];
  // Words below the axis.
  labels: readonly { first: number; last: number; text: string }[];
}

interface Frame {
  data: SequenceData;
  spec: SummarySpec;
  font: FontMetrics;
  plot: Rect;
  axis: ValueAxis;
  // The column of a place, which may be between two values.
  x: (at: number) => number;
  y: (value: number) => number;
  // Room of a value along x.
  each: number;
}

const kTop = 20;
const kBottom = 26;
const kRadius = 3;
// Narrower than this, points overlap.
const kDense = 5;
const kFewLetters = 5;

const known = (values: readonly (number | null)[]) =>
  values.filter((value): value is number => value !== null);

// As much of intervals and of values that are not like others as leaves the others readable.
function axisOf({ values, stretches, limits = [] }: SequenceData, unit: string): ValueAxis {
  const like = values.filter(({ hollow }) => !hollow).map(({ value }) => value);
  const shown = known([...like, ...stretches.map(({ mean }) => mean), ...limits]);
  const ends = known(stretches.flatMap(({ low, high }) => [low, high]));
  const all = [...shown, ...ends, ...known(values.map(({ value }) => value))];
  if (all.length === 0) return tightAxis(0, 1, unit);
  const of = shown.length > 0 ? shown : all;
  const [low, high] = [Math.min(...of), Math.max(...of)];
  const room = high - low || Math.abs(high) * kLeastRoom;
  const [least, most] = [Math.min(...all), Math.max(...all)];
  return tightAxis(Math.max(least, low - room), Math.min(most, high + room), unit);
}

const kLeastRoom = 0.1;

export function drawSequence(
  data: SequenceData,
  spec: SummarySpec,
  font: FontMetrics,
): SummaryPicture {
  const axis = axisOf(data, spec.unit);
  const left = Math.max(44, labelRoom(axis.ticks, { font, size: kTextSize }));
  const whole = { x: 0, y: 0, width: spec.width, height: spec.height };
  const plot = inset(whole, { left, right: 8, top: kTop, bottom: kBottom });
  const each = plot.width / Math.max(1, data.values.length);
  const x = (at: number) => plot.x + (at + 0.5) * each;
  const row = project(axis, plot);
  const bottom = plot.y + plot.height;
  const y = (value: number) => Math.min(Math.max(row(value), plot.y), bottom);
  const frame: Frame = { data, spec, font, plot, axis, x, y, each };
  const beyond = known(data.values.map(({ value }) => value)).filter(
    (value) => row(value) < plot.y || row(value) > bottom,
  ).length;
  const notes = beyond > 0 ? [`${plural(beyond, "value")} beyond the axis, at its edge`] : [];
  const marks: Mark[] = [
    ...axisMarks(frame),
    { kind: "clip", rect: plot, marks: [...changeMarks(frame), ...bandMarks(frame)] },
    ...limitMarks(frame),
    ...changeWords(frame),
    ...pointMarks(frame),
    ...stepMarks(frame),
  ];
  return { ...whole, marks, plot, boxes: boxesOf(frame), notes };
}

function axisMarks({ data, spec, font, plot, axis, x, y, each }: Frame): Mark[] {
  const { theme } = spec;
  const look = { colour: theme.ink2, size: kTextSize };
  const marks = axis.ticks.flatMap((tick) => [
    hairline(plot, y(tick.value), theme.grid),
    text(tick.text, {
      ...look,
      x: plot.x - kTickAir,
      y: y(tick.value) + 0.37 * kTextSize,
      anchor: "end",
    }),
  ]);
  marks.push(text(axis.scale.unit, { ...look, x: 0, y: kTop - 8 }));
  const bottom = plot.y + plot.height;
  marks.push(hairline(plot, bottom, theme.hairline));
  for (const { first, last, text: words } of data.labels) {
    const room = (last - first + 1) * each - 8;
    const fitting = fitText(words, room, { font, size: kTextSize, weight: 400 });
    const at = { ...look, x: x((first + last) / 2), y: bottom + 18, anchor: "middle" } as const;
    if (fitting === words || fitting.length > kFewLetters)
      marks.push(inside(text(fitting, at), spec.width, font));
    if (first === 0) continue;
    const edge = Math.round(x(first - 0.5)) + 0.5;
    const points = Float64Array.of(edge, plot.y, edge, bottom);
    marks.push({ kind: "line", points, colour: theme.hairline, width: 1, dash: [] });
  }
  return marks;
}

function bandMarks({ data, spec, x, y }: Frame): Mark[] {
  return data.stretches.flatMap(({ first, last, low, high, series }): Mark[] => {
    if (low === null || high === null) return [];
    const [from, to] = [x(first - 0.5), x(last + 0.5)];
    const band = { x: from, y: y(high), width: to - from, height: y(low) - y(high) };
    const colour = seriesColour(spec.theme, series);
    return [{ kind: "rect", ...band, colour, alpha: 0.12, radius: 0, hatch: false }];
  });
}

function limitMarks({ data, spec, plot, y }: Frame): Mark[] {
  return (data.limits ?? []).map((limit): Mark => {
    const points = Float64Array.of(plot.x, y(limit), plot.x + plot.width, y(limit));
    return { kind: "line", points, colour: spec.theme.ink1, width: 1, dash: [6, 3] };
  });
}

// On the points, which may be dense.
function stepMarks({ data, spec, x, y }: Frame): Mark[] {
  return data.stretches.flatMap(({ first, last, mean, series }): Mark[] => {
    if (mean === null) return [];
    const points = Float64Array.of(x(first - 0.5), y(mean), x(last + 0.5), y(mean));
    const colour = seriesColour(spec.theme, series);
    return [{ kind: "line", points, colour, width: 1.4, dash: [] }];
  });
}

// The runs among which it changed, and the change in the middle of them: dashed until it is confirmed.
function changeMarks({ data, spec, plot, x }: Frame): Mark[] {
  const { ink2, ink3 } = spec.theme;
  return (data.changes ?? []).flatMap(({ lastBefore, firstAfter, confirmed }): Mark[] => {
    const [from, to] = [x(lastBefore), x(firstAfter)];
    const range = { x: from, y: plot.y, width: to - from, height: plot.height };
    const middle = Math.round((from + to) / 2) + 0.5;
    const points = Float64Array.of(middle, plot.y, middle, plot.y + plot.height);
    return [
      { kind: "rect", ...range, colour: ink3, alpha: 0.14, radius: 0, hatch: false },
      { kind: "line", points, colour: ink2, width: 1.2, dash: confirmed ? [] : [4, 3] },
    ];
  });
}

function changeWords({ data, spec, font, plot, x }: Frame): Mark[] {
  let free = Number.NEGATIVE_INFINITY;
  return (data.changes ?? []).flatMap(({ lastBefore, firstAfter, ratio, confirmed }) => {
    if (ratio === null) return [];
    const words = `${formatNumber(ratio, 3)} ×${confirmed ? "" : " ?"}`;
    const at = { x: x((lastBefore + firstAfter) / 2), y: plot.y - 6, colour: spec.theme.ink1 };
    const mark = inside(text(words, { ...at, anchor: "middle" }), spec.width, font);
    const half = font.width(words, kTextSize, 400) / 2;
    if (mark.kind !== "text" || mark.x - half < free) return [];
    free = mark.x + half + 6;
    return [mark];
  });
}

function pointMarks({ data, spec, plot, x, y, each }: Frame): Mark[] {
  const look = each < kDense ? { radius: kRadius / 2, alpha: 0.45 } : { radius: kRadius };
  const { background, ink2 } = spec.theme;
  const bottom = plot.y + plot.height;
  return data.values.map(({ value, hollow }, i): Mark => {
    const points = Float64Array.of(x(i), value === null ? bottom : y(value));
    const stretch = data.stretches.find(({ first, last }) => i >= first && i <= last);
    const colour = seriesColour(spec.theme, stretch?.series ?? 0);
    if (value === null)
      return { kind: "markers", points, shape: "cross", colour: ink2, background, size: 9 };
    if (hollow) return { kind: "markers", points, shape: "ring", colour, background, size: 7 };
    return { kind: "dots", points, colour, ...look };
  });
}

// As wide as a value's room, within what a pointer can hit and what still belongs to the point.
function boxesOf({ data, plot, x, y, each }: Frame): HitBox[] {
  const width = Math.min(Math.max(each, 8), 24);
  const height = 24;
  return data.values.map(({ key, words, value }, i) => {
    const centre = value === null ? plot.y + plot.height : y(value);
    return { key, words, x: x(i) - width / 2, y: centre - height / 2, width, height };
  });
}
