// Tracks which charts are visible or nearly so. They are requested first, and the others are not drawn.
import { type RefObject, useEffect, useState } from "react";
import type { BoardChart } from "./useBoard";

// So far beyond the edge a chart counts as in sight, CSS pixels.
const kMargin = 300;
// So many charts are one question, wherever they are.
const kFewCharts = 8;

// The visibility of every chart by key, as far as known. Read when a question is made; nothing is drawn from it.
export type InSight = Map<string, boolean>;

export function useNear(
  element: RefObject<HTMLElement | null>,
  { key, inSight }: { key: string; inSight: InSight },
): boolean {
  const [near, setNear] = useState(true);
  useEffect(() => {
    const { current } = element;
    if (current === null) return;
    const margin = `${kMargin}px`;
    // The scrolling element is not the window, so a margin of the root alone would be cut off.
    const options = { rootMargin: margin, scrollMargin: margin } as IntersectionObserverInit;
    const observer = new IntersectionObserver((entries) => {
      const now = entries.at(-1)?.isIntersecting ?? true;
      inSight.set(key, now);
      setNear(now);
    }, options);
    observer.observe(current);
    return () => {
      observer.disconnect();
      inSight.delete(key);
    };
  }, [element, key, inSight]);
  return near;
}

// Before anything is known the first ones are near. Pure.
export function splitCharts(
  charts: readonly BoardChart[],
  inSight: ReadonlyMap<string, boolean>,
): { near: readonly BoardChart[]; far: readonly BoardChart[] } {
  const isNear = ({ key }: BoardChart, i: number) => inSight.get(key) ?? i < kFewCharts;
  const near = charts.filter(isNear);
  if (charts.length <= kFewCharts || near.length === 0) return { near: charts, far: [] };
  return { near, far: charts.filter((chart, i) => !isNear(chart, i)) };
}
