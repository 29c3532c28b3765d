// The badge of a chart: how its picture was made. Pure.
import type { Charts } from "../api/useCharts";
import type { ChartLine } from "../charts/spec";
import { formatDuration } from "../format/time";
import { formatCount, formatNumber, kThin, plural } from "../format/units";
import type { Making } from "./lines";
import type { Axis } from "./view";

// Returns the length of the axis that one pixel covers.
export function resolution(
  { from, to, width }: Pick<Charts, "from" | "to" | "width">,
  axis: Axis,
): string {
  const one = (to - from) / width;
  if (axis === "epoch") return `1 px = ${formatNumber(one, 3)} epochs`;
  if (axis === "metric") return `1 px = ${formatNumber(one, 3)}`;
  if (axis === "step") return `1 px = ${plural(Math.max(1, Math.round(one)), "step")}`;
  return `1 px = ${formatDuration(one)}`;
}

export interface BadgeInput {
  answer: Charts;
  points: number;
  making: Pick<Making, "grouping" | "smoothing">;
  axis: Axis;
  notes: readonly string[];
}

export function badgeText(lines: readonly ChartLine[], at: BadgeInput): string {
  const { answer, points, making, axis, notes } = at;
  const nonFinite = lines.reduce((sum, line) => sum + (line.data?.columns.nonFinite ?? 0), 0);
  const { grouping, smoothing } = making;
  const parts = [resolution(answer, axis)];
  if (points > 0) parts.push(plural(points, "point"));
  if (lines.some(({ expression }) => expression !== undefined)) parts.push("computed per column");
  if (grouping !== null) parts.push(`${grouping.show} per column`);
  if (smoothing !== null)
    parts.push(
      `${smoothing.method} ${smoothing.amount}${grouping === null ? "" : " over columns"}`,
    );
  const mine = lines.every((line) => line.data?.columns.exact ?? answer.exact);
  parts.push(mine ? "exact" : "aligned");
  if (nonFinite > 0) parts.push(`${formatCount(nonFinite)} not finite`);
  const damaged = lines.some(
    ({ data }) => data && (data.columns.unknownGap || data.columns.gaps.length > 0),
  );
  if (damaged) parts.push("damaged data skipped");
  parts.push(...notes);
  // The badge is in the fixed-width face, where a thin space is none.
  return parts.join(" · ").replaceAll(kThin, " ");
}
