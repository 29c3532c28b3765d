// One line of a chart as marks, by the kind of the chart. Pure.
import { pairDots, shapeCurve, shapePairs } from "./curve";
import { type LineData, partings } from "./gap";
import { type Join, type Projection, shapeLine } from "./line";
import type { Mark, MarkerShape, Points } from "./marks";
import { Pen } from "./pen";
import type { ChartKind, ChartLine } from "./spec";

export interface SeriesStyle {
  kind: ChartKind;
  width: number;
  background: string;
  // A sign on the line every now and then.
  marker?: MarkerShape;
  // Offset of the first marker, so that the markers of neighbouring lines do not overlap.
  shift: number;
}

const kUnder = 0.3;
const kUnderBars = 0.16;
const kFaint = 0.35;
const kBand = 0.38;
const kCurveBand = 0.18;
const kRadius = 1.9;
const kSpread = 0.2;
const kMedianDash = [2, 3];

export function drawSeries(line: ChartLine, project: Projection, style: SeriesStyle): Mark[] {
  return [
    ...drawSpreads(line, project, style),
    ...drawColumns(line, project, style),
    ...drawCurve(line, project, style),
    ...drawPairs(line, project, style),
  ];
}

const joinOf = (kind: ChartKind): Join => (kind === "step" ? "step" : "straight");

function drawColumns(line: ChartLine, project: Projection, style: SeriesStyle): Mark[] {
  const { data, curve, colour, dash } = line;
  if (data === null || data.columns.firstX.length === 0) return [];
  if (style.kind === "scatter" && !curve) return scattered(data, project, line);
  if (style.kind === "band" && !curve) return area(data, project, line);
  const { line: points, bars, barWidth, dots } = shapeLine(data, project, joinOf(style.kind));
  if (line.faint) return curve ? [] : faint(points, line, style);
  const bar = { kind: "bars", bars, width: barWidth, colour } as const;
  // Spikes stay in sight under what smooths them away.
  if (curve) {
    const under: Mark = {
      kind: "line",
      points,
      colour,
      dash: [],
      width: style.width,
      alpha: kUnder,
    };
    return [{ ...bar, alpha: kUnderBars }, under];
  }
  return [
    { ...bar, alpha: kBand },
    { kind: "line", points, colour, width: style.width, dash },
    { kind: "dots", points: dots, colour, radius: kRadius },
    ...signs(points, line, style),
  ];
}

function drawCurve(line: ChartLine, project: Projection, style: SeriesStyle): Mark[] {
  const { curve, colour, dash } = line;
  if (!curve) return [];
  const { upper, lower, dots, line: points } = shapeCurve(curve, project, joinOf(style.kind));
  if (line.faint) return faint(points, line, style);
  const marks: Mark[] = [];
  if (upper.length > 0) marks.push({ kind: "band", upper, lower, colour, alpha: kCurveBand });
  if (style.kind === "scatter") {
    const known = points.filter((v) => !Number.isNaN(v));
    marks.push({ kind: "dots", points: known, colour, radius: kRadius });
  } else marks.push({ kind: "line", points, colour, dash, width: style.width * 1.3 });
  if (dots.length > 0) marks.push({ kind: "dots", points: dots, colour, radius: kRadius });
  return [...marks, ...signs(points, line, style)];
}

// Behind the line, which is one of those that it is the spread of.
function drawSpreads(
  { spreads = [], colour, faint }: ChartLine,
  project: Projection,
  style: SeriesStyle,
): Mark[] {
  if (faint) return [];
  return spreads.flatMap((spread): Mark[] => {
    const { upper, lower, line: points } = shapeCurve(spread, project, "straight");
    const median = { kind: "line", points, colour, width: style.width, dash: kMedianDash } as const;
    return [{ kind: "band", upper, lower, colour, alpha: kSpread }, median];
  });
}

function drawPairs(line: ChartLine, project: Projection, style: SeriesStyle): Mark[] {
  const { pairs, colour, dash } = line;
  if (!pairs) return [];
  if (style.kind === "scatter") {
    const alpha = line.faint ? kFaint : 0.7;
    return [{ kind: "dots", points: pairDots(pairs, project), colour, radius: kRadius, alpha }];
  }
  const points = shapePairs(pairs, project, joinOf(style.kind));
  if (line.faint) return faint(points, line, style);
  const marks: Mark[] = [{ kind: "line", points, colour, width: style.width, dash }];
  if (points.length === 2) marks.push({ kind: "dots", points, colour, radius: kRadius });
  return [...marks, ...signs(points, line, style)];
}

function faint(points: Points, { colour, dash }: ChartLine, style: SeriesStyle): Mark[] {
  return [{ kind: "line", points, colour, dash, width: style.width * 0.7, alpha: kFaint }];
}

const pen = new Pen();
const under = new Pen();

// Every known point of a column once.
function scattered(data: LineData, project: Projection, { colour, faint }: ChartLine): Mark[] {
  const { columns: c, from, to, width } = data;
  const x = (px: number) => project.x(from + (px * (to - from)) / width);
  pen.clear();
  let dot = Number.NaN;
  const put = (at: number, value: number) => {
    const y = project.y(value);
    if (at === dot || Number.isNaN(y)) return;
    dot = at;
    pen.to(x(at), y);
  };
  for (let i = 0; i < c.firstX.length; i++) {
    put(c.firstX[i] as number, c.first[i] as number);
    const [a, b] = [c.minX[i] as number, c.maxX[i] as number];
    const [lowFirst, least, most] = [a <= b, c.min[i] as number, c.max[i] as number];
    put(lowFirst ? a : b, lowFirst ? least : most);
    put(lowFirst ? b : a, lowFirst ? most : least);
    put(c.lastX[i] as number, c.last[i] as number);
  }
  const alpha = faint ? kFaint : 0.7;
  return [{ kind: "dots", points: pen.points(), colour, radius: kRadius, alpha }];
}

// From minimum to maximum of each column, joined from column to column.
function area(data: LineData, project: Projection, { colour, faint }: ChartLine): Mark[] {
  const { columns: c, from, to, width } = data;
  const floor = project.floor ?? 0;
  const parted = partings(data);
  const pixel = (to - from) / width;
  for (const one of [pen, under]) one.clear();
  for (let i = 0; i < c.firstX.length; i++) {
    const top = project.y(c.max[i] as number);
    if (parted(i) || Number.isNaN(top)) for (const one of [pen, under]) one.lift();
    if (Number.isNaN(top)) continue;
    const bottom = project.y(c.min[i] as number);
    const x = project.x(from + ((c.firstX[i] as number) + (c.lastX[i] as number)) * 0.5 * pixel);
    pen.to(x, top);
    under.to(x, Number.isNaN(bottom) ? floor : bottom);
  }
  const [upper, lower] = [pen.points(), under.points()];
  const edge = { kind: "line", colour, dash: [], width: 0.6, alpha: faint ? 0.2 : 0.55 } as const;
  return [
    { kind: "band", upper, lower, colour, alpha: faint ? 0.08 : 0.26 },
    { ...edge, points: upper },
    { ...edge, points: lower },
  ];
}

const kSignsApart = 72;

function signs(points: Points, { colour }: ChartLine, style: SeriesStyle): Mark[] {
  const { marker: shape, background } = style;
  if (shape === undefined) return [];
  pen.clear();
  let next = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < points.length; i += 2) {
    const x = points[i] as number;
    if (!(x >= next)) continue;
    if (next === Number.NEGATIVE_INFINITY) next = x + style.shift;
    if (x < next) continue;
    pen.to(x, points[i + 1] as number);
    next = x + kSignsApart;
  }
  const size = Math.max(5, style.width * 4.5);
  return [{ kind: "markers", points: pen.points(), shape, colour, background, size }];
}
