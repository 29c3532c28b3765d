// The dashed cursor, the marked places, the region and the drag's tint over one plot, moved without React
// renders.
import { type RefObject, useEffect, useRef } from "react";
import { useView, type ViewState } from "../state/view";
import type { Range } from "./pointer";

export interface OverlayProps {
  range: Range;
  width: number;
  region: Range | null;
}

export function Overlay({ range, width, region }: OverlayProps) {
  const cursor = useRef<HTMLDivElement>(null);
  const drag = useRef<HTMLDivElement>(null);
  const chosen = useRef<HTMLDivElement>(null);
  const a = useRef<HTMLDivElement>(null);
  const b = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const x = (at: number) => ((at - range.from) / (range.to - range.from)) * width;
    const line = (at: number | null) =>
      at !== null && at >= range.from && at <= range.to ? { left: x(at), width: 0 } : null;
    const area = (part: Range | null) => {
      const from = Math.max(part?.from ?? 0, range.from);
      const to = Math.min(part?.to ?? 0, range.to);
      return part === null || to <= from ? null : { left: x(from), width: x(to) - x(from) };
    };
    const draw = (view: ViewState, before: ViewState | null) => {
      const at = view.pinned ?? view.cursor;
      if (before === null || at !== (before.pinned ?? before.cursor)) place(cursor, line(at));
      if (before === null || view.drag !== before.drag) place(drag, area(view.drag));
      if (before !== null && view.marks === before.marks) return;
      place(a, line(view.marks.a));
      place(b, line(view.marks.b));
    };
    place(chosen, area(region));
    draw(useView.getState(), null);
    return useView.subscribe(draw);
  }, [range.from, range.to, width, region]);
  return (
    <>
      <div className="selection" ref={drag} />
      <div className="region" ref={chosen} data-testid="region" />
      <div className="cursor" ref={cursor} />
      <div className="mark" ref={a} data-mark="A" />
      <div className="mark" ref={b} data-mark="B" />
    </>
  );
}

function place(
  ref: RefObject<HTMLDivElement | null>,
  at: { left: number; width: number } | null,
): void {
  const element = ref.current;
  if (element === null) return;
  const visibility = at === null ? "hidden" : "visible";
  if (element.style.visibility !== visibility) element.style.visibility = visibility;
  if (at === null) return;
  element.style.transform = `translateX(${at.left.toFixed(2)}px)`;
  if (at.width > 0) element.style.width = `${at.width}px`;
}
