// The footer's read-out: the cursor's moment and every chart's values there, the chart under the cursor first.
// Written into the page directly, once a frame, without React renders.
import { type RefObject, useEffect, useRef } from "react";
import { formatValue } from "../format/units";
import { useView } from "../state/view";

export interface Reading {
  title: string;
  unit: string;
  values: { key: string; label: string; colour: string; value: number | null }[];
}

// At a place of the board's axis; `only`: of the first chart alone.
export type Reader = (x: number, first: string | null, only?: boolean) => Reading[];

export interface ReadoutProps {
  reader: RefObject<Reader | null>;
  // A place of the axis in words.
  place: (x: number) => string;
}

function span(className: string, text: string, colour?: string): HTMLSpanElement {
  const element = document.createElement("span");
  element.className = className;
  element.textContent = text;
  if (colour !== undefined) element.style.color = colour;
  return element;
}

// The content of the footer. While the lines and their order stay the same, only the numbers are rewritten.
interface Written {
  shape: string;
  clock: Text;
  numbers: Text[];
}

function numberOf(value: Reading["values"][number], unit: string): string {
  return formatValue(value.value, unit, 4);
}

const shapeOf = (readings: readonly Reading[]) =>
  readings
    .map(({ title, values }) =>
      [title, ...values.map(({ label, colour }) => `${label}\u0000${colour}`)].join("\u0001"),
    )
    .join("\u0002");

function build(element: HTMLElement, readings: readonly Reading[]): Written {
  const several = readings.some((reading) => reading.values.length > 1);
  const moment = span("read", "cursor ");
  const clock = document.createTextNode("");
  moment.appendChild(document.createElement("b")).append(clock);
  const numbers: Text[] = [];
  const groups = readings.map(({ title, values }, i) => {
    const group = span("read", "");
    group.append(span("read-title", title));
    for (const { label, colour } of values) {
      const number = document.createTextNode("");
      numbers.push(number);
      const named = span("", several && i === 0 ? `${label} ` : "", colour);
      named.append(number);
      group.append(named);
    }
    return group;
  });
  element.replaceChildren(moment, ...groups);
  return { shape: shapeOf(readings), clock, numbers };
}

function write(text: Text | undefined, words: string): void {
  if (text !== undefined && text.data !== words) text.data = words;
}

const kMaxValues = 40;

// As many readings as the footer has room for on the widest screen; a click pins the rest.
function inSight(readings: readonly Reading[]): Reading[] {
  let room = kMaxValues;
  const shown: Reading[] = [];
  for (const reading of readings) {
    if (room <= 0) break;
    shown.push({ ...reading, values: reading.values.slice(0, room) });
    room -= reading.values.length;
  }
  return shown;
}

export function Readout({ reader, place }: ReadoutProps) {
  const target = useRef<HTMLDivElement>(null);
  const latest = useRef(place);
  latest.current = place;
  useEffect(() => {
    let frame = 0;
    let written: Written | null = null;
    const draw = () => {
      frame = 0;
      const element = target.current;
      if (element === null) return;
      const { cursor, hovered, byKeyboard } = useView.getState();
      element.setAttribute("aria-live", byKeyboard ? "polite" : "off");
      if (cursor === null) {
        written = null;
        element.replaceChildren(
          span("quiet", "Hover for values. Drag to zoom, double-click to reset"),
        );
        return;
      }
      const readings = inSight(reader.current?.(cursor, hovered) ?? []);
      if (written?.shape !== shapeOf(readings)) written = build(element, readings);
      write(written.clock, latest.current(cursor));
      let i = 0;
      for (const { values, unit } of readings)
        for (const value of values) write(written.numbers[i++], numberOf(value, unit));
    };
    draw();
    const stop = useView.subscribe(() => {
      frame ||= requestAnimationFrame(draw);
    });
    return () => {
      stop();
      cancelAnimationFrame(frame);
    };
  }, [reader]);
  return <div className="readout" ref={target} data-testid="footer-cursor" />;
}
