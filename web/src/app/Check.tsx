// A plain checkbox of lists and tables; `some` is the third state, of a group that is chosen in part.
import { type MouseEvent, useEffect, useRef } from "react";

export interface CheckProps {
  label: string;
  checked: boolean;
  some?: boolean;
  disabled?: boolean;
  // Left out of the tab order where a key of the table does the same.
  skipped?: boolean;
  testid?: string;
  change: (on: boolean, event: { shift: boolean }) => void;
}

export function Check({
  label,
  checked,
  some = false,
  disabled = false,
  skipped = false,
  testid,
  change,
}: CheckProps) {
  const input = useRef<HTMLInputElement>(null);
  const shift = useRef(false);
  useEffect(() => {
    if (input.current) input.current.indeterminate = some && !checked;
  }, [some, checked]);
  return (
    <input
      ref={input}
      type="checkbox"
      className="check"
      aria-label={label}
      checked={checked}
      disabled={disabled}
      tabIndex={skipped ? -1 : 0}
      data-testid={testid}
      onClick={(event: MouseEvent) => {
        shift.current = event.shiftKey;
        event.stopPropagation();
      }}
      onChange={(event) => change(event.currentTarget.checked, { shift: shift.current })}
    />
  );
}
