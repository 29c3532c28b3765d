// Says that the selection was cleared and takes it back, for ten seconds, longer while it is pointed at.
import { useEffect, useState } from "react";
import { createPortal } from "react-dom";
import { plural } from "../../format/units";
import { countOf, forgetCleared, undoClear, useBasket } from "../../state/basket";

const kShown = 10_000;

export function UndoToast() {
  const cleared = useBasket((state) => state.cleared);
  const [held, setHeld] = useState(false);
  useEffect(() => {
    if (cleared === null || held) return;
    const timer = setTimeout(forgetCleared, kShown);
    return () => clearTimeout(timer);
  }, [cleared, held]);
  return createPortal(
    <div className="toast-place" role="status">
      {cleared !== null && countOf(cleared) > 0 && (
        // biome-ignore lint/a11y/noStaticElementInteractions: it only waits while it is pointed at
        <div
          className="toast"
          data-testid="toast"
          onPointerEnter={() => setHeld(true)}
          onPointerLeave={() => setHeld(false)}
          onFocus={() => setHeld(true)}
          onBlur={() => setHeld(false)}
        >
          {plural(countOf(cleared), "run")} cleared –
          <button type="button" className="link" data-testid="undo" onClick={undoClear}>
            undo
          </button>
        </div>
      )}
    </div>,
    document.body,
  );
}
