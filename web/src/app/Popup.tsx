// A button and the panel that it opens below itself: menus, small forms. The browser closes it at Escape and
// at a click beside it. Its content exists only while it is open.
import { type ReactNode, useCallback, useId, useRef, useState } from "react";

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

export function Popup(props: PopupProps) {
  const { button, icon = false, label, className = "icon-button", testid, children } = props;
  const { title = label, press } = props;
  const id = useId();
  const anchor = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);
  const place = useCallback(() => {
    const [from, to] = [anchor.current?.getBoundingClientRect(), panel.current];
    if (from === undefined || to === null) return;
    const { width, height } = to.getBoundingClientRect();
    const left = Math.min(from.left, window.innerWidth - width - kEdge);
    const below = from.bottom + 4;
    const fits = below + height < window.innerHeight - kEdge;
    to.style.left = `${Math.max(kEdge, left)}px`;
    to.style.top = `${Math.max(kEdge, fits ? below : from.top - height - 4)}px`;
  }, []);
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
        onToggle={(event) => {
          const now = event.newState === "open";
          setOpen(now);
          if (now) requestAnimationFrame(place);
        }}
      >
        {open && children(() => panel.current?.hidePopover())}
      </div>
    </>
  );
}
