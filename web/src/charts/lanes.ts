// Phases as lanes: per process lane a stack of rows, one per depth of the tree. layoutLane places spans in
// time, drawLane makes the drawing list. Spans narrower than a pixel that fall on a pixel already drawn are
// left out, so that a picture of a million steps stays small. Pure.
import type { Phase } from "../api/types";
import { formatDuration, secondsSince } from "../format/time";
import type { FontMetrics } from "./font";
import type { Mark, Picture } from "./marks";
import type { ChartTheme } from "./theme";

export interface Span {
  id: string;
  label: string;
  // "3" of "epoch 3": written when the whole name does not fit.
  short: string;
  kind: Phase["kind"];
  type: string;
  start: number;
  end: number;
  open: boolean;
  depth: number;
  phase: Phase;
}

export interface Lane {
  name: string;
  depth: number;
  // Sorted by depth, then start.
  spans: Span[];
}

const kIndexKeys = ["index", "epoch", "step", "number"];

function labelOf(phase: Phase): [string, string] {
  const numbered = /^(.*?)[\s_-]*(\d+)$/.exec(phase.name);
  if (numbered) return [phase.name, numbered[2] as string];
  for (const key of kIndexKeys) {
    const value = phase.attributes[key];
    if (typeof value === "number" || (typeof value === "string" && /^\d+$/.test(value))) {
      return [`${phase.name} ${value}`, String(value)];
    }
  }
  return [phase.name, ""];
}

// `now`: where an open phase ends for the moment, seconds since the origin.
// `originOf`: the zero of a lane's time, ns of UTC.
export function layoutLanes(
  phases: readonly Phase[],
  originOf: (lane: string) => bigint,
  now: number,
): Lane[] {
  const byId = new Map(phases.map((phase) => [phase.id, phase]));
  const depths = new Map<string, number>();
  const depthOf = (phase: Phase, guard = 0): number => {
    const known = depths.get(phase.id);
    if (known !== undefined) return known;
    const parent = phase.parent === null ? undefined : byId.get(phase.parent);
    const nested = parent !== undefined && parent.lane === phase.lane && guard < 64;
    const depth = nested ? depthOf(parent, guard + 1) + 1 : 0;
    depths.set(phase.id, depth);
    return depth;
  };
  const lanes = new Map<string, Span[]>();
  for (const phase of phases) {
    const originNs = originOf(phase.lane);
    const start = secondsSince(phase.start_ns, originNs);
    const end = phase.end_ns === null ? Math.max(now, start) : secondsSince(phase.end_ns, originNs);
    const [label, short] = labelOf(phase);
    const span = { id: phase.id, label, short, kind: phase.kind, type: phase.type, start, end };
    const spans = lanes.get(phase.lane) ?? [];
    lanes.set(phase.lane, spans);
    spans.push({ ...span, open: phase.end_ns === null, depth: depthOf(phase), phase });
  }
  return [...lanes]
    .map(([name, spans]) => ({
      name,
      depth: 1 + spans.reduce((most, span) => Math.max(most, span.depth), 0),
      spans: spans.sort((a, b) => a.depth - b.depth || a.start - b.start),
    }))
    .sort(
      (a, b) =>
        (a.spans[0] as Span).start - (b.spans[0] as Span).start || (a.name < b.name ? -1 : 1),
    );
}

export interface LaneSpec {
  width: number;
  from: number;
  to: number;
  colour: string;
  theme: ChartTheme;
  // The id of the span that is outlined.
  chosen?: string | null;
}

export const kRow = 18;
export const kRowPitch = 21;
const kText = 11;

export function isEvaluation({ type, label }: Pick<Span, "type" | "label">): boolean {
  return /^(eval|valid|test)/i.test(type) || /^(eval|valid|test)/i.test(label);
}

// Waiting and evaluation: no training step happens meanwhile.
export function isHatched(span: Pick<Span, "kind" | "type" | "label">): boolean {
  return span.kind === "wait" || isEvaluation(span);
}

// A profiler ran meanwhile: its step times are not those of the rest.
export function isProfiled({ name, type }: Pick<Phase, "name" | "type">): boolean {
  return type === kProfiled || name === kProfiled;
}

export const kProfiled = "profiled";

export function laneHeight(lane: Lane): number {
  return lane.depth * kRowPitch - (kRowPitch - kRow);
}

export function drawLane(lane: Lane, spec: LaneSpec, font: FontMetrics): Picture {
  const x = (s: number) => ((s - spec.from) / (spec.to - spec.from)) * spec.width;
  const marks: Mark[] = [];
  const drawnTo: number[] = [];
  for (const span of lane.spans) {
    const left = Math.max(0, x(span.start));
    const right = Math.min(spec.width, x(span.end));
    if (right <= 0 || left >= spec.width || right < (drawnTo[span.depth] ?? 0) + 0.5) continue;
    drawnTo[span.depth] = right;
    const y = span.depth * kRowPitch;
    // A hairline of air between neighbours, but nothing vanishes.
    const width = Math.max(right - left - (right - left > 4 ? 1 : 0), 0.75);
    const radius = Math.min(2, width / 2);
    if (isProfiled(span.phase)) {
      marks.push(...drawProfiled(span, { left, y, width, theme: spec.theme }, font));
      continue;
    }
    const hatch = isHatched(span);
    const alpha = hatch ? 0.55 : 0.16 - Math.min(span.depth, 3) * 0.02;
    marks.push({
      kind: "rect",
      x: left,
      y,
      width,
      height: kRow,
      colour: spec.colour,
      alpha,
      radius,
      hatch,
    });
    if (!hatch) marks.push(...spanText(span, { left, y, width, theme: spec.theme }, font));
  }
  const chosen = lane.spans.find(({ id }) => id === spec.chosen);
  if (chosen !== undefined) {
    const ends = { left: Math.max(0.75, x(chosen.start)), right: x(chosen.end) };
    marks.push(...outline(chosen, { ...ends, width: spec.width, colour: spec.theme.ink1 }));
  }
  return { width: spec.width, height: laneHeight(lane), marks };
}

// Around a span, as far as it is in sight; also over one that is left out for being too narrow.
function outline(
  span: Span,
  at: { left: number; right: number; width: number; colour: string },
): Mark[] {
  const right = Math.min(at.width - 0.75, Math.max(at.right, at.left + 2));
  if (right <= at.left) return [];
  const top = span.depth * kRowPitch + 0.75;
  const bottom = top + kRow - 1.5;
  const corners = [at.left, top, right, top, right, bottom, at.left, bottom, at.left, top];
  const points = Float64Array.from(corners);
  return [{ kind: "line", points, colour: at.colour, width: 1.5, dash: [] }];
}

interface SpanPlace {
  left: number;
  y: number;
  width: number;
  theme: ChartTheme;
}

// Crossed in ink rather than in the run's colour, its words on a plate.
function drawProfiled(span: Span, at: SpanPlace, font: FontMetrics): Mark[] {
  const { left: x, y, width, theme } = at;
  const box = { x, y, width, height: kRow, radius: Math.min(2, width / 2) };
  const colour = theme.ink3;
  const words = spanText(span, at, font);
  const plates = words.flatMap((word): Mark[] => {
    if (word.kind !== "text") return [];
    const length = font.width(word.text, kText, 400);
    const plate = { x: word.x - 3, y: y + 2, width: length + 6, height: kRow - 4, radius: 2 };
    return [{ kind: "rect", ...plate, colour: theme.background, alpha: 0.85, hatch: false }];
  });
  return [
    { kind: "rect", ...box, colour, alpha: 0.12, hatch: false },
    { kind: "rect", ...box, colour, alpha: 0.5, hatch: true, pattern: "cross" },
    ...plates,
    ...words,
  ];
}

// Name and duration, else the name, else its number, else nothing.
function spanText(span: Span, at: SpanPlace, font: FontMetrics): Mark[] {
  const room = at.width - 10;
  if (room < 5) return [];
  const duration = formatDuration(span.end - span.start);
  const nameWidth = font.width(span.label, kText, 400);
  const words: [string, string][] = [];
  if (nameWidth + 4 + font.width(duration, kText, 400) <= room) {
    words.push([span.label, at.theme.ink2], [duration, at.theme.ink3]);
  } else if (nameWidth <= room) words.push([span.label, at.theme.ink2]);
  else if (span.short !== "" && font.width(span.short, kText, 400) <= room) {
    words.push([span.short, at.theme.ink2]);
  }
  return words.map(([text, colour], i) => ({
    kind: "text",
    x: at.left + 6 + (i === 0 ? 0 : nameWidth + 4),
    y: at.y + 13,
    text,
    colour,
    size: kText,
    weight: 400,
    anchor: "start",
  }));
}

interface LaneIndex {
  // Index of the first span of each depth, and after the last depth the number of spans.
  depths: number[];
  // The latest end of a span and all before it in its depth.
  ends: Float64Array;
}

const indices = new WeakMap<Lane, LaneIndex>();

function indexOf(lane: Lane): LaneIndex {
  let index = indices.get(lane);
  if (index === undefined) {
    const depths: number[] = [];
    const ends = new Float64Array(lane.spans.length);
    lane.spans.forEach((span, i) => {
      const first = depths.length <= span.depth;
      while (depths.length <= span.depth) depths.push(i);
      ends[i] = first ? span.end : Math.max(ends[i - 1] as number, span.end);
    });
    depths.push(lane.spans.length);
    index = { depths, ends };
    indices.set(lane, index);
  }
  return index;
}

// The span at a place of the picture, if any; of several the one that begins last, which is on top.
export function spanAt(lane: Lane, seconds: number, y: number): Span | null {
  const { depths, ends } = indexOf(lane);
  const depth = Math.floor(y / kRowPitch);
  const begin = depths[depth];
  const end = depths[depth + 1];
  if (begin === undefined || end === undefined) return null;
  let low = begin;
  let high = end;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((lane.spans[middle] as Span).start <= seconds) low = middle + 1;
    else high = middle;
  }
  for (let i = low - 1; i >= begin && (ends[i] as number) > seconds; i--) {
    const span = lane.spans[i] as Span;
    if (seconds < span.end) return span;
  }
  return null;
}
