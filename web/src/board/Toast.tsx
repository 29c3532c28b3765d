// Names the last action and offers to undo it, for ten seconds, longer under the pointer.
import { useEffect, useState } from "react";
import { createPortal } from "react-dom";
import { forgetToast, useToast } from "../state/toast";

const kShown = 10_000;

export function ToastPlace() {
  const { toast } = useToast();
  const [held, setHeld] = useState(false);
  useEffect(() => {
    if (toast === null || held) return;
    const timer = setTimeout(forgetToast, kShown);
    return () => clearTimeout(timer);
  }, [toast, held]);
  return createPortal(
    <div className="toast-place" role="status">
      {toast !== null && (
        // biome-ignore lint/a11y/noStaticElementInteractions: it only waits while it is pointed at
        <div
          className="toast"
          data-testid="board-toast"
          onPointerEnter={() => setHeld(true)}
          onPointerLeave={() => setHeld(false)}
          onFocus={() => setHeld(true)}
          onBlur={() => setHeld(false)}
        >
          <span className="cut">{toast.text}</span> –
          <button
            type="button"
            className="link"
            data-testid="board-undo"
            onClick={() => {
              setHeld(false);
              forgetToast();
              toast.undo();
            }}
          >
            undo
          </button>
        </div>
      )}
    </div>,
    document.body,
  );
}
