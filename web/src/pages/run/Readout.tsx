// The footer's read-out: the cursor's moment and every chart's values there, the chart under the cursor first.
// Written into the page directly, once a frame, without React renders.
import { type RefObject, useEffect, useRef } from "react";
import { formatClock } from "../../format/time";
import { formatValue } from "../../format/units";
import { useView } from "../../state/view";

export interface Reading {
  title: string;
  unit: string;
  values: { label: string; colour: string; value: number | null }[];
}

export type Reader = (seconds: number, first: string | null) => Reading[];

export interface ReadoutProps {
  reader: RefObject<Reader | null>;
  // Seconds of one pixel, for the clock's decimals.
  resolution: number;
}

function span(className: string, text: string, colour?: string): HTMLSpanElement {
  const element = document.createElement("span");
  element.className = className;
  element.textContent = text;
  if (colour !== undefined) element.style.color = colour;
  return element;
}

function readingElement(reading: Reading, named: boolean): HTMLSpanElement {
  const group = span("read", "");
  group.append(span("read-title", reading.title));
  for (const { label, colour, value } of reading.values) {
    const number = formatValue(value, reading.unit, 4);
    group.append(span("", named ? `${label} ${number}` : number, colour));
  }
  return group;
}

export function Readout({ reader, resolution }: ReadoutProps) {
  const target = useRef<HTMLDivElement>(null);
  const step = useRef(resolution);
  step.current = Math.min(1, 10 ** Math.floor(Math.log10(Math.max(resolution, 1e-6))));
  useEffect(() => {
    let frame = 0;
    const draw = () => {
      frame = 0;
      const element = target.current;
      if (element === null) return;
      const { cursor, hovered, byKeyboard } = useView.getState();
      element.setAttribute("aria-live", byKeyboard ? "polite" : "off");
      if (cursor === null) {
        element.replaceChildren(
          span(
            "quiet",
            "Point at a chart to read it. Drag zooms, double-click shows everything again.",
          ),
        );
        return;
      }
      const moment = span("read", "cursor ");
      const clock = document.createElement("b");
      clock.textContent = formatClock(cursor, step.current);
      moment.append(clock);
      const readings = reader.current?.(cursor, hovered) ?? [];
      const several = readings.some((reading) => reading.values.length > 1);
      element.replaceChildren(
        moment,
        ...readings.map((reading, i) => readingElement(reading, several && i === 0)),
      );
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
