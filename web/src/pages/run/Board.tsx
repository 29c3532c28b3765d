// The charts in two columns (one when narrow), asked for in one request at the width they are drawn in.
import { type RefObject, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { type Charts, useCharts } from "../../api/useCharts";
import { Failing } from "../../app/Notice";
import { kInsets } from "../../charts/chart";
import type { FontMetrics } from "../../charts/font";
import { valueAt } from "../../charts/line";
import type { ChartTheme } from "../../charts/theme";
import { useView } from "../../state/view";
import { ChartFigure, linesOf } from "./ChartFigure";
import type { ChartDef } from "./model";
import type { Gestures } from "./pointer";
import type { Reader } from "./Readout";

const kColumnGap = 28;
const kTwoColumns = 880;

export interface BoardProps {
  charts: ChartDef[];
  originNs: bigint;
  gestures: Gestures;
  // The address holds a range: pictures of another one are stale.
  zoomed: boolean;
  revision: number;
  theme: ChartTheme;
  font: FontMetrics;
  // Set to what reads the charts' values at a moment, for the footer.
  reader: RefObject<Reader | null>;
}

// The element's width, at once and then, settled, whenever it changes.
export function useWidth() {
  const ref = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = ref.current;
    if (element === null) return;
    setWidth(element.clientWidth);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const observer = new ResizeObserver(() => {
      clearTimeout(timer);
      timer = setTimeout(() => setWidth(element.clientWidth), 60);
    });
    observer.observe(element);
    return () => {
      clearTimeout(timer);
      observer.disconnect();
    };
  }, []);
  return [ref, width] as const;
}

export function Board({
  charts,
  originNs,
  gestures,
  zoomed,
  revision,
  theme,
  font,
  reader,
}: BoardProps) {
  const [ref, width] = useWidth();
  const columns = width >= kTwoColumns && charts.length > 1 ? 2 : 1;
  const each = Math.floor((width - kColumnGap * (columns - 1)) / columns);
  const plotWidth = Math.max(0, each - kInsets.left - kInsets.right);
  const series = useMemo(
    () =>
      [...new Set(charts.flatMap((chart) => chart.lines.map((line) => line.series)))].sort(
        (a, b) => a - b,
      ),
    [charts],
  );
  const { range } = gestures;
  const devicePixels = Math.min(8192, Math.round(plotWidth * devicePixelRatio));
  const answer = useCharts({ series, originNs, ...range, width: devicePixels, revision });
  const stale = useStale(answer.data, { range, zoomed, fetching: answer.isPlaceholderData });
  useReader(reader, { charts, data: answer.data, theme });

  return (
    <div ref={ref}>
      {answer.error && !answer.data ? (
        <Failing error={answer.error} retry={() => void answer.refetch()} />
      ) : (
        <div className={columns === 1 ? "charts single" : "charts"}>
          {width > 0 &&
            charts.map((chart) => (
              <ChartFigure
                key={chart.name}
                chart={chart}
                charts={answer.data}
                width={each}
                theme={theme}
                font={font}
                gestures={gestures}
                stale={stale}
              />
            ))}
        </div>
      )}
    </div>
  );
}

// A picture that merely grows at its live end is not stale, one of another range is.
function useStale(
  data: Charts | undefined,
  at: { range: { from: number; to: number }; zoomed: boolean; fetching: boolean },
): boolean {
  if (data === undefined || !at.fetching) return false;
  const { from, to } = at.range;
  const slack = at.zoomed ? 0 : (to - from) * 0.2;
  return Math.abs(data.from - from) > slack || Math.abs(data.to - to) > slack;
}

function useReader(
  reader: RefObject<Reader | null>,
  at: { charts: ChartDef[]; data: Charts | undefined; theme: ChartTheme },
): void {
  const { charts, data, theme } = at;
  const hidden = useView((view) => view.hidden);
  useEffect(() => {
    const lines = charts.map((chart) => ({
      chart,
      lines: linesOf(chart, data, { theme, hidden }),
    }));
    reader.current = (seconds, first) =>
      lines
        .toSorted((a, b) => Number(b.chart.name === first) - Number(a.chart.name === first))
        .map(({ chart, lines: drawn }) => ({
          title: chart.name,
          unit: chart.unit,
          values: drawn
            .filter((line) => line.data !== null && !line.hidden)
            .map((line) => ({
              label: line.label,
              colour: line.colour,
              value: line.data === null ? null : valueAt(line.data, seconds),
            }))
            .sort(
              (a, b) =>
                (b.value ?? Number.NEGATIVE_INFINITY) - (a.value ?? Number.NEGATIVE_INFINITY),
            ),
        }));
  }, [reader, charts, data, theme, hidden]);
}
