// Ticks of the x axis by its kind: elapsed time, steps, epochs, a metric's values (wall clock: wall.ts). Pure.
import { ticks } from "d3-array";
import { formatScaled, kThin, scaleFor } from "../format/units";
import { mostTicks, type Tick, tickDigits, timeTicks } from "./axis";
import type { ChartSpec, XAxisSpec } from "./spec";
import { wallTicks, wallWords } from "./wall";

export const xOf = (spec: Pick<ChartSpec, "x" | "from" | "to">): XAxisSpec =>
  spec.x ?? { kind: "time", from: spec.from, to: spec.to };

export interface XTicks {
  ticks: Tick[];
  // The part that the ticks leave out: the day and the zone of a wall clock. "" when nothing.
  note: string;
}

// About one tick every `spacing` pixels.
export function xTicks(x: XAxisSpec, at: { width: number; spacing: number }): XTicks {
  switch (x.kind) {
    case "time":
      return { ticks: timeTicks(x.from, x.to, at), note: "" };
    case "wall":
      return wallTicks(x, at);
    case "step":
      return { ticks: numberTicks(x, at, { whole: true, unit: "" }), note: "" };
    case "epoch":
      return { ticks: numberTicks(x, at, { whole: x.to - x.from >= 1, unit: "" }), note: "" };
    case "number":
      return { ticks: numberTicks(x, at, { whole: false, unit: x.unit ?? "" }), note: "" };
  }
}

// The unit of the ticks, for the axis's title; "" for plain numbers.
export function xUnit(x: XAxisSpec): string {
  switch (x.kind) {
    case "time": {
      const farthest = Math.max(-x.from, x.to);
      if (farthest >= 86_400) return ""; // "1 d 2:00"
      return farthest >= 3600 ? "h:min:s" : "min:s";
    }
    case "wall":
      return wallWords(x);
    case "number":
      return scaleFor(x.unit ?? "", Math.max(Math.abs(x.from), Math.abs(x.to))).unit;
    default:
      return "";
  }
}

function grouped(value: number): string {
  const text = String(Math.abs(value)).replace(/\B(?=(\d{3})+$)/g, kThin);
  return value < 0 ? `−${text}` : text;
}

function numberTicks(
  { from, to }: { from: number; to: number },
  at: { width: number; spacing: number },
  as: { whole: boolean; unit: string },
): Tick[] {
  const most = mostTicks(at);
  const scale = scaleFor(as.unit, Math.max(Math.abs(from), Math.abs(to)));
  const factor = as.whole ? 1 : scale.factor;
  let values = ticks(from / factor, to / factor, most);
  if (as.whole) values = values.filter(Number.isInteger);
  // d3 takes the count as a hint.
  const every = Math.ceil(values.length / (most + 1));
  if (every > 1) values = values.filter((v) => Math.round(v / tickStep(values)) % every === 0);
  values = values.map((v) => v * factor);
  const digits = tickDigits(values);
  return values.map((value) => ({
    value,
    text: as.whole && digits > 4 ? grouped(value) : formatScaled(value, scale, digits),
  }));
}

function tickStep(values: readonly number[]): number {
  return (values[1] as number) - (values[0] as number);
}
