// A button and the panel that it opens below itself: menus, small forms. The browser closes it at Escape and
// at a click beside it. Its content exists only while it is open.
import { type ReactNode, useEffect, useId, useRef, useState } from "react";

export interface PopupProps {
  // Text of the button, or with `icon` a symbol whose accessible name is `label`.
  button: ReactNode;
  icon?: boolean;
  label: string;
  className?: string;
  // More than the label says, for the pointer.
  title?: string;
  // The button is pressed; a click may follow.
  press?: (event: PointerEvent) => void;
  testid?: string;
  // `close` is for actions that need one click.
  children: (close: () => void) => ReactNode;
}

const kEdge = 8;

// Below its button, or above where there is no room.
function place(panel: HTMLElement, button: HTMLElement | null) {
  const from = button?.getBoundingClientRect();
  if (from === undefined) return;
  const { width, height } = panel.getBoundingClientRect();
  const left = Math.min(from.left, window.innerWidth - width - kEdge);
  const below = from.bottom + 4;
  const fits = below + height < window.innerHeight - kEdge;
  panel.style.left = `${Math.max(kEdge, left)}px`;
  panel.style.top = `${Math.max(kEdge, fits ? below : from.top - height - 4)}px`;
}

export function Popup(props: PopupProps) {
  const { button, icon = false, label, className = "icon-button", testid, children } = props;
  const { title = label, press } = props;
  const id = useId();
  const anchor = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);
  // Again when the content comes late or changes its size.
  useEffect(() => {
    const to = panel.current;
    if (!open || to === null) return;
    const sized = new ResizeObserver(() => place(to, anchor.current));
    sized.observe(to);
    return () => sized.disconnect();
  }, [open]);
  return (
    <>
      <button
        type="button"
        ref={anchor}
        className={className}
        popoverTarget={id}
        aria-label={icon ? label : undefined}
        aria-haspopup="dialog"
        aria-expanded={open}
        title={title}
        onPointerDown={press && (({ nativeEvent }) => press(nativeEvent))}
        data-testid={testid}
      >
        {button}
      </button>
      <div
        id={id}
        ref={panel}
        popover="auto"
        role="dialog"
        aria-label={label}
        className="popup"
        onToggle={(event) => setOpen(event.newState === "open")}
      >
        {open && children(() => panel.current?.hidePopover())}
      </div>
    </>
  );
}
