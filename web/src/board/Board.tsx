// The charts in two columns (one when narrow), asked for in one request at the width they are drawn in.
import {
  type RefObject,
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { asksNothing, kNoQuestion } from "../api/chartBodies";
import { type Charts, type ChartsQuestion, sameAxis, useCharts } from "../api/useCharts";
import { Boundary } from "../app/Boundary";
import { Switch } from "../app/fields";
import { Chevron } from "../app/icons";
import { Failing } from "../app/Notice";
import { useWidth } from "../app/useWidth";
import { kInsets } from "../charts/chart";
import type { FontMetrics } from "../charts/font";
import type { ChartLine, Margins } from "../charts/spec";
import type { ChartTheme } from "../charts/theme";
import { useView } from "../state/view";
import { ChartFigure } from "./ChartFigure";
import { allLines } from "./chartSpec";
import type { Baseline } from "./compare";
import { measuredOf } from "./derived";
import { useChartHeight } from "./layout";
import { computedLines, lineAt } from "./lines";
import type { ChartDef } from "./model";
import { type InSight, splitCharts } from "./near";
import { pairsAsked, seriesAsked } from "./pairs";
import type { Range } from "./pointer";
import { defsOf, kAsked, seriesOf } from "./question";
import type { Reader, Reading } from "./Readout";
import { type ChartSection, kFew } from "./sections";
import type { BoardChart, BoardView } from "./useBoard";

const kColumnGap = 28;
const kTwoColumns = 880;

export interface BoardProps {
  view: BoardView;
  theme: ChartTheme;
  font: FontMetrics;
  // Set to what reads the charts' values at a place of the axis, for the footer.
  reader: RefObject<Reader | null>;
}

interface Asked {
  charts: readonly BoardChart[];
  range: Range;
  revision: number;
  width: number;
}

function useQuestion(view: BoardView, at: Asked): ChartsQuestion {
  const { making, axis, epochs, stretches, shown } = view;
  const { charts, range, revision, width } = at;
  const series = useMemo(
    () => seriesOf(charts, { axis, making, epochs, shown, stretches }),
    [charts, making, axis, epochs, shown, stretches],
  );
  const lines = useMemo(() => computedLines(defsOf(charts), making), [charts, making]);
  const pairs = useMemo(() => pairsAsked(defsOf(charts), making), [charts, making]);
  const { live } = view;
  return {
    axis: kAsked[axis],
    stretches,
    series,
    lines,
    ...pairs,
    ...range,
    width,
    revision,
    live,
  };
}

// The answer a chart shows, and whether it answers the current question.
interface Shown {
  data: Charts | undefined;
  stale: boolean;
  pending: boolean;
}

interface AloneProps {
  chart: BoardChart;
  view: BoardView;
  width: number;
  // null: nothing any more.
  told: (key: string, shown: Shown | null) => void;
}

// Asks for a chart that has a range of its own. Draws nothing: the chart itself stays unchanged.
function Alone({ chart, view, width, told }: AloneProps) {
  const charts = useMemo(() => [chart], [chart]);
  const { range } = view.gesturesOf(chart);
  const { revision } = view;
  const answer = useCharts(useQuestion(view, { charts, range, revision, width }));
  const { data } = answer;
  const stale = useStale(data, { range, zoomed: true, fetching: answer.old });
  const pending = answer.fetching || data === undefined;
  const { key } = chart;
  useLayoutEffect(() => told(key, { data, stale, pending }), [told, key, data, stale, pending]);
  useEffect(() => () => told(key, null), [told, key]);
  return null;
}

type ShownAlone = ReadonlyMap<string, Shown>;

function useAlone() {
  const [alone, setAlone] = useState<ShownAlone>(new Map());
  const told = useCallback(
    (key: string, shown: Shown | null) =>
      setAlone((old) => {
        const next = new Map(old);
        if (shown === null) next.delete(key);
        else next.set(key, shown);
        return next;
      }),
    [],
  );
  return [alone, told] as const;
}

// Returns true if an answer contains the chart's lines, for any range.
function useHas(data: Charts | undefined): (chart: BoardChart) => boolean {
  return useMemo(() => {
    const known = new Set(data && seriesAsked(data.asked));
    return ({ def }) => def.lines.flatMap(measuredOf).some(({ series }) => known.has(series));
  }, [data]);
}

interface Sharing {
  shownFor: (chart: BoardChart) => Shown;
  answers: readonly [Charts | undefined, Charts | undefined];
  // Nothing is there to be drawn.
  empty: boolean;
  error: Error | null;
  retry: () => void;
}

// The data of the charts that share the board's range. Those in sight are one question; the others', on a board of
// many, waits for its answer.
function useSharing(
  view: BoardView,
  at: { charts: readonly BoardChart[]; inSight: InSight; width: number },
): Sharing {
  const { charts, inSight, width } = at;
  const { gestures, zoomedIn, making, axis } = view;
  const { range } = gestures;
  // As it is when there is another question: scrolling asks for nothing.
  // biome-ignore lint/correctness/useExhaustiveDependencies: whenever there is another question
  const { near, far } = useMemo(() => {
    const mine = charts.filter(({ choice }) => choice.range === undefined);
    return splitCharts(mine, inSight);
  }, [charts, range, width, making, axis, inSight]);
  const common = { range, revision: view.revision, width };
  const first = useCharts(useQuestion(view, { ...common, charts: near }));
  const later = useQuestion(view, { ...common, charts: far });
  const ready = !first.old && first.data !== undefined;
  const asked = useRef(kNoQuestion);
  if (ready) asked.current = later;
  const second = useCharts(asked.current);
  // While waiting, an answer for another axis is not used.
  const rest = second.data && sameAxis(second.data.asked, later) ? second.data : undefined;
  const waits = !asksNothing(later) && (!ready || second.old);
  const staleFirst = useStale(first.data, { range, zoomed: zoomedIn, fetching: first.old });
  const staleRest = useStale(rest, { range, zoomed: zoomedIn, fetching: waits });
  const [hasFirst, hasRest] = [useHas(first.data), useHas(rest)];
  const isFar = useMemo(() => new Set(far.map(({ key }) => key)), [far]);
  const shownFor = (chart: BoardChart): Shown => {
    const pending = first.fetching || first.data === undefined;
    if (!isFar.has(chart.key)) {
      // It has come into sight since.
      if (!hasFirst(chart) && hasRest(chart)) return { data: rest, stale: true, pending: true };
      return { data: first.data, stale: staleFirst, pending };
    }
    const late = waits || second.fetching;
    if (hasRest(chart)) return { data: rest, stale: staleRest, pending: late };
    return { data: hasFirst(chart) ? first.data : undefined, stale: true, pending: late };
  };
  return {
    shownFor,
    answers: [first.data, rest],
    empty: first.data === undefined,
    error: first.error ?? second.error,
    retry: first.error ? first.retry : second.retry,
  };
}

// Until its own answer arrives, a chart shows the board's data.
function shownOf(chart: BoardChart, all: Shown, alone: ShownAlone): Shown {
  if (chart.choice.range === undefined) return all;
  const mine = alone.get(chart.key);
  return mine?.data === undefined ? { data: all.data, stale: true, pending: true } : mine;
}

export function Board({ view, theme, font, reader }: BoardProps) {
  const [ref, width] = useWidth();
  const { enlarged } = view;
  const charts = useMemo(
    () => (enlarged === null ? view.drawn : [enlarged]),
    [enlarged, view.drawn],
  );
  const { height: asked } = view.search;
  const only = view.charts.length === 1;
  const height = useChartHeight(ref, { height: asked, enlarged: enlarged !== null, only });
  const columns = width >= kTwoColumns && charts.length > 1 ? 2 : 1;
  const each = Math.floor((width - kColumnGap * (columns - 1)) / columns);
  const [margins, ask] = useMargins();
  const plotWidth = Math.max(0, each - margins.left - margins.right);
  const devicePixels = Math.min(8192, Math.round(plotWidth * devicePixelRatio));
  const [inSight] = useState<InSight>(() => new Map());
  const sharing = useSharing(view, { charts, inSight, width: devicePixels });
  const [alone, told] = useAlone();
  const shownFor = (chart: BoardChart) => shownOf(chart, sharing.shownFor(chart), alone);
  const { error, retry } = sharing;
  useReader(reader, { charts, view, shownFor, answers: [...sharing.answers, alone], theme });
  const drawing = { view, reader, width: each, height, theme, font, inSight, margins, ask };
  const rowOf = (some: readonly BoardChart[]) => (
    <div className={columns === 1 ? "charts single" : "charts"}>
      {width > 0 &&
        some.map((chart) => {
          const { data, stale, pending } = shownFor(chart);
          const shown = { answer: data, stale, pending };
          return (
            <Boundary key={chart.key} what={`The chart of ${chart.def.name}`} again={chart}>
              <ChartFigure {...drawing} {...shown} chart={chart} />
            </Boundary>
          );
        })}
    </div>
  );

  return (
    <div ref={ref} className={enlarged === null ? "" : "enlarged"}>
      {error && sharing.empty ? (
        <Failing error={error} retry={retry} />
      ) : (
        <>
          {error && (
            <p className="quiet" role="alert">
              {error.message} The charts are from before.{" "}
              <button type="button" className="link" onClick={retry}>
                Try again
              </button>
            </p>
          )}
          {enlarged === null && <ChartSearch view={view} />}
          {(enlarged === null ? view.sections : null)?.map((section) => (
            <section key={section.key} aria-label={section.name}>
              <SectionHead section={section} view={view} />
              {section.open && rowOf(section.charts)}
            </section>
          )) ?? rowOf(charts)}
          {charts.map(
            (chart) =>
              chart.choice.range !== undefined && (
                <Alone key={chart.key} chart={chart} view={view} width={devicePixels} told={told} />
              ),
          )}
        </>
      )}
    </div>
  );
}

// Above many charts: finds some of them, and puts all below headings or not.
function ChartSearch({ view }: { view: BoardView }) {
  const { find = "", sections } = view.search;
  if (view.charts.length <= kFew && sections === undefined && find === "") return null;
  return (
    <div className="chart-search">
      <input
        type="search"
        placeholder="Find a chart"
        aria-label="Find a chart"
        data-testid="chart-search"
        value={find}
        onChange={(event) => view.findCharts(event.currentTarget.value)}
      />
      <Switch label="Sections" on={view.sections !== null} set={view.setSections} />
      <span className="quiet" aria-live="polite">
        {view.drawn.length === 0 && find !== ""
          ? "No matches"
          : `${view.drawn.length} of ${view.charts.length} charts shown`}
      </span>
    </div>
  );
}

function SectionHead({ section, view }: { section: ChartSection; view: BoardView }) {
  const { key, name, charts, open } = section;
  return (
    <h2 className="chart-section">
      <button
        type="button"
        aria-expanded={open}
        data-testid="chart-section"
        onClick={() => view.foldSection(key)}
      >
        <Chevron open={open} />
        {name}
        <span className="count">{charts.length}</span>
      </button>
    </h2>
  );
}

const kLeast: Margins = { left: kInsets.left, right: kInsets.right };

// The margins that all charts share: those of the one whose labels are the longest. Charts ask; null: it is gone.
function useMargins() {
  const [asked, setAsked] = useState<ReadonlyMap<string, Margins>>(new Map());
  const ask = useCallback(
    (key: string, margins: Margins | null) =>
      setAsked((old) => {
        const before = old.get(key);
        if (margins?.left === before?.left && margins?.right === before?.right) return old;
        const next = new Map(old);
        if (margins === null) next.delete(key);
        else next.set(key, margins);
        return next;
      }),
    [],
  );
  const most = (side: keyof Margins) =>
    Math.max(kLeast[side], ...[...asked.values()].map((one) => one[side]));
  const [left, right] = [most("left"), most("right")];
  return [useMemo((): Margins => ({ left, right }), [left, right]), ask] as const;
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

const kLowest = Number.NEGATIVE_INFINITY;

// The greatest first.
function readingOf(
  def: ChartDef,
  lines: readonly ChartLine[],
  at: { x: number; baseline: Baseline | null },
): Reading {
  return {
    title: def.name,
    unit: at.baseline?.as === "ratio" ? "" : def.unit,
    values: lines
      .filter((line) => !line.hidden && (line.data !== null || line.curve || line.pairs))
      .map((line) => ({
        key: line.key,
        label: line.label,
        colour: line.colour,
        value: lineAt(line, at.x),
      }))
      .sort((a, b) => (b.value ?? kLowest) - (a.value ?? kLowest)),
  };
}

function useReader(
  reader: RefObject<Reader | null>,
  at: {
    charts: readonly BoardChart[];
    view: BoardView;
    shownFor: (chart: BoardChart) => Shown;
    // The answers that `shownFor` draws from.
    answers: readonly [unknown, unknown, unknown];
    theme: ChartTheme;
  },
): void {
  const { charts, view, shownFor, answers, theme } = at;
  const { making, hidden } = view;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the answers stand for the function of them
  useEffect(() => {
    const made = new Map<string, ChartLine[]>();
    const linesOfChart = (chart: BoardChart) => {
      const known = made.get(chart.key);
      if (known !== undefined) return known;
      const lines = allLines(chart, shownFor(chart).data, { making, theme, hidden });
      made.set(chart.key, lines);
      return lines;
    };
    reader.current = (x, first, only = false) =>
      charts
        .filter(({ key }) => !only || key === first)
        .toSorted((a, b) => Number(b.key === first) - Number(a.key === first))
        .flatMap((chart) => {
          const { def, second } = chart;
          const lines = linesOfChart(chart);
          const place = { x, baseline: making.baseline };
          const side = (which: 0 | 1) => lines.filter(({ axis = 0 }) => axis === which);
          const left = readingOf(def, side(0), place);
          return second === null ? [left] : [left, readingOf(second, side(1), place)];
        });
    // Read-outs that remain on the screen are computed again.
    useView.setState(({ readings }) => ({ readings: readings + 1 }));
  }, [reader, charts, ...answers, making, theme, hidden]);
}
