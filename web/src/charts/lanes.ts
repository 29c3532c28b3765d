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
export function layoutLanes(phases: readonly Phase[], originNs: bigint, now: number): Lane[] {
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
    const hatch = isHatched(span);
    const radius = Math.min(2, width / 2);
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
  return { width: spec.width, height: laneHeight(lane), marks };
}

interface SpanPlace {
  left: number;
  y: number;
  width: number;
  theme: ChartTheme;
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

// The deepest span at a place of the picture, if any.
export function spanAt(lane: Lane, seconds: number, y: number): Span | null {
  const depth = Math.floor(y / kRowPitch);
  return lane.spans.find((s) => s.depth === depth && s.start <= seconds && seconds < s.end) ?? null;
}
