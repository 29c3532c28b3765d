// Lists the actions of the mouse and the keys on a page; `?` opens it, too.
import { useCallback, useEffect, useRef, useState } from "react";
import { late, useLoaded } from "../app/late";

const Keys = late({ what: "The list of keys", load: async () => (await import("./Keys")).Keys });

export function Help({ of }: { of: "board" | "runs" }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [open, setOpen] = useState(false);
  useLoaded(Keys);
  const show = useCallback(() => {
    setOpen(true);
    dialog.current?.showModal();
  }, []);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const typing = event.target instanceof HTMLElement && event.target.matches("input, textarea");
      const other = document.querySelector("dialog[open]") !== null;
      if (event.key === "?" && !typing && !other) show();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [show]);
  return (
    <>
      <button
        type="button"
        className="key"
        aria-label="Keys and gestures"
        title="Keys and gestures"
        onClick={show}
      >
        ?
      </button>
      <dialog
        ref={dialog}
        className="dialog"
        aria-label="Keys and gestures"
        data-testid="help"
        onClose={() => setOpen(false)}
      >
        <header>
          <h2>Keys and gestures</h2>
          <button type="button" className="button" onClick={() => dialog.current?.close()}>
            Close
          </button>
        </header>
        {open && <Keys of={of} />}
      </dialog>
    </>
  );
}
