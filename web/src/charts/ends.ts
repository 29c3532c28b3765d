// Names and last values at the lines' ends, moved apart where they would touch; or the names in rows on top.
// Pure.
import { withoutCommon } from "../format/text";
import { formatScaled, formatValue } from "../format/units";
import type { ValueAxis } from "./axis";
import { type FontMetrics, fitText } from "./font";
import { spread } from "./labels";
import type { Mark, Rect } from "./marks";
import { kInsets, kTextSize, text } from "./plot";
import type { ChartLine, LabelBox } from "./spec";
import { type ChartTheme, readable } from "./theme";

export interface EndsPlace {
  plot: Rect;
  // Room between the plot's right edge and the names.
  left: number;
  // For the names.
  room: number;
  // A second axis takes a part of it: names go before values.
  narrow: boolean;
  // The axis of a line; null if it has no values.
  axisOf: (line: ChartLine) => { axis: ValueAxis; unit: string; y: (v: number) => number } | null;
  theme: ChartTheme;
  font: FontMetrics;
  size: number;
}

const kAir = 2.5;

export function lastValue({ curve, pairs, data }: ChartLine): number | undefined {
  const values = curve?.value ?? pairs?.y;
  if (values === undefined) return data?.columns.last.at(-1);
  for (let i = values.length - 1; i >= 0; i--) if (Number.isFinite(values[i])) return values[i];
  return undefined;
}

// Three digits, or two if that leaves the name whole; then the note, if there is room.
function endValue(line: ChartLine, value: number, at: EndsPlace): string {
  const { font, size, room } = at;
  const found = at.axisOf(line);
  if (found === null) return "";
  const rest = room - 4 - font.width(line.label, size, 600);
  const texts = [3, 2].map((digits) =>
    found.axis.log
      ? formatValue(value, found.unit, digits)
      : formatScaled(value, found.axis.scale, digits),
  );
  const number = texts.find((t) => font.width(t, size, 400) <= rest) ?? (texts[0] as string);
  const noted = line.note === undefined ? number : `${number} · ${line.note}`;
  return font.width(noted, size, 400) <= rest ? noted : number;
}

// Name and value; where there is not room for both, the name alone. A name that does not fit loses the part that all
// share, and only then is cut.
function endWords(line: ChartLine, short: string, at: EndsPlace): [string, string] {
  const { font, size, room } = at;
  const weight = line.faint ? 400 : 600;
  const value = lastValue(line);
  const number = value === undefined || line.hidden ? "hidden" : endValue(line, value, at);
  const rest = room - font.width(number, size, 400) - 4;
  const fitted = (most: number) => {
    const whole = font.width(line.label, size, weight) <= most;
    return fitText(whole ? line.label : short, most, { font, size, weight });
  };
  if (at.narrow && font.width(line.label, size, weight) > rest) return [fitted(room), ""];
  return [fitted(rest), number];
}

// More lines than labels fit: the faint ones go without first, then the last ones; the side panel and the footer
// name them all.
function labelled(lines: readonly ChartLine[], most: number): ChartLine[] {
  const shown = lines.filter((line) => line.hidden || lastValue(line) !== undefined);
  if (shown.length <= most) return shown;
  const chosen = new Set(
    [...shown.filter((line) => !line.faint), ...shown.filter((line) => line.faint)].slice(0, most),
  );
  return shown.filter((line) => chosen.has(line));
}

export function drawEnds(lines: readonly ChartLine[], at: EndsPlace, marks: Mark[]): LabelBox[] {
  const { plot, theme, font, size } = at;
  const height = size + kAir;
  const shown = labelled(lines, Math.floor((plot.height + kInsets.top) / height));
  const bottom = plot.y + plot.height;
  const wanted = shown.map((line) => {
    const value = lastValue(line);
    const y = value === undefined || line.hidden ? undefined : at.axisOf(line)?.y(value);
    return y === undefined || Number.isNaN(y) ? bottom : Math.min(Math.max(y, plot.y), bottom);
  });
  const placed = spread(wanted, height, { top: plot.y - 7, bottom: bottom + 7 });
  const left = plot.x + plot.width + at.left;
  const short = withoutCommon(lines.map((line) => line.label));
  return shown.map((line, i) => {
    const [name, number] = endWords(line, short[lines.indexOf(line)] ?? line.label, at);
    const numberWidth = font.width(number, size, 400);
    const weight = line.faint ? 400 : 600;
    const centre = placed[i] as number;
    const nameWidth = name === "" ? 0 : font.width(name, size, weight) + 3.5;
    const colour = line.hidden ? theme.ink3 : readable(theme, line.colour);
    const y = centre + 0.37 * size;
    marks.push(text(name, { x: left, y, colour, weight, size }));
    if (number !== "")
      marks.push(text(number, { x: left + nameWidth, y, colour: theme.ink2, size }));
    const box = { x: left, y: centre - height / 2, width: nameWidth + numberWidth, height };
    return { key: line.key, hidden: line.hidden, ...box };
  });
}

export function hiddenLabels(lines: readonly ChartLine[], plot: Rect): LabelBox[] {
  const height = kTextSize + kAir;
  return lines
    .filter((line) => line.hidden)
    .map((line, i) => ({
      key: line.key,
      hidden: true,
      x: plot.x + plot.width + 9,
      y: plot.y + i * height,
      width: kInsets.right - 9,
      height,
    }));
}

export interface LegendPlace {
  x: number;
  y: number;
  width: number;
  size: number;
  theme: ChartTheme;
  font: FontMetrics;
}

const kSample = 18;

// Returns the entries of a legend on top: each one's row, position, width and name. A name that is wider than a row loses
// the part that all share, and only then is cut.
export function layoutLegend(
  lines: readonly ChartLine[],
  { width: most, size, font }: Pick<LegendPlace, "width" | "size" | "font">,
): { row: number; x: number; width: number; name: string }[] {
  let [x, row] = [0, 0];
  const short = withoutCommon(lines.map((line) => line.label));
  const room = most - kSample - 4;
  return lines.map(({ label }, i) => {
    const fits = font.width(label, size, 400) <= room;
    const name = fits ? label : fitText(short[i] ?? label, room, { font, size, weight: 400 });
    const width = kSample + 4 + font.width(name, size, 400);
    if (x > 0 && x + width > most) [x, row] = [0, row + 1];
    const place = { row, x, width, name };
    x += width + 14;
    return place;
  });
}

export function drawLegend(
  lines: readonly ChartLine[],
  at: LegendPlace,
  sample: (line: ChartLine, from: number, y: number) => Mark[],
): { marks: Mark[]; labels: LabelBox[] } {
  const { theme, size } = at;
  const marks: Mark[] = [];
  const labels = layoutLegend(lines, at).map(({ row, x, width, name }, i): LabelBox => {
    const line = lines[i] as ChartLine;
    const left = at.x + x;
    const y = at.y + row * 16 * (size / kTextSize);
    const colour = line.hidden ? theme.ink3 : theme.ink1;
    if (!line.hidden) marks.push(...sample(line, left, y - 0.35 * size));
    marks.push(text(name, { x: left + kSample + 4, y, colour, size }));
    const box = { x: left, y: y - size, width, height: size + 4 };
    return { key: line.key, hidden: line.hidden, ...box };
  });
  return { marks, labels };
}
