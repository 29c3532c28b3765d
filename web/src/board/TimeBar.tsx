// A bar of the time of a run by phases, alone or, for the compared runs of a board, below each other.
import type { CSSProperties } from "react";
import { type TimePart, useExplanations } from "../api/explain";
import { useChartTheme } from "../app/colours";
import { seriesColour } from "../charts/theme";
import type { ShownRun } from "./model";
import { inOrderOf, type Piece, piecesOf } from "./timeBar";

export interface TimeBarProps {
  parts: readonly TimePart[];
  // The run's place in the palette.
  slot: number;
  label: string;
}

export function TimeBar({ parts, slot, label }: TimeBarProps) {
  const colour = { "--run": seriesColour(useChartTheme(), slot) } as CSSProperties;
  return (
    <ol className="time-bar" aria-label={label} style={colour}>
      {piecesOf(parts).map((piece) => (
        <BarPiece key={piece.key} piece={piece} />
      ))}
    </ol>
  );
}

function BarPiece({ piece }: { piece: Piece }) {
  const kind = piece.plain ? "plain" : piece.hatched ? "hatched" : "";
  return (
    <li className={kind} style={{ flexGrow: piece.share }} title={piece.title}>
      <span className="unseen">{piece.title}</span>
      <span aria-hidden="true">{piece.label}</span>
    </li>
  );
}

// Runs that nothing is known of are left out.
export function TimeBars({ runs }: { runs: readonly ShownRun[] }) {
  const found = useExplanations(runs.map(({ id }) => id));
  const known = runs.flatMap((run, i) => {
    const parts = found[i]?.parts ?? [];
    return parts.length > 0 ? [{ run, parts }] : [];
  });
  if (known.length === 0) return null;
  return (
    <section className="phases" aria-label="Where the time went" data-testid="time-bars">
      <div className="line-head">
        <h2>Where the time went</h2>
        <span className="unit">share of each run</span>
      </div>
      {known.map(({ run, parts }) => (
        <div key={run.id} className="lane">
          <span className="lane-name cut" title={run.name}>
            {run.name}
          </span>
          <TimeBar
            parts={inOrderOf(known[0]?.parts ?? [], parts)}
            slot={run.index}
            label={`Where the time of ${run.name} went`}
          />
        </div>
      ))}
    </section>
  );
}
