// Reads the share files of radT's page (docs/radt.md, "Share files"): its charts with their raw points, and of each its
// smoothing, hidden lines and range. A problem with a file is reported with its place. Pure.
//
// radT joins the runs of a workload into one line and begins each line at its own first point. Here every run is a line
// of its own, and runs of a workload begin at the workload's first point, so that what ran together is drawn together.
// A line that the file hides under a workload's name hides all of its runs.

export interface RadtRun {
  id: string;
  name: string;
  experiment: string;
  workload: string;
  // The name of radT's line that the run is part of, and that line's place.
  line: string;
  index: number;
  label: string;
  // Seconds since the zero of the line, ascending; finite values only.
  x: Float64Array;
  y: Float64Array;
}

export interface RadtChart {
  metric: string;
  // Weight of the value before, in [0, 1).
  smoothing: number;
  range: { from: number; to: number } | null;
  hidden: readonly string[];
  runs: RadtRun[];
  // Points that are not finite.
  left: number;
}

export class RadtError extends Error {}

type Fields = Readonly<Record<string, unknown>>;

const wrong = (place: string, what: string): never => {
  throw new RadtError(`${place} ${what}`);
};

const listAt = (value: unknown, place: string): readonly unknown[] =>
  Array.isArray(value) ? value : wrong(place, "is not a list");

const fieldsAt = (value: unknown, place: string): Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : wrong(place, "is not an object");

const textAt = (value: unknown, place: string): string =>
  typeof value === "string" && value !== "" ? value : wrong(place, "is not a text");

const wordOf = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" ? String(value) : "";

// Whole numbers of a database may come as text.
function numberAt(value: unknown, place: string): number {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number)
    ? number
    : wrong(place, "is not a number");
}

// null stands for what JSON cannot write.
function valueAt(value: unknown, place: string): number {
  if (value === null || /^(NaN|-?Infinity)$/.test(wordOf(value))) return Number.NaN;
  return numberAt(value, place);
}

interface Points {
  times: number[];
  values: number[];
  left: number;
}

function pointsAt(value: unknown, place: string): Points {
  const out: Points = { times: [], values: [], left: 0 };
  for (const [i, one] of listAt(value, place).entries()) {
    const at = `${place}[${i}]`;
    const { timestamp, value } = fieldsAt(one, at);
    const [time, y] = [numberAt(timestamp, `${at}.timestamp`), valueAt(value, `${at}.value`)];
    if (Number.isNaN(y)) {
      out.left++;
      continue;
    }
    out.times.push(time);
    out.values.push(y);
  }
  return out;
}

interface RawRun {
  id: string;
  name: string;
  experiment: string;
  workload: string;
  letter: string;
  metric: string;
  points: Points;
}

function runAt(value: unknown, place: string, metric: string): RawRun | null {
  const fields = fieldsAt(value, place);
  // A run without points of this metric.
  if (fields.data === undefined) return null;
  const id = textAt(fields.name, `${place}.name`);
  return {
    id,
    name: wordOf(fields.run_name ?? fields.runName),
    experiment: wordOf(fields.experimentName) || wordOf(fields.experimentId),
    workload: textAt(fields.workload, `${place}.workload`),
    letter: wordOf(fields.letter),
    metric: wordOf(fields.metric) || metric,
    points: pointsAt(fields.data, `${place}.data`),
  };
}

// Runs of no workload are of "EXPERIMENT-null".
const isAlone = (workload: string) => workload.slice(workload.indexOf("-") + 1) === "null";

// The name of a run by itself, as radT writes it.
function nameAlone({ workload, letter, id }: RawRun): string {
  const short = `(${id.slice(0, 5)})`;
  if (letter === "") return `${workload.slice(0, Math.max(0, workload.indexOf("-")))} ${short}`;
  return letter.length > 1 ? `${workload} ${letter}` : `${workload} ${letter} ${short}`;
}

function sorted({ times, values }: Points, zero: number): Pick<RadtRun, "x" | "y"> {
  const order = times.map((_, i) => i).sort((a, b) => (times[a] as number) - (times[b] as number));
  return {
    x: Float64Array.from(order, (i) => ((times[i] as number) - zero) / 1000),
    y: Float64Array.from(order, (i) => values[i] as number),
  };
}

const minOf = (values: readonly number[]) =>
  values.reduce((least, one) => Math.min(least, one), Number.POSITIVE_INFINITY);

function linesOf(raw: readonly RawRun[], apart: ReadonlySet<string>): RadtRun[] {
  const drawn = raw.filter(({ points }) => points.times.length > 0);
  const zeros = new Map<string, number>();
  const counts = new Map<string, number>();
  for (const run of drawn) {
    const key = isAlone(run.workload) ? run.id : run.workload;
    zeros.set(key, Math.min(zeros.get(key) ?? Number.POSITIVE_INFINITY, minOf(run.points.times)));
    counts.set(run.workload, (counts.get(run.workload) ?? 0) + 1);
  }
  const places = new Map<string, number>();
  return drawn.map((run) => {
    const single = isAlone(run.workload) || apart.has(run.workload);
    const line = single ? nameAlone(run) : run.workload;
    if (!places.has(line)) places.set(line, places.size);
    const zero = zeros.get(isAlone(run.workload) ? run.id : run.workload) as number;
    const { id, name, experiment, workload, points } = run;
    const label = counts.get(workload) === 1 ? line : nameAlone(run);
    const index = places.get(line) as number;
    return { id, name, experiment, workload, line, index, label, ...sorted(points, zero) };
  });
}

function contextAt(value: unknown, place: string) {
  const context = value === undefined ? {} : fieldsAt(value, place);
  const words = (name: string) =>
    context[name] === undefined ? [] : listAt(context[name], `${place}.${name}`).map(wordOf);
  const percent = numberAt(context.smoothing ?? 0, `${place}.smoothing`);
  if (percent < 0 || percent > 99) wrong(`${place}.smoothing`, `is ${percent}, not 0 to 99`);
  const range = fieldsAt(context.range ?? {}, `${place}.range`);
  const [min, max] = (["min", "max"] as const).map((end) =>
    numberAt(range[end] ?? 0, `${place}.range.${end}`),
  ) as [number, number];
  return {
    smoothing: percent / 100,
    apart: new Set(words("shownRuns")),
    hidden: words("hiddenSeries"),
    // Both 0: everything.
    range: max > min ? { from: min / 1000, to: max / 1000 } : null,
  };
}

// A chart of several metrics becomes one of each.
function chartsAt(value: unknown, place: string): RadtChart[] {
  const fields = fieldsAt(value, place);
  // It was still on its way from the server when the file was made.
  if (fields.loading === true) return [];
  const metric = textAt(fields.metric, `${place}.metric`);
  const { apart, ...context } = contextAt(fields.context, `${place}.context`);
  const runs = listAt(fields.data, `${place}.data`).flatMap(
    (one, i) => runAt(one, `${place}.data[${i}]`, metric) ?? [],
  );
  const names = [...new Set(runs.map((run) => run.metric))];
  return (names.length === 0 ? [metric] : names).map((name) => {
    const mine = runs.filter((run) => run.metric === name);
    const left = mine.reduce((sum, { points }) => sum + points.left, 0);
    return { metric: name, ...context, runs: linesOf(mine, apart), left };
  });
}

// Returns true if a file may come from radT.
export const looksLikeRadt = (value: unknown): value is readonly unknown[] => Array.isArray(value);

// In the order in which radT shows them: the newest first. Throws RadtError.
export function readRadt(value: readonly unknown[]): RadtChart[] {
  const places = value.map((chart, i) => {
    const { id } = fieldsAt(chart, `chart[${i}]`);
    return { chart, place: `chart[${i}]`, id: Number(id ?? 0) };
  });
  const charts = places
    .sort((a, b) => b.id - a.id)
    .flatMap(({ chart, place }) => chartsAt(chart, place));
  if (charts.length === 0) wrong("The list", "contains no chart");
  return charts;
}
