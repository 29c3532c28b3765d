// The values of the chart under the pointer, beside the cursor; the footer has those of every chart. Written into the page
// directly, once a frame, without React renders. Stays inside the plot's height, so that nothing moves for it.
import { type RefObject, useEffect, useRef } from "react";
import { fittingNames } from "../format/text";
import { formatValue } from "../format/units";
import { useView } from "../state/view";
import type { Range } from "./pointer";
import type { Reader, Reading } from "./Readout";

export interface PointerValuesProps {
  reader: RefObject<Reader | null>;
  // The chart's key.
  chart: string;
  range: Range;
  // The plot's, CSS pixels.
  height: number;
  // A place of the axis in words.
  place: (x: number) => string;
}

const kRow = 16;
const kPadding = 12;
const kLongestName = 24; // letters

function cell(className: string, text: string, colour = ""): HTMLSpanElement {
  const element = document.createElement("span");
  element.className = className;
  element.textContent = text;
  element.style.color = colour;
  return element;
}

// Fills at most `rows` rows: the greatest values, and how many more there are.
function content(readings: readonly Reading[], rows: number): HTMLElement[] {
  const all = readings.flatMap(({ values, unit }) =>
    values.flatMap(({ label, colour, value }) =>
      value === null ? [] : [{ label, colour, text: formatValue(value, unit, 4) }],
    ),
  );
  if (all.length === 0) return [cell("quiet moment", "No values here")];
  const shown = all.length <= rows ? all : all.slice(0, Math.max(1, rows - 1));
  const names = fittingNames(
    all.map(({ label }) => label),
    kLongestName,
  );
  const cells = shown.flatMap(({ colour, text }, i) => [
    cell("cut", names[i] ?? "", colour),
    cell("number", text),
  ]);
  const more = all.length - shown.length;
  return more === 0 ? cells : [...cells, cell("quiet moment", `and ${more} more`)];
}

export function PointerValues(props: PointerValuesProps) {
  const { chart, reader } = props;
  const tip = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  latest.current = props;
  useEffect(() => {
    let frame = 0;
    const draw = () => {
      frame = 0;
      const element = tip.current;
      if (element === null) return;
      const { cursor, hovered, pinned, drag } = useView.getState();
      const { range, height, place } = latest.current;
      const part = cursor === null ? -1 : (cursor - range.from) / (range.to - range.from);
      const on = hovered === chart && pinned === null && drag === null && part >= 0 && part <= 1;
      element.style.visibility = on ? "visible" : "hidden";
      if (!on || cursor === null) return;
      const rows = Math.floor((height - kPadding) / kRow) - 1;
      const readings = reader.current?.(cursor, chart, true) ?? [];
      element.replaceChildren(cell("moment", place(cursor)), ...content(readings, rows));
      // To the side where there is more room.
      const left = part < 0.5;
      element.style.left = left ? `calc(${part * 100}% + 10px)` : "auto";
      element.style.right = left ? "auto" : `calc(${(1 - part) * 100}% + 10px)`;
    };
    const stop = useView.subscribe((now, before) => {
      if (now.hovered === chart || before.hovered === chart) frame ||= requestAnimationFrame(draw);
    });
    return () => {
      stop();
      cancelAnimationFrame(frame);
    };
  }, [chart, reader]);
  return (
    <div className="pointer-values" ref={tip} aria-hidden="true" data-testid="pointer-values" />
  );
}
