// One chart: title line, canvas, the names at the lines' ends as buttons, and the plot that takes gestures.
import {
  type RefObject,
  useDeferredValue,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
} from "react";
import { type Spreads, useSpreads } from "../api/spread";
import type { Charts } from "../api/useCharts";
import { Enlarge, Pin } from "../app/icons";
import { paint } from "../charts/canvas";
import { drawChart, summarise } from "../charts/chart";
import type { FontMetrics } from "../charts/font";
import type { Picture, Rect } from "../charts/marks";
import type { ChartLine, ChartPicture, ChartSpec, Margins } from "../charts/spec";
import type { ChartTheme } from "../charts/theme";
import { formatCount } from "../format/units";
import { useView } from "../state/view";
import { placeWords } from "./axis";
import { badgeText } from "./badge";
import { ChartMenu } from "./ChartMenu";
import { allLines, specOf, specParts } from "./chartSpec";
import { noteWords } from "./compare";
import { LineNames } from "./LineNames";
import { dragHeight } from "./layout";
import { spreadWords } from "./lines";
import { type ChartDef, outsideWords } from "./model";
import { type InSight, useNear } from "./near";
import { Overlay } from "./Overlay";
import { PointerValues } from "./PointerValues";
import { type Range, useSurface } from "./pointer";
import { measuredSeries } from "./question";
import type { Reader } from "./Readout";
import type { BoardChart, BoardView } from "./useBoard";

export interface FigureProps {
  chart: BoardChart;
  view: BoardView;
  // Reads the values under the pointer.
  reader: RefObject<Reader | null>;
  answer: Charts | undefined;
  width: number;
  // The height of the picture.
  height: number;
  theme: ChartTheme;
  font: FontMetrics;
  // The picture is of another range and its refinement is on the way.
  stale: boolean;
  // More of it is on the way.
  pending: boolean;
  // The chart reports here whether it is visible.
  inSight: InSight;
  // Margins of all charts; the chart reports here the margins that its own labels need.
  margins: Margins;
  ask: (key: string, margins: Margins | null) => void;
}

// Returns the drawing of a chart. A new question is on its way before its old answer is drawn on the new range.
function useDrawing(props: FigureProps): Drawing {
  const { chart, view, answer, width, height, theme, stale, pending, margins } = props;
  const { making, hidden } = view;
  const { range } = view.gesturesOf(chart);
  // biome-ignore lint/correctness/useExhaustiveDependencies: of the view only what the spec is made of
  const now = useMemo(
    (): Drawing => ({
      chart,
      answer,
      making,
      hidden,
      theme,
      range,
      stale,
      pending,
      spec: { ...specOf(chart, view, { width, height, theme, range }), margins },
    }),
    [
      chart,
      answer,
      making,
      hidden,
      theme,
      range,
      stale,
      pending,
      width,
      height,
      margins,
      ...specParts(view),
    ],
  );
  return useDeferredValue(now);
}

// Reports the margins that this chart's labels need, until it is gone.
function useOwnMargins({ chart, ask }: FigureProps, { left, right }: Margins): void {
  const { key } = chart;
  useLayoutEffect(() => ask(key, { left, right }), [ask, key, left, right]);
  useEffect(() => () => ask(key, null), [ask, key]);
}

// On the condensed axis the spread of the folded epochs, once the chart is in sight and has its lines. Heat rows have no
// place for it.
function useSpreadsOf(
  { chart, view, pending }: FigureProps,
  at: { near: boolean; spec: ChartSpec },
): Spreads | undefined {
  const { stretches } = view;
  const drawn = at.spec.kind !== "heat";
  const series = useMemo(() => measuredSeries(chart), [chart]);
  const found = useSpreads(series, { stretches, wanted: at.near && !pending && drawn });
  return drawn ? found : undefined;
}

export function ChartFigure(props: FigureProps) {
  const { chart, view, height, font, inSight } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const drawn = useDrawing(props);
  const figure = useRef<HTMLElement>(null);
  const near = useNear(figure, { key: chart.key, inSight });
  const spreads = useSpreadsOf(props, { near, spec: drawn.spec });
  const lines = useMemo(
    () => allLines(drawn.chart, drawn.answer, { ...drawn, spreads }),
    [drawn, spreads],
  );
  const picture = usePicture({ lines, spec: drawn.spec, font, near });
  useOwnMargins(props, picture.margins);
  // With no request in progress, an empty chart is the result.
  const known = !drawn.pending || lines.some((line) => hasValues(line) || line.told !== undefined);
  const draw = (of: readonly ChartLine[]) => drawChart(of, drawn.spec, font);
  usePainted(canvas, { picture: known && near ? picture : null, lines, draw });
  const { plot } = picture;
  // Small multiples have an axis each.
  const shared = picture.plots.length === 1;
  const points = pointsOf(lines);
  const notes = [...picture.notes, ...spreadWords(spreads)];
  const summary = useMemo(
    () =>
      known ? summarise(drawn.chart.def.name, lines, drawn.spec) : `${chart.def.name}. Loading.`,
    [known, lines, drawn, chart],
  );
  return (
    <figure
      ref={figure}
      data-testid="chart"
      data-key={chart.key}
      data-metric={chart.def.name}
      data-alone={chart.choice.range === undefined ? undefined : ""}
    >
      <Head
        chart={chart}
        view={view}
        unit={picture.axis?.scale.unit ?? chart.def.unit}
        badge={
          known && drawn.answer
            ? badgeText(lines, { ...view, answer: drawn.answer, points, notes })
            : "loading"
        }
        lines={lines}
      />
      <div className="plot" style={{ height }}>
        <canvas
          ref={canvas}
          className={drawn.stale ? "stale" : ""}
          role="img"
          aria-label={summary}
          data-from={drawn.answer?.from}
          data-to={drawn.answer?.to}
          data-points={points}
        />
        <LineNames chart={chart} view={view} lines={lines} labels={picture.labels} />
        {shared && <PlotSurface {...props} plot={plot} drawn={drawn.range} />}
        {view.enlarged === null && <HeightGrip view={view} height={height} />}
      </div>
    </figure>
  );
}

function HeightGrip({ view, height }: { view: BoardView; height: number }) {
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: for the pointer; the chart's menu has the number
    <div
      className="height-grip"
      title="Drag to resize all charts, double-click to reset"
      data-testid="height-grip"
      onPointerDown={({ nativeEvent }) => dragHeight(nativeEvent, height, view.setHeight)}
      onDoubleClick={() => view.setHeight(undefined)}
    />
  );
}

interface SurfaceProps extends Pick<FigureProps, "chart" | "view" | "reader"> {
  plot: Rect;
  // The range of the picture, which may be older than that of the gestures.
  drawn: Range;
}

// Takes the gestures of pointer and keyboard.
function PlotSurface({ chart, view, reader, plot, drawn }: SurfaceProps) {
  const gestures = view.gesturesOf(chart);
  const click = (at: number) => {
    const { pinned } = useView.getState();
    view.gestures.pin(pinned === null ? { at, chart: chart.key } : null);
  };
  const surface = useSurface({ ...gestures, name: chart.key, click });
  return (
    // biome-ignore lint/a11y/useSemanticElements: it is no set of fields
    <div
      className="surface"
      ref={surface}
      role="group"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard reads and zooms it
      tabIndex={0}
      aria-label={`Plot of ${chart.def.name}: arrow keys move the cursor, plus and minus zoom, Enter pins the values`}
      onFocus={(event) => reached(event.currentTarget, chart.key, gestures.range)}
      onKeyDown={(event) => {
        const { cursor } = useView.getState();
        if (event.key === "Enter" && cursor !== null) click(cursor);
      }}
      style={{ left: plot.x, top: 0, width: plot.width, height: plot.y + plot.height }}
    >
      <Overlay range={drawn} width={plot.width} region={view.region} />
      <PointerValues
        reader={reader}
        chart={chart.key}
        range={drawn}
        height={plot.height}
        place={placeWords(view.axis, drawn)}
      />
    </div>
  );
}

// By the keyboard: its values are read where the cursor is, else in the middle.
function reached(plot: HTMLElement, key: string, { from, to }: Range): void {
  if (!plot.matches(":focus-visible")) return;
  const { cursor } = useView.getState();
  useView.setState({ hovered: key, cursor: cursor ?? (from + to) / 2, byKeyboard: true });
}

// The inputs of one drawing.
interface Drawing {
  chart: BoardChart;
  answer: Charts | undefined;
  making: BoardView["making"];
  hidden: ReadonlySet<string>;
  theme: ChartTheme;
  range: Range;
  stale: boolean;
  pending: boolean;
  spec: ChartSpec;
}

const hasValues = (line: ChartLine) =>
  line.data !== null || Boolean(line.curve) || Boolean(line.pairs);

// Out of sight the picture stays unchanged.
function usePicture(at: {
  lines: readonly ChartLine[];
  spec: ChartSpec;
  font: FontMetrics;
  near: boolean;
}): ChartPicture {
  const { lines, spec, font, near } = at;
  const kept = useRef<ChartPicture>(undefined);
  return useMemo(() => {
    if (near || kept.current === undefined) kept.current = drawChart(lines, spec, font);
    return kept.current;
  }, [lines, spec, font, near]);
}

interface Painted {
  picture: Picture | null;
  lines: readonly ChartLine[];
  draw: (lines: readonly ChartLine[]) => Picture;
}

// A line belongs to the highlighted run, host or group if it is one of its lines.
const belongs = (key: string, pointed: string) => key === pointed || key.startsWith(`${pointed}/`);

// The picture, and while something is pointed at anywhere on the page, with everything else faint: painted
// without React renders.
function usePainted(canvas: RefObject<HTMLCanvasElement | null>, at: Painted): void {
  const latest = useRef(at);
  latest.current = at;
  const { picture } = at;
  useLayoutEffect(() => {
    if (canvas.current !== null && picture !== null)
      paint(canvas.current, picture, devicePixelRatio);
  }, [canvas, picture]);
  useEffect(
    () =>
      useView.subscribe((now, before) => {
        if (now.line === before.line || canvas.current === null) return;
        const { picture, lines, draw } = latest.current;
        if (picture === null) return;
        const { line } = now;
        const some = line !== null && lines.some(({ key }) => belongs(key, line));
        const shown = some
          ? draw(lines.map((one) => (belongs(one.key, line) ? one : { ...one, faint: true })))
          : picture;
        paint(canvas.current, shown, devicePixelRatio);
      }),
    [canvas],
  );
}

interface HeadProps {
  chart: BoardChart;
  view: BoardView;
  unit: string;
  badge: string;
  lines: readonly ChartLine[];
}

function Head({ chart, view, unit, badge, lines }: HeadProps) {
  const { def, second } = chart;
  const { baseline } = view.making;
  const outside = outsideWords(def);
  const told = noteWords(lines);
  const large = view.enlarged !== null;
  const titled = (of: ChartDef) =>
    of.description === "" ? of.name : `${of.name}: ${of.description}`;
  return (
    <div className="line-head">
      <h2 className="cut" title={titled(def)}>
        {def.name}
      </h2>
      <span className="unit">
        {baseline === null
          ? unit
          : `${baseline.as === "ratio" ? "÷" : `${unit} −`} ${baseline.label}`}
      </span>
      {chart.choice.pinned && (
        <button
          type="button"
          className="icon-button small"
          aria-label={`Unpin ${def.name}`}
          title="Pinned before all others; click to put it back (P)"
          data-testid="unpin"
          onClick={() => view.pinChart(chart.key)}
        >
          <Pin />
        </button>
      )}
      {chart.choice.range !== undefined && (
        <button
          type="button"
          className="alone"
          data-testid="together"
          title="Zoomed independently; click to return to the range of the other charts"
          onClick={() => view.gesturesOf(chart).reset()}
        >
          independent zoom <span aria-hidden="true">×</span>
        </button>
      )}
      {second !== null && (
        <span className="unit cut" title={titled(second)}>
          right: {second.name} {second.unit}
        </span>
      )}
      {def.left > 0 && (
        <span className="unit" title="Fewer runs on the board allow more devices">
          the busiest {manyOf(def)}
        </span>
      )}
      {outside !== null && (
        <span className="outside cut" data-testid="outside" title={outside.about}>
          {outside.text}
        </span>
      )}
      {told !== null && (
        <span className="unit cut" data-testid="told" title={told}>
          {told}
        </span>
      )}
      <span className="badge" data-testid="chart-badge" title={badge}>
        {badge}
      </span>
      <button
        type="button"
        className="icon-button small"
        aria-label={large ? "Back to all charts" : `Enlarge ${def.name}`}
        title={large ? "Back to all charts (E, Esc)" : "Enlarge to the whole window (E)"}
        data-testid="enlarge"
        onClick={() => view.enlarge(chart.key)}
      >
        <Enlarge on={large} />
      </button>
      <ChartMenu chart={chart} view={view} lines={lines} />
    </div>
  );
}

const manyOf = ({ lines, left }: ChartDef) =>
  `${lines.length} of ${formatCount(lines.length + left)}`;

const pointsOf = (lines: readonly ChartLine[]) =>
  lines.reduce(
    (sum, line) =>
      sum +
      (line.hidden || line.expression !== undefined
        ? 0
        : (line.data?.columns.points ?? line.pairs?.x.length ?? 0)),
    0,
  );
