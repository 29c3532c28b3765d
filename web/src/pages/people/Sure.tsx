// A button whose action cannot be undone: it asks first.
import { type ReactNode, useState } from "react";
import { useModal } from "../../app/useModal";

interface SureProps {
  // The text of the button, and of the one that confirms.
  action: string;
  title: string;
  children: ReactNode;
  act: () => void;
}

export function Sure({ action, title, children, act }: SureProps) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="link" aria-label={title} onClick={() => setOpen(true)}>
        {action}
      </button>
      {open && (
        <Question {...{ action, title, act }} close={() => setOpen(false)}>
          {children}
        </Question>
      )}
    </>
  );
}

function Question({ action, title, children, act, close }: SureProps & { close: () => void }) {
  const dialog = useModal();
  return (
    <dialog ref={dialog} className="dialog" aria-label={title} onClose={close}>
      <div className="form dialog-body">
        <h2>{title}</h2>
        <p>{children}</p>
        <div className="form-row">
          <button
            type="button"
            className="button danger"
            onClick={() => {
              act();
              dialog.current?.close();
            }}
          >
            {action}
          </button>
          <button type="button" className="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
        </div>
      </div>
    </dialog>
  );
}
