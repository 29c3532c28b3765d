// The choice of the colours of lines.
import { useMemo } from "react";
import type { PaletteName } from "../charts/theme";
import { type Action, usePaletteActions } from "../state/palette";
import { chooseLineColours, kLineColours, useLineColours, useThemeOf } from "./colours";
import { Popup } from "./Popup";

function Swatches({ name, most }: { name: PaletteName; most: number }) {
  const { series } = useThemeOf(name);
  return (
    <span className="swatches" aria-hidden="true">
      {series.slice(0, most).map((colour) => (
        <i key={colour} style={{ background: colour }} />
      ))}
    </span>
  );
}

export function LineColours() {
  const chosen = useLineColours(({ name }) => name);
  const actions = useMemo(
    () =>
      kLineColours.map(
        ([name, label]): Action => ({
          id: `colours/${name}`,
          group: "view",
          label: `colours of lines: ${label}`,
          act: () => chooseLineColours(name),
        }),
      ),
    [],
  );
  usePaletteActions("colours", actions);
  return (
    <Popup
      button={<Swatches name={chosen} most={3} />}
      icon
      label="Colours of lines"
      className="icon-button line-colours"
      testid="line-colours"
    >
      {() => (
        <fieldset className="form-runs" aria-label="Colours of lines">
          {kLineColours.map(([name, label]) => (
            <label key={name} className="form-line">
              <span className="form-check">
                <input
                  type="radio"
                  name="line-colours"
                  checked={name === chosen}
                  onChange={() => chooseLineColours(name)}
                />
                {label}
              </span>
              <Swatches name={name} most={8} />
            </label>
          ))}
        </fieldset>
      )}
    </Popup>
  );
}
