// A sparkline: the course of one metric over a run, without axes; its words are in its title.
import type { Sparkline } from "../../api/runSearch";
import { finite } from "../../api/types";
import { formatNumber } from "../../format/units";

const kWidth = 72;
const kHeight = 18;
const kInset = 2;

// Returns the largest distance at which neighbours are joined: twice the usual one, so that a gap in the measurement is
// visible and a series of few points stays a line.
function reachOf(at: readonly number[]): number {
  const steps = at.slice(1).map((x, i) => x - (at[i] ?? 0));
  steps.sort((a, b) => a - b);
  return 2 * (steps[steps.length >> 1] ?? 1);
}

// A piece of path per stretch without gaps; a lone point becomes a dot.
export function trendPath(y: readonly (number | null)[]): string {
  const points = y.flatMap((value, x) =>
    value !== null && Number.isFinite(value) ? { x, value } : [],
  );
  const values = points.map(({ value }) => value);
  const low = Math.min(...values);
  const span = Math.max(...values) - low;
  const dx = (kWidth - 2 * kInset) / Math.max(1, y.length - 1);
  const reach = reachOf(points.map(({ x }) => x));
  let path = "";
  points.forEach(({ x, value }, i) => {
    const up = span > 0 ? (value - low) / span : 0.5;
    const at = `${(kInset + x * dx).toFixed(1)} ${(kHeight - kInset - up * (kHeight - 2 * kInset)).toFixed(1)}`;
    const joins = (other: number) =>
      Math.abs((points[other]?.x ?? Number.POSITIVE_INFINITY) - x) <= reach;
    path += joins(i - 1) ? `L${at}` : joins(i + 1) ? `M${at}` : `M${at}h.01`;
  });
  return path;
}

export function Trend({ line }: { line: Sparkline | null | undefined }) {
  if (line === undefined) return null;
  if (line === null || line.y.every((value) => value === null))
    return <span className="step">–</span>;
  const words = (["first", "last", "min", "max"] as const).map((word) => {
    const value = finite(line[word]);
    return `${word} ${value === null ? "–" : formatNumber(value, 4)}`;
  });
  const label = `${line.metric}: ${words.join(", ")}`;
  return (
    <svg
      className="trend"
      width={kWidth}
      height={kHeight}
      viewBox={`0 0 ${kWidth} ${kHeight}`}
      role="img"
      aria-label={label}
      data-testid="trend"
    >
      <title>{label}</title>
      <path d={trendPath(line.y)} />
    </svg>
  );
}
