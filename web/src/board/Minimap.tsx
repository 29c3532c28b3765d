// Shown while a part is. One line over the whole length of the selection, for all charts: where the shown range
// lies, dragged by its body or its ends; a click beside it moves it there. With the keyboard: arrows move, + and −
// scale.
import { useQuery } from "@tanstack/react-query";
import { useLayoutEffect, useMemo, useRef } from "react";
import { askColumns } from "../api/useCharts";
import { useWidth } from "../app/useWidth";
import { paint } from "../charts/canvas";
import { kInsets } from "../charts/chart";
import { shapeLine } from "../charts/line";
import type { Mark } from "../charts/marks";
import { type ChartTheme, seriesColour } from "../charts/theme";
import { placeWords } from "./axis";
import { measuredOf } from "./derived";
import type { LineDef } from "./model";
import { moved, type Range, zoomed } from "./pointer";
import type { BoardView } from "./useBoard";

const kHeight = 24;
const kMaxLines = 12;
const kGrip = 7;

type Grip = "from" | "to" | "body";

export function Minimap({ view, theme }: { view: BoardView; theme: ChartTheme }) {
  const [ref, width] = useWidth();
  const { range, full, zoom } = view.gestures;
  const inner = Math.max(0, width - kInsets.left - kInsets.right);
  const x = (at: number) => ((at - full.from) / (full.to - full.from)) * inner;
  const go = (px: number) => {
    const to = full.from + (px / inner) * (full.to - full.from);
    zoom(moved(range, full, to - (range.from + range.to) / 2));
  };
  return (
    <div ref={ref} className="minimap" data-testid="minimap">
      {inner > 0 && (
        <div className="minimap-plot" style={{ left: kInsets.left, width: inner }}>
          <Outline view={view} width={inner} theme={theme} />
          <Rest at={[0, x(range.from)]} go={go} />
          <Rest at={[x(range.to), inner]} go={go} />
          <Window view={view} at={{ left: x(range.from), right: x(range.to), inner }} />
        </div>
      )}
    </div>
  );
}

// Beside the window. With the keyboard the window itself is moved.
function Rest({ at: [left, right], go }: { at: [number, number]; go: (px: number) => void }) {
  return (
    <div
      className="minimap-rest"
      style={{ left, width: Math.max(0, right - left) }}
      onPointerDown={(event) =>
        event.button === 0 &&
        go(left + event.clientX - event.currentTarget.getBoundingClientRect().left)
      }
    />
  );
}

// The first chart's lines, once for the whole length.
function Outline({ view, width, theme }: { view: BoardView; width: number; theme: ChartTheme }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { full } = view.gestures;
  const lines = useMemo(
    (): LineDef[] => (view.charts[0]?.def.lines ?? []).flatMap(measuredOf).slice(0, kMaxLines),
    [view.charts],
  );
  const series = lines.map(({ series, origin }) => ({ id: series, origin }));
  const pixels = Math.round(width);
  const answer = useQuery({
    queryKey: [
      "minimap",
      series.map(({ id, origin }) => [id, String(origin)]),
      full,
      pixels,
      view.onTime,
    ],
    queryFn: ({ signal }) =>
      askColumns(
        { axis: view.onTime ? "time" : "step", series, ...full, width: pixels },
        { exact: false, signal },
      ),
    // Columns come on axes of time and steps alone.
    enabled: series.length > 0 && pixels > 0 && view.counted !== null,
    placeholderData: (before) => before,
  });
  useLayoutEffect(() => {
    if (canvas.current === null || answer.data === undefined) return;
    const found = lines.flatMap((line) => {
      const columns = answer.data.get(line.series);
      return columns ? [{ line, columns }] : [];
    });
    let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (const { columns } of found) {
      for (const v of columns.min) if (v < low) low = v;
      for (const v of columns.max) if (v > high) high = v;
    }
    const y = (v: number) => 3 + (1 - (v - low) / Math.max(high - low, 1e-300)) * (kHeight - 6);
    const marks = found.map(({ line, columns }): Mark => {
      const { from, to } = full;
      const data = { columns, from, to, width: pixels, spacing: line.spacing };
      const shape = shapeLine(data, { x: (s) => ((s - from) / (to - from)) * width, y });
      const colour = line.colour === null ? theme.ink3 : seriesColour(theme, line.colour);
      return { kind: "line", points: shape.line, colour, width: 1, dash: [] };
    });
    paint(canvas.current, { width, height: kHeight, marks }, devicePixelRatio);
  }, [answer.data, lines, full, width, pixels, theme]);
  return <canvas ref={canvas} style={{ width, height: kHeight }} />;
}

interface WindowProps {
  view: BoardView;
  at: { left: number; right: number; inner: number };
}

function dragged(grip: Grip, by: number, at: { range: Range; full: Range }): Range {
  const { range, full } = at;
  if (grip === "body") return moved(range, full, by);
  const least = (full.to - full.from) / 1e6;
  return grip === "from"
    ? { from: Math.max(full.from, Math.min(range.from + by, range.to - least)), to: range.to }
    : { from: range.from, to: Math.min(full.to, Math.max(range.to + by, range.from + least)) };
}

function Window({ view, at }: WindowProps) {
  const { gestures } = view;
  const { range, full, zoom } = gestures;
  const start = useRef<{ x: number; grip: Grip; range: Range; told: boolean } | null>(null);
  const place = placeWords(view.axis, range);
  const perPixel = (full.to - full.from) / at.inner;
  const down = (event: React.PointerEvent<HTMLDivElement>) => {
    if (event.button !== 0) return;
    const box = event.currentTarget.getBoundingClientRect();
    const from = event.clientX - box.left;
    const grip = from < kGrip ? "from" : box.width - from < kGrip ? "to" : "body";
    start.current = { x: event.clientX, grip, range, told: false };
    event.currentTarget.setPointerCapture(event.pointerId);
  };
  const move = (event: React.PointerEvent) => {
    const from = start.current;
    if (from === null) return;
    const by = (event.clientX - from.x) * perPixel;
    zoom(dragged(from.grip, by, { range: from.range, full }), from.told);
    from.told = true;
  };
  const stop = () => {
    start.current = null;
  };
  const press = (event: React.KeyboardEvent) => {
    const span = range.to - range.from;
    const middle = (range.from + range.to) / 2;
    const step = { ArrowLeft: -span / 8, ArrowRight: span / 8 }[event.key];
    const scale = { "+": 0.5, "-": 2 }[event.key];
    if (step === undefined && scale === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    zoom(step === undefined ? zoomed(gestures, middle, scale ?? 1) : moved(range, full, step));
  };
  return (
    <div
      className="minimap-window"
      style={{ left: at.left, width: Math.max(6, at.right - at.left) }}
      role="slider"
      tabIndex={0}
      aria-label="Shown range"
      aria-valuemin={full.from}
      aria-valuemax={full.to}
      aria-valuenow={range.from}
      aria-valuetext={`${place(range.from)} to ${place(range.to)}`}
      onPointerDown={down}
      onPointerMove={move}
      onPointerUp={stop}
      onPointerCancel={stop}
      onDoubleClick={() => zoom(null)}
      onKeyDown={press}
    />
  );
}
