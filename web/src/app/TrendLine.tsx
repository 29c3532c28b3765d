// The course of one metric without axes; its words are in its title.

export const kTrendWidth = 72;
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
  const dx = (kTrendWidth - 2 * kInset) / Math.max(1, y.length - 1);
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

export function TrendLine({ label, y }: { label: string; y: readonly (number | null)[] }) {
  return (
    <svg
      className="trend"
      width={kTrendWidth}
      height={kHeight}
      viewBox={`0 0 ${kTrendWidth} ${kHeight}`}
      role="img"
      aria-label={label}
      data-testid="trend"
    >
      <title>{label}</title>
      <path d={trendPath(y)} />
    </svg>
  );
}
