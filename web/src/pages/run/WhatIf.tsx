// The length of a step without its waits, or with balanced ranks: bounds from a model, beside what was measured.
import type { CSSProperties } from "react";
import type { Explanation } from "../../api/explain";
import { useChartTheme } from "../../app/colours";
import { seriesColour } from "../../charts/theme";
import { type WhatIfRow, whatIfRows } from "./found";

export interface WhatIfProps {
  found: Explanation;
  // The run's place in the palette.
  slot: number;
}

export function WhatIf({ found, slot }: WhatIfProps) {
  const colour = { "--run": seriesColour(useChartTheme(), slot) } as CSSProperties;
  const rows = whatIfRows(found);
  const { what_if } = found;
  if (what_if === null || rows.length === 0) return null;
  return (
    <section className="words" aria-label="What if" data-testid="what-if" style={colour}>
      <h3>
        What if <span className="quiet">modelled; length of {nameOf(what_if.unit)}</span>
      </h3>
      <ul>
        {rows.map((row) => (
          <li key={row.name} className="lane">
            <span className="quiet">{row.name}</span>
            <Bounds row={row} />
          </li>
        ))}
      </ul>
    </section>
  );
}

const nameOf = (unit: "step" | "epoch") => (unit === "step" ? "a step" : "an epoch");
const percent = (part: number) => `${part * 100}%`;

// Full up to the lower bound, hatched up to the upper one.
function Bounds({ row: { bounds, words } }: { row: WhatIfRow }) {
  return (
    <span className="bounds">
      {bounds && (
        <span className="bounds-track" aria-hidden="true">
          <span style={{ width: percent(bounds.lower) }} />
          <span className="range" style={{ width: percent(bounds.upper - bounds.lower) }} />
        </span>
      )}
      <span className={bounds ? "" : "quiet"}>{words}</span>
    </span>
  );
}
