// The names of a board's axes and how a place on them is written. Pure.
import type { XKind } from "../charts/spec";
import { formatClock } from "../format/time";
import { formatCount, formatNumber } from "../format/units";
import type { Range } from "./pointer";
import type { Axis } from "./view";

export const kAxisWords: Record<Axis, string> = {
  workload: "workload time",
  run: "run time",
  wall: "wall clock",
  step: "step",
  epoch: "epoch",
  condensed: "condensed time",
  metric: "metric",
};

export const kXKind: Record<Axis, XKind> = {
  workload: "time",
  run: "time",
  wall: "wall",
  step: "step",
  epoch: "epoch",
  condensed: "time",
  metric: "number",
};

// "2026-11-21 14:03:07.250" where the reader is.
export function wallClock(seconds: number, step: number): string {
  const at = new Date(seconds * 1000);
  const two = (n: number) => String(n).padStart(2, "0");
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  const rest = step < 1 ? `.${String(at.getMilliseconds()).padStart(3, "0")}` : "";
  return `${day} ${time}${rest}`;
}

// Why runs are not where the axis would have them.
export function lackingWords(axis: Axis, runs: number): string {
  if (axis === "epoch") return "No epochs, not drawn";
  if (axis !== "condensed") return "Event missing, drawn from the start";
  return runs > 1
    ? "Only one run can be condensed, not drawn"
    : "No epochs are known to be alike, or too many are odd, not drawn";
}

// A place in words, as finely as a pixel of `range` needs.
export function placeWords(axis: Axis, range: Range): (x: number) => string {
  const resolution = (range.to - range.from) / 600;
  const step = Math.min(1, 10 ** Math.floor(Math.log10(Math.max(resolution, 1e-6))));
  switch (axis) {
    case "step":
      return (x) => formatCount(Math.floor(x));
    case "wall":
      return (x) => wallClock(x, step);
    case "epoch":
    case "metric":
      return (x) => formatNumber(x, 4);
    default:
      return (x) => formatClock(x, step);
  }
}
