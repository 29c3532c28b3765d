// Thousands of metrics in a panel that scrolls, of which only the rows in sight are on the page.
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useLayoutEffect, useRef, useState } from "react";
import type { MetricRow } from "./sections";

export interface InSightProps {
  rows: readonly MetricRow[];
  row: (row: MetricRow) => ReactNode;
}

const kRow = 30;

export function InSight({ rows, row }: InSightProps) {
  const list = useRef<HTMLDivElement>(null);
  const [margin, setMargin] = useState(0);
  // The place of the list in the panel.
  useLayoutEffect(() => {
    const [element, panel] = [list.current, list.current?.closest(".panel")];
    if (!element || !panel) return;
    const top = element.getBoundingClientRect().top - panel.getBoundingClientRect().top;
    setMargin(Math.round(top + panel.scrollTop));
  });
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => list.current?.closest(".panel") ?? null,
    estimateSize: () => kRow,
    getItemKey: (i) => rows[i]?.key ?? i,
    scrollMargin: margin,
    overscan: 12,
  });
  return (
    <div ref={list} style={{ position: "relative", height: virtual.getTotalSize() }}>
      {virtual.getVirtualItems().map(({ key, index, start }) => (
        <div key={key} className="placed" style={{ top: start - margin }}>
          {row(rows[index] as MetricRow)}
        </div>
      ))}
    </div>
  );
}
