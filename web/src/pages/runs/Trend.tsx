// A sparkline: the course of one metric over a run, without axes; its words are in its title.

import type { Sparkline } from "../../api/runSearch";
import { finite } from "../../api/types";
import { TrendLine } from "../../app/TrendLine";
import { formatNumber } from "../../format/units";

export function Trend({ line }: { line: Sparkline | null | undefined }) {
  if (line === undefined) return null;
  if (line === null || line.y.every((value) => value === null))
    return <span className="step">–</span>;
  const words = (["first", "last", "min", "max"] as const).map((word) => {
    const value = finite(line[word]);
    return `${word} ${value === null ? "–" : formatNumber(value, 4)}`;
  });
  const label = `${line.metric}: ${words.join(", ")}`;
  return <TrendLine label={label} y={line.y} />;
}
