// Cursor, drag-to-zoom, panning, regions, double-click and keys, the same in charts and lanes. They change the
// shared view state (drawn without React) and, at the end of a gesture, the address.
import { useCallback, useEffect, useRef } from "react";
import { useView, type ViewState } from "../state/view";
import { type LaneRow, neighbouringPhase, type PhasePlace } from "./laneRows";
import type { Pin } from "./view";

export interface Range {
  from: number;
  to: number;
}

export interface Gestures {
  range: Range;
  full: Range;
  // null: back to everything. `going`: in the middle of a gesture whose first step was reported before.
  zoom: (range: Range | null, going?: boolean) => void;
  // A region to look into; null: no more.
  select: (range: Range | null) => void;
  // For a chart with independent zoom: returns to the range of the others. Else as `zoom(null)`.
  reset: () => void;
}

// Adds the actions of the keys.
export interface BoardGestures extends Gestures {
  pin: (pin: Pin | null) => void;
  mark: (which: "a" | "b", at: number) => void;
  // Lets go of pin, marks and region.
  clear: () => void;
  // To the phase, event or note before or after.
  step: (by: 1 | -1) => void;
  // The others are compared to this line's run or group, or to nothing where they were.
  compare: (line: string) => void;
  // Charts are zoomed together, or each by itself.
  sync: () => void;
  // A chart changes places with the one before or after it.
  move: (chart: string, by: 1 | -1) => void;
  // A chart fills the window, or does so no more; null: the only one.
  enlarge: (chart: string | null) => void;
  // Before all others, or back among them.
  pinChart: (chart: string) => void;
  enlarged: boolean;
  // The gestures of a chart by its key; null for the shared ones.
  of: (chart: string | null) => Gestures;
}

const kMinDrag = 4;
// Turns of the wheel closer together than this, milliseconds, are one step of the history.
const kSameGesture = 400;
type Kind = "zoom" | "select" | "pan";

export interface SurfaceOptions extends Gestures {
  // Name of the chart, for the footer; null for lanes.
  name: string | null;
  // A click that was no drag.
  click?: (seconds: number, event: PointerEvent) => void;
  move?: (seconds: number | null, event: PointerEvent) => void;
}

// The element's box, measured once: to ask for it in every frame would lay the page out in every frame.
function keptBox(element: HTMLElement) {
  let kept: DOMRect | null = null;
  const forget = () => {
    kept = null;
  };
  const resized = new ResizeObserver(forget);
  resized.observe(element);
  // Also of what scrolls inside the window.
  window.addEventListener("scroll", forget, { capture: true, passive: true });
  return {
    get: () => {
      kept ??= element.getBoundingClientRect();
      return kept;
    },
    forget,
    close: () => {
      resized.disconnect();
      window.removeEventListener("scroll", forget, { capture: true });
    },
  };
}

interface Surface {
  element: HTMLElement;
  options: () => SurfaceOptions;
  box: ReturnType<typeof keptBox>;
  // The place on the axis that an event is at.
  placeOf: (event: MouseEvent) => number;
}

// The cursor, clicks, and dragging, which zooms, selects or pans.
function pointerListeners({ element, options, box, placeOf }: Surface) {
  let start: { x: number; seconds: number; range: Range; kind: Kind } | null = null;
  let panned = false;
  const pan = (event: PointerEvent, by: { x: number; range: Range }) => {
    const { from, to } = by.range;
    const way = (by.x - event.clientX) * ((to - from) / box.get().width);
    options().zoom(moved(by.range, options().full, way), panned);
    panned = true;
  };
  const cancel = () => {
    start = null;
    useView.setState({ drag: null });
  };
  return {
    pointerdown: (event: PointerEvent) => {
      if (event.button !== 0) return;
      const kind = event.shiftKey ? "pan" : event.altKey ? "select" : "zoom";
      box.forget();
      start = { x: event.clientX, seconds: placeOf(event), range: options().range, kind };
      panned = false;
      element.setPointerCapture(event.pointerId);
    },
    pointermove: (event: PointerEvent) => {
      const seconds = placeOf(event);
      const dragging = start !== null && Math.abs(event.clientX - start.x) >= kMinDrag;
      if (start !== null && dragging && start.kind === "pan") pan(event, start);
      const drag =
        start !== null && dragging && start.kind !== "pan"
          ? { ...ordered(start.seconds, seconds), kind: start.kind }
          : null;
      useView.setState({ cursor: seconds, hovered: options().name, byKeyboard: false, drag });
      options().move?.(dragging ? null : seconds, event);
    },
    pointerup: (event: PointerEvent) => {
      if (start === null) return;
      const { kind } = start;
      const dragged = Math.abs(event.clientX - start.x) >= kMinDrag;
      const range = ordered(start.seconds, placeOf(event));
      cancel();
      if (!dragged) options().click?.(range.from, event);
      else if (kind !== "pan" && range.to > range.from) options()[kind](range);
    },
    pointercancel: cancel,
    pointerleave: (event: PointerEvent) => {
      if (start !== null) return;
      useView.setState({ cursor: null, hovered: null });
      options().move?.(null, event);
    },
  };
}

// With ctrl or ⌘ the wheel zooms.
function wheelListener({ options, placeOf }: Surface) {
  let wheeled = Number.NEGATIVE_INFINITY;
  return (event: WheelEvent) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const going = event.timeStamp - wheeled < kSameGesture;
    wheeled = event.timeStamp;
    options().zoom(zoomed(options(), placeOf(event), Math.exp(event.deltaY / 240)), going);
  };
}

// A ref for the element over the plot, whose left and right edges are the range's.
export function useSurface(options: SurfaceOptions) {
  const latest = useRef(options);
  latest.current = options;
  return useCallback((element: HTMLDivElement) => {
    const box = keptBox(element);
    const surface: Surface = {
      element,
      options: () => latest.current,
      box,
      placeOf: ({ clientX }) => {
        const { left, width } = box.get();
        const { from, to } = latest.current.range;
        return from + Math.min(1, Math.max(0, (clientX - left) / width)) * (to - from);
      },
    };
    const listeners: [string, (event: never) => void][] = Object.entries({
      ...pointerListeners(surface),
      pointerenter: box.forget,
      dblclick: () => latest.current.reset(),
      wheel: wheelListener(surface),
    });
    for (const [type, listener] of listeners)
      element.addEventListener(type, listener as EventListener, { passive: false });
    return () => {
      for (const [type, listener] of listeners)
        element.removeEventListener(type, listener as EventListener);
      box.close();
    };
  }, []);
}

function ordered(a: number, b: number): Range {
  return a < b ? { from: a, to: b } : { from: b, to: a };
}

// A microsecond, or a millionth of a metric that is smaller.
const shortest = (full: Range) => Math.min(1e-6, (full.to - full.from) * 1e-6);

// The range scaled around a moment and kept inside everything; null when that is everything.
export function zoomed(
  at: { range: Range; full: Range },
  centre: number,
  factor: number,
): Range | null {
  const { range, full } = at;
  const from = Math.max(full.from, centre - (centre - range.from) * factor);
  const to = Math.min(full.to, centre + (range.to - centre) * factor);
  if (to - from < shortest(full)) return range;
  return from <= full.from && to >= full.to ? null : { from, to };
}

// The range moved, as far as there is something. Pure.
export function moved(range: Range, full: Range, by: number): Range {
  const span = range.to - range.from;
  if (span >= full.to - full.from) return range;
  const from = Math.min(Math.max(range.from + by, full.from), full.to - span);
  return { from, to: from + span };
}

export type KeyAnswer =
  | { cursor: number }
  | { zoom: Range | null }
  | { mark: "a" | "b"; at: number }
  | { clear: true }
  | { sync: true }
  | { move: 1 | -1 }
  | { enlarge: true }
  | { pinChart: true }
  | { step: 1 | -1 }
  | { compare: true }
  | { note: number }
  | { history: -1 | 1 }
  | null;

export interface KeyPlace {
  range: Range;
  full: Range;
  cursor: number | null;
  shift: boolean;
  command: boolean;
  // Something is pinned, marked or selected.
  marked: boolean;
  // A chart fills the window.
  enlarged: boolean;
}

// Answers a key at a cursor: moves it by a two-hundredth of the range (a twentieth with Shift), zooms around it, moves
// the range, or marks the place. Pure.
export function answerKey(key: string, at: KeyPlace): KeyAnswer {
  const { range, full, shift } = at;
  if (at.command) {
    if (key.toLowerCase() !== "z") return null;
    return { history: shift ? 1 : -1 };
  }
  const centre = at.cursor ?? (range.from + range.to) / 2;
  const span = range.to - range.from;
  const step = span / (shift ? 20 : 200);
  // Letters, with or without Caps Lock.
  switch (key.length === 1 ? key.toLowerCase() : key) {
    case "ArrowLeft":
      return { cursor: Math.max(range.from, centre - step) };
    case "ArrowRight":
      return { cursor: Math.min(range.to, centre + step) };
    case "+":
    case "=":
    case "w":
      return { zoom: zoomed({ range, full }, centre, 0.5) };
    case "-":
    case "s":
      return { zoom: zoomed({ range, full }, centre, 2) };
    case "a":
      return { zoom: moved(range, full, -span / 4) };
    case "d":
      return { zoom: moved(range, full, span / 4) };
    case "f":
      return { zoom: null };
    case "1":
    case "2":
      return { mark: key === "1" ? "a" : "b", at: centre };
    case "0":
      return { clear: true };
    case ".":
      return { step: 1 };
    case ",":
      return { step: -1 };
    case "b":
      return { compare: true };
    case "l":
      return { sync: true };
    case "n":
      return { note: centre };
    case "[":
      return { move: -1 };
    case "]":
      return { move: 1 };
    case "p":
      return { pinChart: true };
    case "e":
      return { enlarge: true };
    case "Escape":
      if (at.enlarged) return { enlarge: true };
      return at.marked ? { clear: true } : { zoom: null };
    default:
      return null;
  }
}

export interface StepPlace {
  phase: PhasePlace | null;
  lanes: readonly LaneRow[];
  // In order.
  marks: readonly { at: number }[];
  range: Range;
  cursor: number | null;
}

// Beside the chosen phase the next one of its lane; else the next event from the cursor on; where there is none,
// the first phase. Pure.
export function stepFrom(at: StepPlace, by: 1 | -1): PhasePlace | { at: number } | null {
  const { phase, lanes, marks, range } = at;
  if (phase !== null) return neighbouringPhase(phase, by);
  const cursor = at.cursor ?? (by > 0 ? range.from : range.to);
  // A link's places are rounded.
  const hair = (range.to - range.from) * 1e-6;
  const next =
    by > 0
      ? marks.find((mark) => mark.at > cursor + hair)
      : marks.findLast((mark) => mark.at < cursor - hair);
  if (next !== undefined) return { at: next.at };
  const [first] = lanes;
  const span = marks.length === 0 ? first?.lane.spans[0] : undefined;
  return first && span ? { run: first.run, lane: first.lane, span } : null;
}

// Keys belong to what lies over the board: Escape closes that and leaves the range alone.
const covered = () => document.querySelector("dialog[open], :popover-open") !== null;

function typing(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.matches("textarea, select, input:not([type=checkbox])") || target.isContentEditable;
}

// The router's position in the history; before the board's own first view it belongs to another page.
const placeInHistory = () =>
  Number((history.state as { __TSR_index?: number } | null)?.__TSR_index);
let firstPlace = 0;

function obey(answer: Exclude<KeyAnswer, null>, gestures: BoardGestures, mine: Gestures): void {
  if ("zoom" in answer) mine.zoom(answer.zoom);
  else if ("cursor" in answer) useView.setState({ cursor: answer.cursor, byKeyboard: true });
  else if ("mark" in answer) gestures.mark(answer.mark, answer.at);
  else if ("note" in answer) useView.setState({ noteAt: { from: answer.note, to: answer.note } });
  else if ("clear" in answer) gestures.clear();
  else if ("sync" in answer) gestures.sync();
  else if ("step" in answer) gestures.step(answer.step);
  else if ("enlarge" in answer) gestures.enlarge(useView.getState().hovered);
  else if ("move" in answer || "pinChart" in answer) {
    const { hovered } = useView.getState();
    if (hovered === null) return;
    if ("move" in answer) gestures.move(hovered, answer.move);
    else gestures.pinChart(hovered);
  } else if ("compare" in answer) {
    const { line } = useView.getState();
    if (line !== null) gestures.compare(line);
  } else if (answer.history > 0 || placeInHistory() > firstPlace) history.go(answer.history);
}

const isMarked = ({ marks, pinned }: ViewState) =>
  marks.a !== null || marks.b !== null || pinned !== null;

// `on`: the charts are in sight.
export function useKeys(gestures: BoardGestures, region: Range | null, on = true): void {
  const latest = useRef({ gestures, region });
  latest.current = { gestures, region };
  useEffect(() => {
    firstPlace = placeInHistory();
    if (!on) return;
    const press = (event: KeyboardEvent) => {
      if (typing(event.target) || event.altKey || event.defaultPrevented || covered()) return;
      const view = useView.getState();
      // Commands about a range apply to the chart under the pointer.
      const mine = latest.current.gestures.of(view.hovered);
      const { range, full } = mine;
      const answer = answerKey(event.key, {
        range,
        full,
        cursor: view.cursor,
        shift: event.shiftKey,
        command: event.ctrlKey || event.metaKey,
        marked: latest.current.region !== null || isMarked(view),
        enlarged: latest.current.gestures.enlarged,
      });
      if (answer === null) return;
      event.preventDefault();
      const { region } = latest.current;
      // A note is about the region, where one is selected.
      if ("note" in answer && region !== null) useView.setState({ noteAt: region });
      else obey(answer, latest.current.gestures, mine);
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [on]);
}
