// The value axis of a chart as it is asked for, with what must be said about it. Pure.
import { formatCount, plural } from "../format/units";
import { fixedAxis, logAxis, place, tightAxis, type ValueAxis, valueAxis } from "./axis";
import type { Rect } from "./marks";
import { percentiles, placesBeyond, type Values, valuesOf } from "./range";
import type { ChartLine, YAxisSpec } from "./spec";

export interface ChosenAxis {
  axis: ValueAxis;
  // For the badge: values that the axis leaves out.
  notes: string[];
  // Values may lie beyond its ends, and are marked there.
  cuts: boolean;
}

export interface AxisAsk {
  y: YAxisSpec;
  unit: string;
  x: { from: number; to: number };
}

export function chooseAxis(lines: readonly ChartLine[], ask: AxisAsk): ChosenAxis | null {
  const values = valuesOf(lines, ask.x);
  if (values === null) return null;
  const { y, unit } = ask;
  const plain = (axis: ValueAxis): ChosenAxis => ({ axis, notes: [], cuts: false });
  switch (y.mode) {
    case "zero":
      return plain(valueAxis(Math.min(0, values.low), Math.max(0, values.high), unit));
    case "fixed": {
      const [from, to] = [y.from ?? values.low, y.to ?? values.high];
      return cutting(to > from ? fixedAxis(from, to, unit) : valueAxis(from, from, unit), {
        lines,
        ask,
        word: "",
      });
    }
    case "log":
      return logarithmic(values, unit);
    case "clip": {
      const at = { low: y.low ?? 1, high: y.high ?? 99, places: values.places };
      const [low, high] = percentiles(lines, ask.x, at);
      const word = `clipped to ${at.low}–${at.high} %`;
      return cutting(tightAxis(low, high, unit), { lines, ask, word });
    }
    default:
      return plain(valueAxis(values.low, values.high, unit));
  }
}

function logarithmic(values: Values, unit: string): ChosenAxis | null {
  if (values.leastPositive === Number.POSITIVE_INFINITY) return null;
  const notes = ["log"];
  if (values.notPositive > 0)
    notes.push(`${plural(values.notPositive, "column")} with values ≤ 0 left out`);
  return { axis: logAxis(values.leastPositive, values.high, unit), notes, cuts: false };
}

function cutting(
  axis: ValueAxis,
  at: { lines: readonly ChartLine[]; ask: AxisAsk; word: string },
): ChosenAxis {
  const beyond = placesBeyond(at.lines, at.ask.x, axis);
  const notes: string[] = [];
  if (at.word !== "") notes.push(at.word);
  if (beyond > 0)
    notes.push(`${formatCount(beyond)} ${beyond === 1 ? "column" : "columns"} beyond`);
  return { axis, notes, cuts: beyond > 0 };
}

// Painters skip points that are infinitely far away; so far beyond the edge no slope can be seen.
const kFar = 1e6;

// Converts values to rows of the picture.
export function project(axis: ValueAxis, plot: Rect): (value: number) => number {
  const bottom = plot.y + plot.height;
  if (axis.log) return (v) => bottom - place(axis, v) * plot.height;
  const { from } = axis;
  const scale = plot.height / (axis.to - from);
  return (v) => Math.min(Math.max(bottom - (v - from) * scale, -kFar), kFar);
}
