// A checkbox that shows its new state at once: the address that holds the truth follows a moment later.
import { type CSSProperties, useEffect, useState } from "react";

export interface TickProps {
  label: string;
  checked: boolean;
  colour: string;
  change: (on: boolean) => void;
  disabled?: boolean;
  // The thing it toggles, for tests: a metric's name or a run's id.
  metric?: string;
  run?: string;
}

export function Tick({ label, checked, colour, change, disabled, metric, run }: TickProps) {
  const [shown, setShown] = useState(checked);
  useEffect(() => setShown(checked), [checked]);
  return (
    <input
      type="checkbox"
      className="tick"
      style={{ "--tick": colour } as CSSProperties}
      checked={shown}
      disabled={disabled ?? false}
      aria-label={label}
      data-metric={metric}
      data-run={run}
      onChange={(event) => {
        setShown(event.currentTarget.checked);
        change(event.currentTarget.checked);
      }}
    />
  );
}
