// The dashed cursor and the drag's tint over one plot, moved without React renders.
import { type RefObject, useEffect, useRef } from "react";
import { useView, type ViewState } from "../../state/view";
import type { Range } from "./pointer";

export function Overlay({ range, width }: { range: Range; width: number }) {
  const cursor = useRef<HTMLDivElement>(null);
  const selection = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const x = (seconds: number) => ((seconds - range.from) / (range.to - range.from)) * width;
    const draw = ({ cursor: at, drag }: ViewState) => {
      place(
        cursor,
        at !== null && at >= range.from && at <= range.to ? { left: x(at), width: 0 } : null,
      );
      place(
        selection,
        drag === null ? null : { left: x(drag.from), width: x(drag.to) - x(drag.from) },
      );
    };
    draw(useView.getState());
    return useView.subscribe(draw);
  }, [range.from, range.to, width]);
  return (
    <>
      <div className="selection" ref={selection} />
      <div className="cursor" ref={cursor} />
    </>
  );
}

function place(
  ref: RefObject<HTMLDivElement | null>,
  at: { left: number; width: number } | null,
): void {
  const element = ref.current;
  if (element === null) return;
  element.style.visibility = at === null ? "hidden" : "visible";
  if (at === null) return;
  element.style.transform = `translateX(${at.left.toFixed(2)}px)`;
  if (at.width > 0) element.style.width = `${at.width}px`;
}
