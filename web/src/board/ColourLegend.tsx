// The legend of runs that are coloured by the values of a param: a scale of numbers, or a colour for each word.
import { useChartTheme } from "../app/colours";
import { lineRamp, seriesColour } from "../charts/theme";
import { formatNumber, plural } from "../format/units";
import type { Legend } from "./colouring";

const kStops = 12;
const kMostWords = 40;

export function ColourLegend({ legend }: { legend: Legend }) {
  const theme = useChartTheme();
  if (legend.kind === "words") {
    const rest = legend.entries.length - kMostWords;
    return (
      <p className="colour-legend" data-testid="colour-legend">
        {legend.entries.slice(0, kMostWords).map(({ label, index }) => (
          <span key={label}>
            <i style={{ background: seriesColour(theme, index) }} />
            {label}
          </span>
        ))}
        {rest > 0 && <span className="quiet">and {rest} more</span>}
      </p>
    );
  }
  const { name, least, greatest, log, without } = legend;
  const ramp = lineRamp(theme.background);
  const stops = Array.from(
    { length: kStops },
    (_, i) => ramp[Math.round((i / (kStops - 1)) * (ramp.length - 1))],
  );
  return (
    <p className="colour-legend" data-testid="colour-legend">
      <b>{name}</b>
      <span>{formatNumber(least, 4)}</span>
      <i className="scale" style={{ background: `linear-gradient(90deg, ${stops.join()})` }} />
      <span>{formatNumber(greatest, 4)}</span>
      {log && <span className="quiet">logarithmic</span>}
      {without > 0 && (
        <span className="quiet">
          {plural(without, "run")} without {name}, grey
        </span>
      )}
    </p>
  );
}
