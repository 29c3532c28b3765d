// The read-out that stays: every chart's values at the place that was clicked, the greatest first.
import type { RefObject } from "react";
import { useChartTheme } from "../app/colours";
import { readable } from "../charts/theme";
import { fittingNames } from "../format/text";
import { formatValue } from "../format/units";
import { useView } from "../state/view";
import type { Reader, Reading } from "./Readout";

export interface PinnedProps {
  reader: RefObject<Reader | null>;
  place: (x: number) => string;
  letGo: () => void;
}

const kLongestName = 28; // letters

function named({ values }: Reading) {
  const labels = values.map(({ label }) => label);
  const names = fittingNames(labels, kLongestName);
  return values.map((value, i) => ({ ...value, name: names[i] ?? value.label }));
}

export function Pinned({ reader, place, letGo }: PinnedProps) {
  const pinned = useView((view) => view.pinned);
  useView((view) => view.readings);
  const first = useView((view) => view.pinnedBy);
  const theme = useChartTheme();
  if (pinned === null) return null;
  const readings = reader.current?.(pinned, first) ?? [];
  return (
    <aside className="pinned" aria-label={`Values at ${place(pinned)}`} data-testid="pinned">
      <header>
        <b>{place(pinned)}</b>
        <button
          type="button"
          className="icon-button small"
          aria-label="Unpin"
          title="Unpin (Esc)"
          onClick={letGo}
        >
          ×
        </button>
      </header>
      <dl>
        {readings.map((reading, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two charts may be of one metric
          <div key={i} className="pinned-chart">
            <dt className="cut">{reading.title}</dt>
            {named(reading).map(({ name, ...value }) => (
              <dd key={value.key}>
                <span
                  className="cut"
                  style={{ color: readable(theme, value.colour) }}
                  title={value.label}
                >
                  {name}
                </span>
                <span>{formatValue(value.value, reading.unit, 4)}</span>
              </dd>
            ))}
          </div>
        ))}
      </dl>
    </aside>
  );
}
