// Everything a board shows of its runs, gathered from server, event stream and address; and how a choice goes
// back into the address.
import { useEffect, useLayoutEffect, useMemo, useRef } from "react";
import { kNoQuestion } from "../api/chartBodies";
import { useClocks } from "../api/clocks";
import { condense, type Stretch } from "../api/condensed";
import { type RunEpochs, useEpochs } from "../api/epochs";
import { useExplanations } from "../api/explain";
import { regionBegins, useInterests } from "../api/interest";
import { useLive } from "../api/live";
import { useHappenings, useMarks } from "../api/notes";
import { useMetrics, usePhases } from "../api/queries";
import type { RunDetail } from "../api/types";
import { useCharts } from "../api/useCharts";
import type { Span } from "../charts/lanes";
import { nanos, nanosBetween } from "../format/nanos";
import { clearView, useView } from "../state/view";
import {
  type ChartChoice,
  type ChoiceChange,
  choiceText,
  parseChoice,
  plainChoice,
  together,
} from "./choice";
import { clocksOf } from "./clocks";
import { colouredBy } from "./colouring";
import { isExpression, problemsOf } from "./derived";
import { findPhase, laneRows, profiledWindows } from "./laneRows";
import { type DropPlace, movedTo } from "./layout";
import { baselineOf, type Making } from "./lines";
import { buildCharts, type ChartDef, defaultCharts, type ShownRun, shownRun } from "./model";
import { axisDef, axisQuestion, withExtremes } from "./pairs";
import { type BoardGestures, type Gestures, moved, type Range, stepFrom } from "./pointer";
import {
  type BoardChart,
  fullOf,
  makingOf,
  marksOf,
  notedWindows,
  originOf,
  resolve,
} from "./resolve";
import { kFew, sectioned } from "./sections";
import {
  type Axis,
  kNoPlace,
  type Pin,
  parsePhase,
  parsePin,
  parseRegion,
  pinText,
  regionText,
  rounded,
  roundedPlace,
  type ViewSearch,
} from "./view";

export type { BoardChart } from "./resolve";

// undefined takes a part out of the address.
export type ViewChange = { [Part in keyof ViewSearch]?: ViewSearch[Part] | undefined };

// `replace`: no step of its own in the history, where Back is the view before.
type Change = (part: (old: ViewSearch) => ViewChange, replace: boolean) => void;

export interface BoardInput {
  // In the order of the selection, each with the place in the palette.
  runs: readonly RunDetail[];
  slots: readonly number[];
  search: ViewSearch;
  change: Change;
  // Nothing of it is on the screen: it publishes no places.
  unseen?: boolean;
}

// The shown runs that lack the metric or event of the axis or its zero, once the server has listed theirs.
function runsWithout(
  shown: readonly ShownRun[],
  at: {
    axis: Axis;
    align: string | undefined;
    epochs: Readonly<Record<string, RunEpochs>>;
    stretches: readonly Stretch[] | null;
  },
): string[] {
  const { axis, align, epochs, stretches } = at;
  const index = Number(align?.slice("epoch:".length));
  const has = (known: RunEpochs) => {
    if (axis === "epoch") return known.epochs.length > 0;
    if (axis === "condensed") return stretches === null || stretches.length > 0;
    if (align === "step") return known.first_step_ns !== null;
    return align === undefined || known.epochs.some((epoch) => epoch.index === index);
  };
  return shown.flatMap(({ id, name }) => {
    const known = epochs[id];
    return known === undefined || has(known) ? [] : [name];
  });
}

// The same array as long as its content is the same, so that pictures are not redrawn at every answer.
export function useStable<T>(value: T): T {
  const kept = useRef({ text: "", value });
  const text = JSON.stringify(value, bigAsText);
  if (kept.current.text !== text) kept.current = { text, value };
  return kept.current.value;
}

// The same for the parts of a list, each by its key: a chart is not redrawn because another has changed.
function useStableList<T extends { key: string }>(list: readonly T[]): readonly T[] {
  const kept = useRef<{ texts: Map<string, string>; list: readonly T[] }>({
    texts: new Map(),
    list: [],
  });
  const before = new Map(kept.current.list.map((one) => [one.key, one]));
  const texts = new Map(list.map((one) => [one.key, JSON.stringify(one, bigAsText)]));
  const next = list.map((one) => {
    const old = before.get(one.key);
    return old !== undefined && kept.current.texts.get(one.key) === texts.get(one.key) ? old : one;
  });
  const same =
    next.length === kept.current.list.length &&
    next.every((one, i) => one === kept.current.list[i]);
  if (!same) kept.current = { texts, list: next };
  return kept.current.list;
}

const bigAsText = (_: string, part: unknown) => (typeof part === "bigint" ? String(part) : part);

function useMaking(
  shown: readonly ShownRun[],
  search: ViewSearch,
  { axis, x }: { axis: Axis; x: ChartDef | null },
): Making {
  const { smooth, group, singles, base, compare } = search;
  return useMemo(
    () => makingOf(shown, { smooth, group, singles, base, compare }, { axis, x }),
    [shown, smooth, group, singles, base, compare, axis, x],
  );
}

// The metric or expression of the axis, with the range of its values once it is known.
function useMetricAxis(
  { axis, shown }: Pick<ReturnType<typeof useShownRuns>, "axis" | "shown">,
  { defs, revision }: Pick<ReturnType<typeof useMeasured>, "defs" | "revision">,
  { xmetric }: ViewSearch,
): ChartDef | null {
  const x = useMemo(
    () => (axis === "metric" ? axisDef(xmetric, { defs, runs: shown }) : null),
    [axis, xmetric, defs, shown],
  );
  const question = useMemo(() => axisQuestion(x, shown), [x, shown]);
  const { data } = useCharts(question === null ? kNoQuestion : { ...question, revision });
  const known = useMemo(
    () => (x && question && data ? withExtremes(x, data) : x),
    [x, question, data],
  );
  return useStable(known);
}

function useGestures(at: { full: Range; search: ViewSearch }, change: Change): Gestures {
  const { full, search } = at;
  const from = search.from ?? full.from;
  const to = search.to ?? full.to;
  const range = useMemo(() => ({ from, to }), [from, to]);
  const zoom = (wanted: Range | null, going = false) =>
    change(
      () => ({
        ...(wanted === null ? { from: undefined, to: undefined } : rounded(wanted)),
      }),
      going,
    );
  const select = (wanted: Range | null) => {
    if (wanted === null && search.sel === undefined) return;
    change(() => ({ sel: regionText(wanted) }), false);
  };
  return { range, full, zoom, select, reset: () => zoom(null) };
}

// Pin and marks: on the screen at once, and in the address.
function places({ full, change }: { full: Range; change: Change }) {
  const near = (at: number) => roundedPlace(at, full);
  return {
    // A pin has no step of its own in the history: the clicks of a double-click pin and let go.
    pin: (pin: Pin | null) => {
      const now = pin && { ...pin, at: near(pin.at) };
      useView.setState({ pinned: now?.at ?? null, pinnedBy: now?.chart ?? null });
      change(() => ({ pin: pinText(now) }), true);
    },
    mark: (which: "a" | "b", at: number) => {
      useView.setState(({ marks }) => ({ marks: { ...marks, [which]: near(at) } }));
      change(() => ({ [which]: near(at) }), false);
    },
    clear: () => {
      useView.setState({ marks: { a: null, b: null }, pinned: null, pinnedBy: null });
      change(
        () => ({ a: undefined, b: undefined, pin: undefined, sel: undefined, phase: undefined }),
        false,
      );
    },
  };
}

// Publishes the pin and the marks of the address to subscribers that draw without React renders.
function usePlaces({ search, unseen = false }: BoardInput): void {
  const { x = "workload", xmetric, align, a, b, pin } = search;
  // A place on one axis means nothing on another.
  // biome-ignore lint/correctness/useExhaustiveDependencies: whenever the axis is another one
  useEffect(() => (unseen ? undefined : clearView), [x, xmetric, align]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another axis has cleared all of them
  useEffect(() => {
    if (unseen) return;
    const found = parsePin(pin);
    useView.setState({
      marks: { a: a ?? null, b: b ?? null },
      pinned: found?.at ?? null,
      pinnedBy: found?.chart ?? null,
    });
  }, [a, b, pin, x, xmetric, align]);
}

const kNone: readonly string[] = [];
const kNoRuns: readonly RunDetail[] = [];
const kColumns = 1000; // a usual chart has about as many
const kNoPieces: readonly Stretch[] = [];
const kNoProblems: ReturnType<typeof problemsOf> = [];
// A prefix of a run's id, long enough to be unique on a board.
const kShortId = 12;

// `undefined` would stay in a choice; the key has to go.
function defined(choice: ChoiceChange): ChartChoice {
  return Object.fromEntries(
    Object.entries(choice).filter(([, value]) => value !== undefined),
  ) as unknown as ChartChoice;
}

const switched = (keys: readonly string[], key: string): string[] =>
  keys.includes(key) ? keys.filter((other) => other !== key) : [...keys, key];

// The pieces of the condensed axis; empty: another axis, more than one run, or nothing in it is alike; null: not known
// yet.
function useStretches(
  shown: readonly ShownRun[],
  epochs: Readonly<Record<string, RunEpochs>>,
  wanted: boolean,
): readonly Stretch[] | null {
  const run = wanted && shown.length === 1 ? shown[0] : undefined;
  const [found] = useExplanations(run === undefined ? [] : [run.id]);
  const known = run && epochs[run.id];
  const pieces = known && found && condense({ lanes: found.epochs, epochs: known, ...run });
  return useStable(pieces ?? (run === undefined || found === null ? [] : null));
}

// The middle of a run's seen time, seconds since 1970, and the seconds of a pixel column of the chart that shows least.
function seenTime(
  { origin, start, end }: ShownRun,
  seen: { from: number | undefined; to: number | undefined; metric: string[] | undefined },
): { at: number; pixel: number } {
  const { from = start, to = end, metric = [] } = seen;
  const middle = Math.min(Math.max((from + to) / 2, start), end);
  const own = metric.flatMap((word) => parseChoice(word).range ?? []);
  const least = Math.min(to - from, ...own.map((range) => range.to - range.from));
  const at = nanosBetween(origin, nanos(0)) / 1e9 + middle;
  return { at, pixel: Math.max(least, 1e-6) / kColumns };
}

// The runs as they stand on the axis.
function useShownRuns({ runs, slots, search }: BoardInput) {
  const { x: axis = "workload", align } = search;
  const onTime = axis === "workload" || axis === "run" || axis === "wall";
  const epochs = useEpochs(
    runs.map((run) => run.id),
    axis === "epoch" || axis === "condensed" || (onTime && align !== undefined),
  );
  const clocks = useClocks(onTime ? runs : kNoRuns);
  const { from, to, metric, clocks: raw } = search;
  const placed = useMemo(
    () =>
      runs.map((run, i) => {
        const origin = originOf(run, { axis, align, epochs: epochs[run.id] });
        const one = shownRun(run, slots[i] ?? i, origin);
        const its = clocks[run.id];
        const seen = its && seenTime(one, { from, to, metric });
        return { one, clocks: its && seen ? clocksOf(its, { ...seen, raw: raw === "raw" }) : null };
      }),
    [runs, slots, axis, align, epochs, clocks, from, to, metric, raw],
  );
  const { runs: shown, legend } = useStable(
    colouredBy(
      placed.map(({ one, clocks: its }) =>
        its !== null && Object.keys(its.shifts).length > 0 ? { ...one, shifts: its.shifts } : one,
      ),
      search.colour,
    ),
  );
  // The unit of the axis. On other axes, nothing is computed per pixel column.
  const counted = onTime ? ("time" as const) : axis === "step" ? ("step" as const) : null;
  const stretches = useStretches(shown, epochs, axis === "condensed");
  const lacking = runsWithout(shown, { axis, align, epochs, stretches });
  return {
    ...{ axis, onTime, counted, epochs, shown, legend, lacking },
    moved: placed.flatMap((run) => run.clocks?.moved ?? []),
    unsure: placed.flatMap((run) => run.clocks?.unsure ?? []),
    stretches: stretches ?? kNoPieces,
  };
}

// Findings about a run that is shown alone: the interest of its series, and the begins of its regions, without those that
// a person dismissed.
function useFindings(ids: readonly string[]) {
  const run = ids.length === 1 ? (ids[0] as string) : "";
  const [interest] = useInterests(run === "" ? [] : [run]);
  const marks = useMarks(run);
  const begins = regionBegins(run, interest?.regions ?? [], marks);
  return { interest: run === "" ? null : interest, begins };
}

// The server's metrics of the runs, and the charts that the address selects from them.
function useMeasured(shown: readonly ShownRun[], { metric, x, xmetric }: ViewSearch) {
  const ids = useMemo(() => shown.map((one) => one.id), [shown]);
  const metrics = useMetrics(ids);
  const phases = usePhases(ids);
  const { interest, begins } = useFindings(ids);
  const happenings = useHappenings(ids);
  const marks = useStable(marksOf(shown, [...happenings, ...begins]));
  const noted = useStable(notedWindows(shown, happenings));
  const revision = useLive((live) => ids.reduce((sum, one) => sum + (live.revisions[one] ?? 0), 0));
  const defs = useMemo(() => buildCharts(shown, metrics.byRun), [shown, metrics.byRun]);
  const choices = useMemo(
    () =>
      (metric ?? defaultCharts(defs))
        .filter((word) => word !== "")
        .map((word) => (metric === undefined ? plainChoice(word) : parseChoice(word))),
    [metric, defs],
  );
  const charts = useStableList(resolve(choices, defs, shown));
  // Expressions that cannot be drawn, once the metrics are known.
  const problems = useStable(
    metrics.pending || defs.length === 0
      ? kNoProblems
      : problemsOf(
          [
            ...choices.map((choice) => choice.metric).filter(isExpression),
            ...(x === "metric" && xmetric !== undefined ? [xmetric] : []),
          ],
          { defs, runs: shown },
        ),
  );
  return { metrics, phases, interest, marks, noted, revision, defs, choices, charts, problems };
}

// Changes charts as the address would name them now, also where it names none yet.
function chartEdits(choices: readonly ChartChoice[], change: Change) {
  const editCharts = (to: (now: readonly ChartChoice[]) => ChartChoice[], replace = false) =>
    change((old) => {
      const now = old.metric?.filter((word) => word !== "").map(parseChoice) ?? choices;
      const next = to(now).map(choiceText);
      // No chart at all is a choice too, marked by an empty name.
      return { metric: next.length === 0 ? [""] : next };
    }, replace);
  const chooseMetrics = (names: readonly string[], on: boolean) =>
    editCharts((now) => {
      const others = now.filter((choice) => !names.includes(choice.metric));
      if (!on) return others;
      // Those that are shown stay where they are, with their settings.
      const known = new Set(now.map((choice) => choice.metric));
      return [...now, ...names.filter((name) => !known.has(name)).map(plainChoice)];
    });
  return {
    editCharts,
    editChart: (at: number, part: ChoiceChange, replace = false) =>
      editCharts(
        (now) => now.map((choice, i) => (i === at ? defined({ ...choice, ...part }) : choice)),
        replace,
      ),
    chooseMetrics,
    chooseMetric: (name: string, on: boolean) => chooseMetrics([name], on),
    resetMetrics: () => change(() => ({ metric: undefined }), false),
  };
}

// A chart that is zoomed alone, or every chart when zooming is not in sync, has a range of its own.
function gesturesPerChart(
  gestures: Gestures,
  at: { synced: boolean; zoomedIn: boolean },
  editChart: ReturnType<typeof chartEdits>["editChart"],
) {
  return ({ at: place, choice }: BoardChart): Gestures => {
    if (at.synced && choice.range === undefined) return gestures;
    const set = (range: Range | undefined, going = false) =>
      editChart(place, { range: range && rounded(range) }, going);
    return {
      ...gestures,
      range: choice.range ?? gestures.range,
      zoom: (wanted, going) => {
        if (wanted === null && choice.range === undefined) gestures.zoom(null);
        else set(wanted ?? (at.zoomedIn ? gestures.full : undefined), going);
      },
      reset: () => (choice.range === undefined ? gestures.zoom(null) : set(undefined)),
    };
  };
}

// The lanes, and the phase of them that was chosen.
function usePhaseLanes(
  { shown, counted }: Pick<ReturnType<typeof useShownRuns>, "shown" | "counted">,
  phases: ReturnType<typeof usePhases>,
  { search, change }: Pick<BoardInput, "search" | "change">,
) {
  const lanes = useMemo(() => laneRows(shown, phases.byRun), [shown, phases.byRun]);
  const windows = useStable(
    useMemo(() => (counted === null ? [] : profiledWindows(lanes, counted)), [lanes, counted]),
  );
  return {
    lanes,
    windows,
    phase: findPhase(lanes, parsePhase(search.phase)),
    // Zooms to it, unless it has no length.
    choosePhase: (run: ShownRun, span: Span) =>
      change(
        () => ({
          phase: `${run.id.slice(0, kShortId)}:${span.id}`,
          ...(span.end > span.start ? rounded({ from: span.start, to: span.end }) : {}),
        }),
        false,
      ),
    closePhase: () => change(() => ({ phase: undefined }), false),
  };
}

// Events, and where notes about a span begin, in order.
const placesOf = (marks: readonly { at: number }[], noted: readonly { from: number }[]) =>
  [...marks, ...noted.map(({ from }) => ({ at: from }))].sort((a, b) => a.at - b.at);

// To the phase or event beside; to an event out of sight the range moves.
function stepTo(
  by: 1 | -1,
  lanes: Pick<ReturnType<typeof usePhaseLanes>, "lanes" | "phase" | "choosePhase">,
  { marks, gestures }: { marks: readonly { at: number }[]; gestures: Gestures },
): void {
  const { range, full } = gestures;
  const to = stepFrom({ ...lanes, marks, range, cursor: useView.getState().cursor }, by);
  if (to === null) return;
  if ("span" in to) {
    lanes.choosePhase(to.run, to.span);
    return;
  }
  useView.setState({ cursor: to.at, byKeyboard: true });
  const middle = (range.from + range.to) / 2;
  if (to.at < range.from || to.at > range.to) gestures.zoom(moved(range, full, to.at - middle));
}

// The baseline of a line's run or group in the first chart that has one; null if there is none.
function baseOf(line: string, charts: readonly BoardChart[], making: Making): string | null {
  for (const chart of charts) {
    const base = baselineOf(line, chart, making);
    if (base !== null) return base;
  }
  return null;
}

// One chart fills the window, charts change places, and stand below headings.
function useArrangement(
  { charts, search }: { charts: readonly BoardChart[]; search: ViewSearch },
  { editChart, editCharts }: Pick<ReturnType<typeof chartEdits>, "editChart" | "editCharts">,
  change: Change,
) {
  const { sections: headed, find } = search;
  const fold = useStable(search.fold ?? kNone);
  const { sections, drawn } = useMemo(
    () => sectioned(charts, { sections: headed, fold: [...fold], find } as ViewSearch),
    [charts, headed, fold, find],
  );
  const enlarged = charts.find(({ key }) => key === search.enlarged) ?? null;
  // A chart that comes to another section is made anew: the focus in it would be lost.
  const held = useRef<string | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once the chart has its new place
  useLayoutEffect(() => {
    if (held.current === null) return;
    figureOf(held.current)?.querySelector<HTMLElement>(".surface")?.focus();
    held.current = null;
  }, [charts]);
  // Those that a chart can change places with.
  const besides = (key: string) => {
    const own = charts.find((chart) => chart.key === key);
    const all = sections?.find((one) => one.charts.some((chart) => chart.key === key))?.charts;
    return all ?? charts.filter(({ choice }) => choice.pinned === own?.choice.pinned);
  };
  const moveChart = (key: string, to: DropPlace) => {
    const [from, target] = [key, to.key].map((one) => charts.find((chart) => chart.key === one));
    if (from === undefined || target === undefined || from === target) return;
    const { pinned } = target.choice;
    editCharts((now) => {
      // Beside a pinned chart it is pinned as well.
      const all = now.map((one, i) => (i === from.at ? defined({ ...one, pinned }) : one));
      return movedTo(all, from.at, target.at + (to.after ? 1 : 0));
    });
  };
  return {
    enlarged,
    sections,
    drawn,
    besides,
    foldSection: (key: string) =>
      change((old) => {
        const next = switched(old.fold ?? [], key);
        return { fold: next.length === 0 ? undefined : next };
      }, false),
    findCharts: (text: string) => change(() => ({ find: text === "" ? undefined : text }), true),
    // The default is left out of the address.
    setSections: (on: boolean) =>
      change(
        () => ({ sections: on === charts.length > kFew ? undefined : on ? "on" : "off" }),
        false,
      ),
    moveChart,
    pinChart: (key: string) => {
      const chart = charts.find((one) => one.key === key);
      if (chart === undefined) return;
      if (figureOf(key)?.contains(document.activeElement)) held.current = key;
      editChart(chart.at, { pinned: chart.choice.pinned ? undefined : true });
    },
    enlarge: (key: string | null) => {
      const [only] = charts.length === 1 ? charts : [];
      const wanted = enlarged === null ? (key ?? only?.key) : undefined;
      change(() => ({ enlarged: wanted }), false);
    },
    stepChart: (key: string, by: 1 | -1) => {
      const row = besides(key);
      const next = row[row.findIndex((chart) => chart.key === key) + by];
      if (next !== undefined) moveChart(key, { key: next.key, after: by > 0 });
    },
    // `going`: not the first step of a gesture. undefined: the usual height.
    setHeight: (height: number | undefined, going = false) => change(() => ({ height }), going),
  };
}

const figureOf = (key: string) => document.querySelector(`figure[data-key=${CSS.escape(key)}]`);

const arrangementKeys = ({
  stepChart,
  pinChart,
  enlarge,
  enlarged,
}: ReturnType<typeof useArrangement>) => ({
  move: stepChart,
  pinChart,
  enlarge,
  enlarged: enlarged !== null,
});

// Lines by their keys, hidden and shown.
function lineSwitches(change: Change) {
  const hide = (to: (now: string[]) => string[]) =>
    change((old) => {
      const next = to(old.hide ?? []);
      return { hide: next.length === 0 ? undefined : next };
    }, false);
  return {
    toggleLine: (key: string) => hide((now) => switched(now, key)),
    // Only `key` of `all` stays; when it is alone already, all come back. `toggled`: the first click of a
    // double-click has switched it before.
    soloLine: (key: string, all: readonly string[], toggled: boolean) =>
      hide((old) => {
        const now = toggled ? switched(old, key) : old;
        const others = all.filter((other) => other !== key);
        const alone = !now.includes(key) && others.every((other) => now.includes(other));
        const rest = now.filter((other) => !all.includes(other));
        return alone ? rest : [...rest, ...others];
      }),
  };
}

// A range on one axis means nothing on another.
const axisSwitch = (change: Change) => (to: Axis, xmetric?: string) =>
  change(
    ({ metric }) => ({
      ...kNoPlace,
      x: to === "workload" ? undefined : to,
      xmetric,
      metric: metric && together(metric),
    }),
    false,
  );

export function useBoard(input: BoardInput) {
  const { search, change } = input;
  const runs = useShownRuns(input);
  const { axis, onTime, counted, epochs, stretches, shown } = runs;
  const measured = useMeasured(shown, search);
  const { charts, choices, marks, noted } = measured;
  const x = useMetricAxis(runs, measured, search);
  const full = useStable(fullOf({ axis, shown, epochs, stretches, charts, x }));
  const gestures = useGestures({ full, search }, change);
  const making = useMaking(shown, search, { axis, x });
  const off = useStable(search.hide ?? kNone);
  const hidden = useMemo(() => new Set(off), [off]);
  usePlaces(input);
  const lanes = usePhaseLanes(runs, measured.phases, input);
  const windows = useMemo(
    () => (onTime ? [...lanes.windows, ...noted] : lanes.windows),
    [onTime, lanes.windows, noted],
  );
  const live = shown.some((one) => one.running);
  const synced = search.sync !== "off";
  const zoomedIn = search.from !== undefined;
  const edits = chartEdits(choices, change);
  const gesturesOf = gesturesPerChart(gestures, { synced, zoomedIn }, edits.editChart);
  const layout = useArrangement({ charts, search }, edits, change);
  const compareTo = (base: string | null) =>
    change(() => ({ base: base ?? undefined, compare: undefined }), false);
  const keys: BoardGestures = {
    ...gestures,
    ...places({ full, change }),
    of: (key) => {
      const chart = charts.find((one) => one.key === key);
      return chart === undefined ? gestures : gesturesOf(chart);
    },
    ...arrangementKeys(layout),
    step: (by) => onTime && stepTo(by, lanes, { marks: placesOf(marks, noted), gestures }),
    compare: (line) => {
      const base = counted === null ? null : baseOf(line, charts, making);
      if (base !== null) compareTo(base === making.baseline?.key ? null : base);
    },
    sync: () =>
      change(
        ({ sync, metric }) =>
          sync === "off"
            ? { sync: undefined, metric: metric && together(metric) }
            : { sync: "off" },
        false,
      ),
  };
  return {
    ...runs,
    ...measured,
    ...lanes,
    ...edits,
    ...layout,
    ...lineSwitches(change),
    windows,
    chosen: new Set(choices.map((choice) => choice.metric)),
    gestures: keys,
    gesturesOf,
    synced,
    zoomedIn,
    live,
    making,
    hidden,
    region: useStable(parseRegion(search.sel)),
    search,
    change,
    defaultChoice: search.metric === undefined,
    compareTo,
    setAxis: axisSwitch(change),
  };
}

export type BoardView = ReturnType<typeof useBoard>;
