// The arrangement of a board's charts: their height, and their order, changed by dragging.
import { type RefObject, useLayoutEffect, useState, useSyncExternalStore } from "react";
import { kChartHeight } from "./chartSpec";
import { kLeastHeight, kMostHeight } from "./view";

const kHead = 24;
const kBelow = 12;
// The share of the window that what follows a chart that is alone may keep.
const kMostOfRest = 0.4;

// The height that the window leaves for a chart's picture inside `board`; beside nothing else, or with what follows it.
function roomIn(board: HTMLElement, content: Element, enlarged: boolean): number {
  const box = board.getBoundingClientRect();
  const above = box.top - content.getBoundingClientRect().top + content.scrollTop;
  const rest = (board.parentElement?.getBoundingClientRect().bottom ?? box.bottom) - box.bottom;
  const below = enlarged ? kBelow : Math.min(rest, content.clientHeight * kMostOfRest);
  return Math.floor(content.clientHeight - above - kHead - below);
}

export interface HeightAsked {
  // That of the address.
  height: number | undefined;
  // A chart fills the window.
  enlarged: boolean;
  // There is only one chart.
  only: boolean;
}

// A window at 200 %, or a telephone on its side, still shows two charts.
const kLowWindow = "(max-height: 560px)";
const kLowHeight = 100;

function useUsualHeight(): number {
  const low = useSyncExternalStore(
    (changed) => {
      const query = matchMedia(kLowWindow);
      query.addEventListener("change", changed);
      return () => query.removeEventListener("change", changed);
    },
    () => matchMedia(kLowWindow).matches,
  );
  return low ? kLowHeight : kChartHeight;
}

// The height of every chart's picture inside `board`, CSS pixels.
export function useChartHeight(
  board: RefObject<HTMLElement | null>,
  { height, enlarged, only }: HeightAsked,
): number {
  const [room, setRoom] = useState(0);
  const usual = useUsualHeight();
  const fills = enlarged || (only && height === undefined);
  useLayoutEffect(() => {
    const element = board.current;
    const content = element?.closest(".content");
    if (!fills || !element?.parentElement || !content) return;
    const measure = () => setRoom(roomIn(element, content, enlarged));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(content);
    observer.observe(element.parentElement);
    return () => observer.disconnect();
  }, [board, fills, enlarged]);
  if (!fills) return height ?? usual;
  return Math.max(enlarged ? kLeastHeight : usual, room);
}

// The list with one of its parts moved before the one that is at `before` now. Pure.
export function movedTo<T>(list: readonly T[], from: number, before: number): T[] {
  const rest = list.filter((_, i) => i !== from);
  rest.splice(before > from ? before - 1 : before, 0, ...list.slice(from, from + 1));
  return rest;
}

const kMinDrag = 4;
const kEdge = 40;

// Follows a pointer that was pressed, until it is let go; Escape and a lost pointer end it without `done`.
function follow(
  press: PointerEvent,
  to: { moved: (event: PointerEvent) => void; done: () => void; ended: () => void },
): void {
  const control = new AbortController();
  const { signal } = control;
  const end = () => {
    control.abort();
    to.ended();
  };
  const mine = (act: (event: PointerEvent) => void) => (event: PointerEvent) =>
    event.pointerId === press.pointerId && act(event);
  const letGo = mine(() => {
    to.done();
    end();
  });
  window.addEventListener("pointermove", mine(to.moved), { signal });
  window.addEventListener("pointerup", letGo, { signal });
  window.addEventListener("pointercancel", mine(end), { signal });
  const leave = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    end();
  };
  window.addEventListener("keydown", leave, { signal, capture: true });
}

// A press on the grip below a chart: its new height for as long as the pointer moves. `going`: not the first.
export function dragHeight(
  press: PointerEvent,
  now: number,
  set: (height: number, going: boolean) => void,
): void {
  if (press.button !== 0) return;
  press.preventDefault();
  let going = false;
  const moved = ({ clientY }: PointerEvent) => {
    const height = Math.round(now + clientY - press.clientY);
    set(Math.min(kMostHeight, Math.max(kLeastHeight, height)), going);
    going = true;
  };
  follow(press, { moved, done: () => {}, ended: () => {} });
}

export interface DropPlace {
  // The chart that it goes beside.
  key: string;
  after: boolean;
}

// A press on what a chart is dragged by. While it is dragged, the place that it would get is marked; let go there, it is
// dropped.
export function dragChart(press: PointerEvent, drop: (to: DropPlace) => void): void {
  const figure = (press.target as Element).closest("figure");
  const charts = figure?.parentElement;
  if (press.button !== 0 || !figure || !charts) return;
  let place: DropPlace | null = null;
  const unmark = () => {
    for (const one of charts.querySelectorAll("[data-drop]")) one.removeAttribute("data-drop");
  };
  const moved = (event: PointerEvent) => {
    const far = Math.hypot(event.clientX - press.clientX, event.clientY - press.clientY);
    if (far < kMinDrag && !figure.classList.contains("dragged")) return;
    figure.classList.add("dragged");
    scrollAtEdge(figure.closest(".content"), event.clientY);
    unmark();
    const over = document.elementFromPoint(event.clientX, event.clientY)?.closest("figure");
    const key = over?.dataset.key;
    place = null;
    if (!over || over === figure || over.parentElement !== charts || key === undefined) return;
    const { left, top, width, height } = over.getBoundingClientRect();
    const after = charts.classList.contains("single")
      ? event.clientY > top + height / 2
      : event.clientX > left + width / 2;
    place = { key, after };
    over.dataset.drop = after ? "after" : "before";
  };
  const ended = () => {
    unmark();
    figure.classList.remove("dragged");
  };
  follow(press, { moved, ended, done: () => place !== null && drop(place) });
}

function scrollAtEdge(content: Element | null, y: number): void {
  if (content === null) return;
  const { top, bottom } = content.getBoundingClientRect();
  if (y < top + kEdge) content.scrollBy(0, -12);
  else if (y > bottom - kEdge) content.scrollBy(0, 12);
}
