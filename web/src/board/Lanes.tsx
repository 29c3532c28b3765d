// Phases below the charts: for every shown run and process lane a row of tinted spans, with a cursor over all
// of them, details on hover, and zoom to a span by a click.
import { useLayoutEffect, useMemo, useRef } from "react";
import { useWidth } from "../app/useWidth";
import { paint } from "../charts/canvas";
import type { FontMetrics } from "../charts/font";
import {
  drawLane,
  isEvaluation,
  isProfiled,
  type Lane,
  laneHeight,
  type Span,
} from "../charts/lanes";
import type { XKind } from "../charts/spec";
import { type ChartTheme, readable, seriesColour } from "../charts/theme";
import { xTicks } from "../charts/xaxis";
import { middleEllipsis } from "../format/text";
import { formatDuration } from "../format/time";
import { plural } from "../format/units";
import {
  kLaneGap,
  kLaneNames,
  type LaneRow,
  type LaneWords,
  laneTitle,
  phaseUnder,
} from "./laneRows";
import type { ShownRun } from "./model";
import { Overlay } from "./Overlay";
import { type Gestures, type Range, useSurface } from "./pointer";

const kTop = 6;

export interface LanesProps {
  rows: readonly LaneRow[];
  pending: boolean;
  // The id of the phase that is looked into.
  chosen: string | null;
  choose: (run: ShownRun, span: Span) => void;
  gestures: Gestures;
  region: Range | null;
  // The name of the axis, its unit, and a function that formats a position on it.
  unit: string;
  kind: XKind;
  place: (x: number) => string;
  theme: ChartTheme;
  font: FontMetrics;
}

export function Lanes(props: LanesProps) {
  const { rows, pending, chosen, choose, gestures, region, unit, kind, place, theme, font } = props;
  const [ref, total] = useWidth();
  const width = Math.max(0, total - kLaneNames);
  const tip = useRef<HTMLDivElement>(null);
  const hatched = hatchWords(rows);
  const under = (seconds: number, event: PointerEvent) => {
    const box = ref.current?.getBoundingClientRect();
    return box === undefined ? null : phaseUnder(rows, seconds, event.clientY - box.top - kTop);
  };
  const surface = useSurface({
    ...gestures,
    name: null,
    click: (seconds, event) => {
      const found = under(seconds, event);
      if (found !== null) choose(found.run, found.span);
    },
    move: (seconds, event) =>
      showTip(tip.current, seconds === null ? null : (under(seconds, event)?.span ?? null), {
        event,
        place,
      }),
  });
  return (
    <section className="phases" aria-label="Phases">
      <div className="line-head">
        <h2>Phases</h2>
        <span className="unit">{unit}</span>
        {hatched !== "" && <span className="badge">{hatched}</span>}
      </div>
      <div className="lanes" ref={ref} style={{ rowGap: kLaneGap }}>
        {width > 0 &&
          rows.map((row) => (
            <OneLane
              key={`${row.run.id}/${row.lane.name}`}
              row={row}
              chosen={chosen}
              spec={{ width, from: gestures.range.from, to: gestures.range.to }}
              theme={theme}
              font={font}
            />
          ))}
        {rows.length === 0 && !pending && <NoPhases />}
        {rows.length > 0 && (
          <>
            <div className="surface" ref={surface}>
              <Overlay range={gestures.range} width={width} region={region} />
            </div>
            <Ticks range={gestures.range} width={width} kind={kind} />
          </>
        )}
      </div>
      <div className="tip" ref={tip} role="tooltip" />
    </section>
  );
}

function hatchWords(lanes: readonly LaneRow[]): string {
  const any = (is: (span: Span) => boolean) => lanes.some(({ lane }) => lane.spans.some(is));
  const words = [
    any((span) => span.kind === "wait") ? "waiting" : "",
    any(isEvaluation) ? "evaluation" : "",
  ].filter((word) => word !== "");
  const said = [
    words.length === 0 ? "" : `hatched = ${words.join(" and ")}, no training step`,
    any(({ phase }) => isProfiled(phase)) ? "crossed = profiled, steps take longer" : "",
  ];
  return said.filter((part) => part !== "").join(" · ");
}

function NoPhases() {
  return (
    <p className="quiet">
      No phases. Wrap a part of the script in <code>with corral.phase("epoch"):</code> to see it
      here.
    </p>
  );
}

function Ticks({ range, width, kind }: { range: Range; width: number; kind: XKind }) {
  // The last one may not stick out at the right.
  const ticks = xTicks({ kind, ...range }, { width, spacing: 110 }).ticks.filter(
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

interface OneLaneProps {
  row: LaneRow;
  chosen: string | null;
  spec: { width: number; from: number; to: number };
  theme: ChartTheme;
  font: FontMetrics;
}

function OneLane({ row, chosen, spec, theme, font }: OneLaneProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { run, lane, words, height } = row;
  const colour = seriesColour(theme, run.index);
  const { width, from, to } = spec;
  const picture = useMemo(
    () => drawLane(lane, { width, from, to, colour, theme, chosen }, font),
    [lane, width, from, to, colour, theme, font, chosen],
  );
  useLayoutEffect(() => {
    if (canvas.current !== null) paint(canvas.current, picture, devicePixelRatio);
  }, [picture]);
  return (
    <div
      className="lane"
      data-testid="phases-lane"
      data-lane={lane.name}
      data-run={run.id}
      style={{ height }}
    >
      <div className="lane-names" title={`run ${run.name}, ${laneTitle(lane.name)}`}>
        {words.map((one) => (
          <span
            key={one.level}
            className="lane-name name cut"
            data-level={one.level}
            style={one.level === 0 ? { color: readable(theme, colour) } : undefined}
          >
            <LaneName {...one} />
          </span>
        ))}
      </div>
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

// As many letters as there is room for behind the word, by level.
const kLetters = [17, 14, 12] as const;

function LaneName({ kind, text, level }: LaneWords) {
  return (
    <>
      <span className="lane-kind">{kind}</span> {middleEllipsis(text, kLetters[level])}
    </>
  );
}

function laneSummary(run: ShownRun, lane: Lane): string {
  const top = lane.spans.filter((span) => span.depth === 0);
  const names = top
    .slice(0, 12)
    .map((span) => `${span.label} ${formatDuration(span.end - span.start)}`);
  return `Phases of ${run.name}, ${laneTitle(lane.name)}: ${plural(lane.spans.length, "phase")}. ${names.join(", ")}.`;
}

function showTip(
  tip: HTMLDivElement | null,
  span: Span | null,
  { event, place }: { event: PointerEvent; place: (x: number) => string },
): void {
  if (tip === null) return;
  tip.style.visibility = span === null ? "hidden" : "visible";
  if (span === null) return;
  const lines = [
    `${span.label}, ${formatDuration(span.end - span.start)}${span.open ? " so far" : ""}`,
    `${span.kind}, from ${place(span.start)} to ${span.open ? "now" : place(span.end)}`,
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
