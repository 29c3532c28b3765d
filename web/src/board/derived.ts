// Charts of expressions: which series of a run an expression is made of, the questions for them, and the values of their
// lines. Each column's value is that of the means of all points in it. Pure.
import type { Charts, ChartsQuestion } from "../api/useCharts";
import { later } from "../format/nanos";
import {
  emptySampled,
  evaluate,
  metricsOf,
  type Node,
  needsPlaces,
  parseExpression,
  problemWords,
  type Sampled,
  unitOf,
} from "./expression";
import { hash } from "./groups";
import type { ChartDef, LineDef, ShownRun } from "./model";

// The measured lines behind a line of an expression.
export interface MadeOf {
  node: Node;
  // By metric, in the order of the expression.
  inputs: readonly { metric: string; line: LineDef }[];
}

type KeyedLine = ChartsQuestion["lines"][number];

const ofRun = (line: LineDef, run: ShownRun, workloads: ReadonlyMap<string, string>) =>
  line.run === run.id || (line.shared && workloads.get(line.run) === run.workload);

// The line of another metric that belongs to `line`: of the same device where there are several. null: none, or it
// cannot be told which.
function partner(line: LineDef, others: readonly LineDef[]): LineDef | null {
  const here = others.filter(
    ({ host }) => host === undefined || line.host === undefined || host === line.host,
  );
  const same = here.filter(({ source }) => source === line.source);
  const some = same.length > 0 ? same : here;
  return some.length === 1 ? (some[0] as LineDef) : null;
}

interface Among {
  node: Node;
  metrics: readonly ChartDef[];
  runs: readonly ShownRun[];
}

function linesOfRun(run: ShownRun, { node, metrics, runs }: Among): LineDef[] {
  const workloads = new Map(runs.map(({ id, workload }) => [id, workload]));
  const known = metrics.map(({ lines }) => lines.filter((line) => ofRun(line, run, workloads)));
  // The metric of the most devices has a line each.
  const most = known.reduce((a, b) => (b.length > a.length ? b : a), known[0] ?? []);
  const sources = [...new Set(most.map(({ source }) => source))];
  return most.flatMap((line): LineDef[] => {
    const found = known.map((others) => (others === most ? line : partner(line, others)));
    if (found.some((one) => one === null)) return [];
    const alike = found.every((one) => one?.shared === line.shared);
    // A series of a host or device begins with the run that it is combined with.
    const zero = alike ? later(line.origin, line.shift ?? 0) : run.origin;
    const some = found.map((one) => {
      const its = one as LineDef;
      return { ...its, origin: later(zero, -(its.shift ?? 0)) };
    });
    const [{ origin }] = some as [LineDef];
    const inputs = some.map((one, i) => ({ metric: (metrics[i] as ChartDef).name, line: one }));
    const place = sources.indexOf(line.source);
    return [
      {
        ...(alike ? line : ownLine(run, line.source, { place, several: runs.length > 1 })),
        series: seriesOf(node, some),
        run: alike ? line.run : run.id,
        source: line.source,
        shared: alike && line.shared,
        origin,
        spacing: Math.max(...some.map(({ spacing }) => spacing)),
        stepping: Math.max(...some.map(({ stepping }) => stepping)),
        steps: stepsOf(some),
        least: Number.NaN,
        greatest: Number.NaN,
        outside: [...new Set(some.flatMap(({ outside = [] }) => outside))],
        made: { node, inputs },
      },
    ];
  });
}

// Below 0: no series of the server has it.
const seriesOf = (node: Node, inputs: readonly LineDef[]) =>
  -1 - hash(JSON.stringify([node, inputs.map(({ series, origin }) => `${series}@${origin}`)]));

const ownLine = (run: ShownRun, source: string, at: { place: number; several: boolean }) => ({
  key: source === "" ? run.id : `${run.id}/${source}`,
  label: source === "" ? run.name : at.several ? `${run.name} ${source}` : source,
  colour: at.several ? run.index : run.index + at.place,
  dash: (run.dash ?? run.index) + at.place,
});

function stepsOf(lines: readonly LineDef[]): [number, number] | null {
  const known = lines.flatMap(({ steps }) => (steps === null ? [] : [steps]));
  if (known.length < lines.length) return null;
  return [Math.max(...known.map(([a]) => a)), Math.min(...known.map(([, b]) => b))];
}

// The chart of an expression, of a metric in backticks its own, or what is wrong.
export function derivedChart(
  text: string,
  { defs, runs }: { defs: readonly ChartDef[]; runs: readonly ShownRun[] },
): { def: ChartDef; wrong: null } | { def: null; wrong: string; near: readonly string[] } {
  const names = defs.map(({ name }) => name);
  const { node, wrong } = parseExpression(text, names);
  if (node === null) return { def: null, wrong: problemWords(wrong), near: wrong.near };
  const named = metricsOf(node);
  const none = (why: string) => ({ def: null, wrong: why, near: [] });
  if (named.length === 0) return none("an expression needs a metric");
  const metrics = named.map((name) => defs.find((def) => def.name === name) as ChartDef);
  if (node.kind === "metric") return { def: metrics[0] as ChartDef, wrong: null };
  const all = runs.flatMap((run) => linesOfRun(run, { node, metrics, runs }));
  const lines = [...new Map(all.map((line) => [line.key, line])).values()];
  if (lines.length === 0) return none(`no run has all of ${named.join(", ")}, each for one device`);
  const units = new Map(metrics.map(({ name, unit }) => [name, unit]));
  const def = {
    name: text,
    unit: unitOf(node, (metric) => units.get(metric) ?? ""),
    group: "software",
    description: `computed from ${named.join(", ")}`,
    flat: false,
    lines,
    left: Math.max(...metrics.map(({ left }) => left)),
  };
  return { def, wrong: null };
}

// Signs that names of metrics seldom have: the text was meant as an expression.
export const isExpression = (text: string): boolean => /[*^()`]|\s[-+/]\s/.test(text);

// The metrics and expressions that cannot be drawn, each with the reason.
export function problemsOf(
  names: readonly string[],
  at: { defs: readonly ChartDef[]; runs: readonly ShownRun[] },
): { name: string; wrong: string }[] {
  const known = new Set(at.defs.map(({ name }) => name));
  return [...new Set(names)].flatMap((name) => {
    if (known.has(name)) return [];
    const { wrong } = derivedChart(name, at);
    return wrong === null ? [] : [{ name, wrong }];
  });
}

// The measured lines behind a line: its own, or those of its expression.
export const measuredOf = (line: LineDef): LineDef[] =>
  line.made === undefined ? [line] : line.made.inputs.map((input) => input.line);

const keyOf = ({ series, origin }: LineDef) => `input/${series}@${origin}`;

// Means of the columns and numbers of points, of every series once.
export function inputQuestions(lines: readonly LineDef[], onTime: boolean): KeyedLine[] {
  const asked = new Map<string, KeyedLine>();
  for (const line of lines.flatMap((one) => one.made?.inputs ?? []).map((input) => input.line)) {
    const origins = onTime ? { origins_ns: [String(line.origin)] } : {};
    asked.set(keyOf(line), { key: keyOf(line), kind: "mean", series: [line.series], ...origins });
  }
  return [...asked.values()];
}

// The lines whose columns say where their points are.
export const placedInputs = (line: LineDef): LineDef[] =>
  line.made !== undefined && needsPlaces(line.made.node) ? measuredOf(line) : [];

// A value stands for the following columns up to ten times the usual distance of its points, as for a metric over
// another.
const kReach = 10;

// The middles of the points in `length` columns; the measured columns may be finer, as in offline pages.
function placesOf(
  line: LineDef,
  { answer, onTime, length }: { answer: Charts; onTime: boolean; length: number },
) {
  const { from, to, width } = answer;
  const each = (to - from) / length;
  const places = Float64Array.from({ length }, (_, i) => {
    if (onTime) return from + (i + 0.5) * each;
    const [first, next] = [i, i + 1].map((k) => Math.ceil(from + k * each - 1e-9));
    return ((first as number) + Math.max(first as number, (next as number) - 1)) / 2;
  });
  const columns = onTime ? answer.series.get(line.series) : undefined;
  const scale = length / width;
  let [before, first] = [-1, 0];
  for (let k = 0; k < (columns?.firstX.length ?? 0); k++) {
    const [begin, end] = [columns?.firstX[k] as number, columns?.lastX[k] as number];
    const i = Math.min(length - 1, Math.floor(((begin + end) / 2) * scale));
    if (i !== before) first = begin;
    before = i;
    places[i] = from + ((first + end) / 2) * scale * each;
  }
  return places;
}

export const reachOf = (
  { spacing }: LineDef,
  { from, to, length }: { from: number; to: number; length: number },
): number => (kReach * spacing * length) / (to - from);

function sampledOf(line: LineDef, at: { answer: Charts; onTime: boolean }): Sampled | null {
  const { answer, onTime } = at;
  const found = answer.lines.get(keyOf(line));
  const [mean, count] = [found?.arrays[0], found?.arrays[3]];
  if (mean === undefined || count === undefined) return null;
  const out = { ...emptySampled(mean.length), at: placesOf(line, { ...at, length: mean.length }) };
  const reach = onTime ? reachOf(line, { ...answer, length: mean.length }) : 0;
  let last = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < mean.length; i++) {
    const own = (count[i] as number) > 0 && !Number.isNaN(mean[i] as number);
    if (own) last = i;
    if (i - last > reach) continue;
    out.value[i] = mean[last] as number;
    out.count[i] = own ? (count[i] as number) : 0;
  }
  return out;
}

export interface Derived {
  value: Float64Array;
  told?: string;
}

// The values of a line of an expression; null: not answered yet.
export function derivedValues(
  { made }: LineDef,
  at: { answer: Charts; onTime: boolean },
): Derived | null {
  if (made === undefined) return null;
  const inputs = new Map(
    made.inputs.map(({ metric, line }) => [metric, sampledOf(line, at)] as const),
  );
  for (const one of inputs.values()) if (one === null) return null;
  const { value, lost } = evaluate(made.node, (name) => inputs.get(name) as Sampled);
  if (lost === 0) return { value };
  return { value, told: "values that are not finite left out" };
}
