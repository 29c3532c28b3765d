// Cursor, drag-to-zoom, double-click and keys, the same in charts and lanes. They change the shared view
// state (drawn without React) and, at the end of a gesture, the address.
import { useCallback, useEffect, useRef } from "react";
import { useView } from "../../state/view";

export interface Range {
  from: number;
  to: number;
}

export interface Gestures {
  range: Range;
  full: Range;
  // null: back to everything.
  zoom: (range: Range | null) => void;
}

const kLeastDrag = 4;

export interface SurfaceOptions extends Gestures {
  // Which chart this is, for the footer; null for lanes.
  name: string | null;
  // A click that was no drag.
  click?: (seconds: number, event: PointerEvent) => void;
  move?: (seconds: number | null, event: PointerEvent) => void;
}

// A ref for the element over the plot, whose left and right edges are the range's.
export function useSurface(options: SurfaceOptions) {
  const latest = useRef(options);
  latest.current = options;
  return useCallback((element: HTMLDivElement) => {
    let start: { x: number; seconds: number } | null = null;
    const secondsAt = (event: PointerEvent | MouseEvent) => {
      const box = element.getBoundingClientRect();
      const part = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
      const { from, to } = latest.current.range;
      return from + part * (to - from);
    };
    const down = (event: PointerEvent) => {
      if (event.button !== 0) return;
      start = { x: event.clientX, seconds: secondsAt(event) };
      element.setPointerCapture(event.pointerId);
    };
    const move = (event: PointerEvent) => {
      const seconds = secondsAt(event);
      const dragging = start !== null && Math.abs(event.clientX - start.x) >= kLeastDrag;
      const drag = start !== null && dragging ? ordered(start.seconds, seconds) : null;
      useView.setState({ cursor: seconds, hovered: latest.current.name, byKeyboard: false, drag });
      latest.current.move?.(dragging ? null : seconds, event);
    };
    const up = (event: PointerEvent) => {
      if (start === null) return;
      const moved = Math.abs(event.clientX - start.x) >= kLeastDrag;
      const range = ordered(start.seconds, secondsAt(event));
      start = null;
      useView.setState({ drag: null });
      if (moved && range.to > range.from) latest.current.zoom(range);
      else latest.current.click?.(range.from, event);
    };
    const cancel = () => {
      start = null;
      useView.setState({ drag: null });
    };
    const leave = (event: PointerEvent) => {
      if (start !== null) return;
      useView.setState({ cursor: null, hovered: null });
      latest.current.move?.(null, event);
    };
    const reset = () => latest.current.zoom(null);
    const wheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      latest.current.zoom(zoomed(latest.current, secondsAt(event), Math.exp(event.deltaY / 240)));
    };
    const listeners: [string, (event: never) => void][] = [
      ["pointerdown", down],
      ["pointermove", move],
      ["pointerup", up],
      ["pointercancel", cancel],
      ["pointerleave", leave],
      ["dblclick", reset],
      ["wheel", wheel],
    ];
    for (const [type, listener] of listeners) {
      element.addEventListener(type, listener as EventListener, { passive: false });
    }
    return () => {
      for (const [type, listener] of listeners)
        element.removeEventListener(type, listener as EventListener);
    };
  }, []);
}

function ordered(a: number, b: number): Range {
  return a < b ? { from: a, to: b } : { from: b, to: a };
}

const kShortest = 1e-6;

// The range scaled around a moment and kept inside everything; null when that is everything.
export function zoomed(
  at: { range: Range; full: Range },
  centre: number,
  factor: number,
): Range | null {
  const { range, full } = at;
  const from = Math.max(full.from, centre - (centre - range.from) * factor);
  const to = Math.min(full.to, centre + (range.to - centre) * factor);
  if (to - from < kShortest) return range;
  return from <= full.from && to >= full.to ? null : { from, to };
}

export type KeyAnswer = { cursor: number } | { zoom: Range | null } | null;

// What a key does at a cursor: moves it by a two-hundredth of the range (a twentieth with Shift), or zooms
// around it. Pure.
export function answerKey(
  key: string,
  at: { range: Range; full: Range; cursor: number | null; shift: boolean },
): KeyAnswer {
  const { range, full, shift } = at;
  const centre = at.cursor ?? (range.from + range.to) / 2;
  const step = (range.to - range.from) / (shift ? 20 : 200);
  switch (key) {
    case "ArrowLeft":
      return { cursor: Math.max(range.from, centre - step) };
    case "ArrowRight":
      return { cursor: Math.min(range.to, centre + step) };
    case "+":
    case "=":
      return { zoom: zoomed({ range, full }, centre, 0.5) };
    case "-":
      return { zoom: zoomed({ range, full }, centre, 2) };
    case "Escape":
      return { zoom: null };
    default:
      return null;
  }
}

function typing(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.matches("textarea, select, input:not([type=checkbox])") || target.isContentEditable;
}

export function useKeys(gestures: Gestures): void {
  const latest = useRef(gestures);
  latest.current = gestures;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (typing(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
      const { range, full, zoom } = latest.current;
      const { cursor } = useView.getState();
      const answer = answerKey(event.key, { range, full, cursor, shift: event.shiftKey });
      if (answer === null) return;
      event.preventDefault();
      if ("zoom" in answer) zoom(answer.zoom);
      else useView.setState({ cursor: answer.cursor, byKeyboard: true });
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
}
