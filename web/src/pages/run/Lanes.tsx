// Phases below the charts: for every shown run and process lane a row of tinted spans, with a cursor over all
// of them, details on hover, and zoom to a span by a click.
import { useLayoutEffect, useMemo, useRef } from "react";
import type { Phase } from "../../api/types";
import { timeTicks } from "../../charts/axis";
import { paint } from "../../charts/canvas";
import type { FontMetrics } from "../../charts/font";
import {
  drawLane,
  isEvaluation,
  type Lane,
  laneHeight,
  layoutLanes,
  type Span,
  spanAt,
} from "../../charts/lanes";
import { type ChartTheme, seriesColour } from "../../charts/theme";
import { middleEllipsis } from "../../format/text";
import { formatClock, formatDuration } from "../../format/time";
import { plural } from "../../format/units";
import { useWidth } from "./Board";
import type { ShownRun } from "./model";
import { Overlay } from "./Overlay";
import { type Gestures, useSurface } from "./pointer";

const kNameWidth = 124;
const kGap = 8;
const kTop = 6;

export interface LanesProps {
  runs: ShownRun[];
  phases: Readonly<Record<string, Phase[]>>;
  pending: boolean;
  originNs: bigint;
  gestures: Gestures;
  theme: ChartTheme;
  font: FontMetrics;
}

interface RunLane {
  run: ShownRun;
  lane: Lane;
  first: boolean;
}

export function Lanes({ runs, phases, pending, originNs, gestures, theme, font }: LanesProps) {
  const [ref, total] = useWidth();
  const width = Math.max(0, total - kNameWidth);
  const tip = useRef<HTMLDivElement>(null);
  const lanes = useMemo(
    () =>
      runs.flatMap((run) =>
        layoutLanes(phases[run.id] ?? [], originNs, run.end).map((lane, i) => ({
          run,
          lane,
          first: i === 0,
        })),
      ),
    [runs, phases, originNs],
  );
  const hatched = hatchWords(lanes);
  const under = (seconds: number, event: PointerEvent): Span | null => {
    const box = ref.current?.getBoundingClientRect();
    return box === undefined ? null : spanUnder(lanes, seconds, event.clientY - box.top - kTop);
  };
  const surface = useSurface({
    ...gestures,
    name: null,
    click: (seconds, event) => {
      const span = under(seconds, event);
      if (span !== null && span.end > span.start) gestures.zoom({ from: span.start, to: span.end });
    },
    move: (seconds, event) =>
      showTip(tip.current, seconds === null ? null : under(seconds, event), event),
  });
  return (
    <section className="phases" aria-label="Phases">
      <div className="line-head">
        <h2>Phases</h2>
        <span className="unit">workload time</span>
        {hatched !== "" && <span className="badge">hatched = {hatched}</span>}
      </div>
      <div className="lanes" ref={ref}>
        {width > 0 &&
          lanes.map(({ run, lane, first }) => (
            <LaneRow
              key={`${run.id}/${lane.name}`}
              entry={{ run, lane, first }}
              spec={{ width, from: gestures.range.from, to: gestures.range.to }}
              theme={theme}
              font={font}
            />
          ))}
        {lanes.length === 0 && !pending && <NoPhases />}
        {lanes.length > 0 && (
          <>
            <div className="surface" ref={surface}>
              <Overlay range={gestures.range} width={width} />
            </div>
            <Ticks range={gestures.range} width={width} />
          </>
        )}
      </div>
      <div className="tip" ref={tip} role="tooltip" />
    </section>
  );
}

function hatchWords(lanes: readonly RunLane[]): string {
  const any = (is: (span: Span) => boolean) => lanes.some(({ lane }) => lane.spans.some(is));
  const words = [
    any((span) => span.kind === "wait") ? "waiting" : "",
    any(isEvaluation) ? "evaluation" : "",
  ].filter((word) => word !== "");
  return words.length === 0 ? "" : `${words.join(" and ")}, no training step`;
}

function NoPhases() {
  return (
    <p className="quiet">
      No phases were named. <code>with corral.phase("epoch"):</code> around a part of the script
      draws it here.
    </p>
  );
}

function Ticks({ range, width }: { range: { from: number; to: number }; width: number }) {
  // The last one may not stick out at the right.
  const ticks = timeTicks(range.from, range.to, { width, spacing: 110 }).filter(
    (tick) => ((tick.value - range.from) / (range.to - range.from)) * width < width - 16,
  );
  return (
    <div className="lane-ticks" aria-hidden="true">
      {ticks.map((tick) => (
        <span
          key={tick.value}
          style={{ left: ((tick.value - range.from) / (range.to - range.from)) * width }}
        >
          {tick.text}
        </span>
      ))}
    </div>
  );
}

interface LaneRowProps {
  entry: RunLane;
  spec: { width: number; from: number; to: number };
  theme: ChartTheme;
  font: FontMetrics;
}

function LaneRow({ entry, spec, theme, font }: LaneRowProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { run, lane, first } = entry;
  const colour = seriesColour(theme, run.index);
  const { width, from, to } = spec;
  const picture = useMemo(
    () => drawLane(lane, { width, from, to, colour, theme }, font),
    [lane, width, from, to, colour, theme, font],
  );
  useLayoutEffect(() => {
    if (canvas.current !== null) paint(canvas.current, picture, devicePixelRatio);
  }, [picture]);
  const thread = lane.name.split("/").at(-1) ?? lane.name;
  return (
    <div className="lane" data-testid="phases-lane" data-lane={lane.name} data-run={run.id}>
      <span
        className="lane-name name cut"
        style={{ color: colour }}
        title={`${run.name}, ${lane.name}`}
      >
        {first ? middleEllipsis(run.name, 16) : <small>{middleEllipsis(thread, 18)}</small>}
      </span>
      <canvas
        ref={canvas}
        style={{ width, height: laneHeight(lane) }}
        role="img"
        aria-label={laneSummary(run, lane)}
        data-from={from}
        data-to={to}
      />
    </div>
  );
}

function laneSummary(run: ShownRun, lane: Lane): string {
  const top = lane.spans.filter((span) => span.depth === 0);
  const names = top
    .slice(0, 12)
    .map((span) => `${span.label} ${formatDuration(span.end - span.start)}`);
  return `Phases of ${run.name}, ${lane.name}: ${plural(lane.spans.length, "phase")}. ${names.join(", ")}.`;
}

function spanUnder(lanes: readonly RunLane[], seconds: number, y: number): Span | null {
  let top = 0;
  for (const { lane } of lanes) {
    const height = laneHeight(lane);
    if (y >= top && y < top + height) return spanAt(lane, seconds, y - top);
    top += height + kGap;
  }
  return null;
}

function showTip(tip: HTMLDivElement | null, span: Span | null, event: PointerEvent): void {
  if (tip === null) return;
  tip.style.visibility = span === null ? "hidden" : "visible";
  if (span === null) return;
  const lines = [
    `${span.label}, ${formatDuration(span.end - span.start)}${span.open ? " so far" : ""}`,
    `${span.kind}, from ${formatClock(span.start, 0.01)} to ${span.open ? "now" : formatClock(span.end, 0.01)}`,
    ...Object.entries(span.phase.attributes).map(([key, value]) => `${key} ${value}`),
  ];
  tip.replaceChildren(
    ...lines.map((line) => {
      const p = document.createElement("p");
      p.textContent = line;
      return p;
    }),
  );
  const room = window.innerWidth - tip.offsetWidth - 8;
  tip.style.left = `${Math.min(event.clientX + 14, room)}px`;
  tip.style.top = `${event.clientY - tip.offsetHeight - 10}px`;
}
