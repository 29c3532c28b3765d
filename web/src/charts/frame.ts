// Parts that the kinds of charts share: the x axis, event marks, the message in an empty plot, the look of the lines.
// Pure.
import type { FontMetrics } from "./font";
import type { Mark, MarkerShape, Rect } from "./marks";
import { hairline, inside, kTextSize, text, textSizeOf } from "./plot";
import type { ChartLine, ChartSpec } from "./spec";
import { markerShape, monoStyle } from "./theme";
import { xOf, xTicks } from "./xaxis";

export const kLineWidth = 1.15;

export function projectX(x: { from: number; to: number }, plot: Rect): (at: number) => number {
  const scale = plot.width / (x.to - x.from);
  return (at) => plot.x + (at - x.from) * scale;
}

// Colours, dashes and signs as the style asks; the shapes by the lines' places.
export function styledLines(lines: readonly ChartLine[], spec: ChartSpec): readonly ChartLine[] {
  if (!spec.style?.monochrome) return lines;
  return lines.map((line, i) => {
    const { colour, dash } = monoStyle(spec.theme, i);
    return { ...line, colour, dash };
  });
}

export function shapeFor(spec: ChartSpec, index: number): MarkerShape | undefined {
  return spec.style?.monochrome || spec.style?.markers ? markerShape(index) : undefined;
}

const kWidest = {
  time: "00:00.00",
  wall: "00:00:00.0",
  step: "000 000",
  epoch: "00",
  number: "00.00 k",
};

export function drawXAxis(
  plot: Rect,
  spec: ChartSpec,
  font: FontMetrics,
): { marks: Mark[]; note: string } {
  const x = xOf(spec);
  const size = textSizeOf(spec.style);
  const widest = font.width(kWidest[x.kind], size, 400) + 24;
  const { ticks, note } = xTicks(x, { width: plot.width, spacing: Math.max(64, widest) });
  const at = projectX(x, plot);
  const y = plot.y + plot.height + 5 + size;
  const look = { colour: spec.theme.ink2, anchor: "middle", size } as const;
  const marks = ticks.map((tick) =>
    inside(text(tick.text, { x: at(tick.value), y, ...look }), spec.width, font),
  );
  return { marks, note };
}

// Words for an empty plot, in the place of the lines.
export function drawEmpty(lines: readonly ChartLine[], plot: Rect, spec: ChartSpec): Mark[] {
  return [
    hairline(plot, plot.y + plot.height, spec.theme.grid),
    text(emptyWords(lines, spec), {
      x: plot.x + plot.width / 2,
      y: plot.y + plot.height / 2,
      colour: spec.theme.ink3,
      anchor: "middle",
      size: textSizeOf(spec.style),
    }),
  ];
}

function emptyWords(lines: readonly ChartLine[], spec: ChartSpec): string {
  if (lines.length > 0 && lines.every((line) => line.hidden))
    return "All lines are hidden; click a name on the right to show it";
  if (spec.y?.mode === "log" && lines.some((line) => line.data || line.curve || line.pairs))
    return "No values above zero, so nothing to plot on a logarithmic axis";
  if (spec.zoomed) return "No data in this range; double-click to reset the zoom";
  return "Not enough data to plot";
}

const kFlag = 5;
// The least that is seen of a window, however far one is zoomed out.
const kMinWindow = 3;

// Hatched and tinted from top to bottom, the words at the foot: inside where they fit, else beside, above those of a
// window that is in the way.
export function drawWindows(plot: Rect, spec: ChartSpec, font: FontMetrics): Mark[] {
  const x = xOf(spec);
  const at = projectX(x, plot);
  const right = plot.x + plot.width;
  const size = textSizeOf(spec.style) * (10 / kTextSize);
  const { ink2, ink3: colour, background } = spec.theme;
  const seen = (spec.windows ?? []).filter(({ from, to }) => to >= x.from && from <= x.to);
  const plates: Rect[] = [];
  return seen.flatMap(({ from, to, label, kind }): Mark[] => {
    const left = Math.max(plot.x, at(from));
    const width = Math.max(kMinWindow, Math.min(right, at(to)) - left);
    const box = { x: left, y: plot.y, width, height: plot.height, colour, radius: 0 };
    const shade: Mark[] = [
      { kind: "rect", ...box, alpha: kind === "note" ? 0.14 : 0.08, hatch: false },
    ];
    if (kind === undefined)
      shade.push({ kind: "rect", ...box, alpha: 0.3, hatch: true, pattern: "back" });
    const words = font.width(label, size, 400);
    const places = words + 8 <= width ? [left + 4] : [left + width + 3, left - words - 3];
    const start = places.find((place) => place >= plot.x && place + words <= right);
    if (start === undefined) return shade;
    const [begin, end] = [start - 2, start + words + 2];
    const below = plates.filter((one) => one.x < end && one.x + one.width > begin).length;
    const y = plot.y + plot.height - 4 - below * (size + 5);
    const plate = { x: begin, y: y - size, width: words + 4, height: size + 3 };
    plates.push(plate);
    return [
      ...shade,
      { kind: "rect", ...plate, colour: background, alpha: 0.85, radius: 2, hatch: false },
      text(label, { x: start, y, colour: ink2, size }),
    ];
  });
}

// A thin vertical line with a flag for every event; its words where they do not touch the next.
export function drawEvents(plot: Rect, spec: ChartSpec, font: FontMetrics): Mark[] {
  const x = xOf(spec);
  const at = projectX(x, plot);
  const size = textSizeOf(spec.style) * (10 / kTextSize);
  const events = (spec.marks ?? [])
    .filter((mark) => mark.at >= x.from && mark.at <= x.to)
    .sort((a, b) => a.at - b.at);
  return events.flatMap((event, i): Mark[] => {
    const left = Math.round(at(event.at)) + 0.5;
    const colour = event.colour ?? spec.theme.ink3;
    const points = Float64Array.of(left, plot.y, left, plot.y + plot.height);
    const after = events[i + 1];
    const room = (after ? at(after.at) : plot.x + plot.width) - left - kFlag - 6;
    const label = font.width(event.label, size, 400) <= room ? event.label : "";
    const flag = { x: left, y: plot.y, width: kFlag, height: kFlag };
    const words = { x: left + kFlag + 3, y: plot.y + size - 2, colour: spec.theme.ink2, size };
    return [
      { kind: "line", points, colour, width: 1, dash: [], alpha: 0.6 },
      { kind: "rect", ...flag, colour, alpha: 1, radius: 0, hatch: false },
      ...(label === "" ? [] : [text(label, words)]),
    ];
  });
}
