// Groups of runs on a board, and the questions of a chart to the server about them. A group is computed there, from all
// points of its runs; runs are never joined into one line. Pure.
import { kGroup, type LineAnswer, type LineQuestion } from "../api/lines";
import type { Plain } from "../api/types";
import { natural } from "../format/order";
import { quantile } from "../format/quantile";
import { type ChartDef, colourSlots, kHues, type LineDef, type ShownRun } from "./model";
import type { Grouping } from "./view";

export interface Group {
  // The word of the address for it.
  key: string;
  label: string;
  // Place in the palette.
  index: number;
  runs: string[];
}

// The value of a param or tag, or the name of a workload or experiment.
export function valueUnder(run: ShownRun, by: string): Plain | undefined {
  if (by === "workload") return run.workloadName ?? run.name;
  if (by === "experiment") return run.experiment;
  const at = by.indexOf(":");
  return (by.slice(0, at) === "param" ? run.params : run.tags)[by.slice(at + 1)];
}

function labelOf(run: ShownRun, by: string): string {
  if (by === "workload") return run.workloadName ?? run.name;
  if (by === "experiment") return run.experiment;
  const name = by.slice(by.indexOf(":") + 1);
  const value = valueUnder(run, by);
  return value === undefined || value === null ? `no ${name}` : `${name} ${value}`;
}

// FNV-1a, 32 bits.
export function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++)
    value = Math.imul(value ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return value;
}

// In natural order of their labels. A group's colour follows from its key, so that it stays when others come, go
// or are sorted otherwise; where two want the same, the one whose run was selected first has it.
export function groupsOf(runs: readonly ShownRun[], grouping: Grouping): Group[] {
  const found = new Map<string, { label: string; runs: string[] }>();
  for (const run of runs) {
    const label = labelOf(run, grouping.by);
    // Workloads of the same name in several experiments are several groups.
    const key = grouping.by === "workload" ? run.workload : label;
    const group = found.get(key) ?? { label, runs: [] };
    found.set(key, group);
    group.runs.push(run.id);
  }
  const slots = colourSlots([...found.keys()].map((key) => hash(key) % kHues));
  return [...found]
    .map(([key, group], i) => ({ key: `group:${key}`, index: slots[i] as number, ...group }))
    .sort((a, b) => natural(a.label, b.label));
}

// The lines of a chart that make up a group. A host's or device's series stands for all shown runs of its
// workload.
export function linesOfGroup(chart: ChartDef, group: Group, runs: readonly ShownRun[]): LineDef[] {
  const workloads = new Set(
    runs.filter((run) => group.runs.includes(run.id)).map((run) => run.workload),
  );
  const workloadOf = new Map(runs.map((run) => [run.id, run.workload]));
  return chart.lines.filter((line) =>
    line.shared ? workloads.has(workloadOf.get(line.run) ?? "") : group.runs.includes(line.run),
  );
}

export function groupQuestion(lines: readonly LineDef[], onTime: boolean): LineQuestion {
  return {
    kind: "group",
    series: lines.map((line) => line.series),
    ...(onTime ? { origins_ns: lines.map((line) => String(line.origin)) } : {}),
  };
}

// The answer that the server would give for a group of runs whose values are computed here. A run's value is the mean
// of its lines'; there is no interval, as only the server knows whether the runs are repetitions.
export function groupAnswer(lines: readonly { run: string; value: Float64Array }[]): LineAnswer {
  const runs = [...new Set(lines.map(({ run }) => run))];
  const width = lines[0]?.value.length ?? 0;
  const none = () => new Float64Array(width).fill(Number.NaN);
  const arrays = Array.from({ length: Object.keys(kGroup).length }, none);
  const put = (place: number, i: number, value: number) => {
    (arrays[place] as Float64Array)[i] = value;
  };
  for (let i = 0; i < width; i++) {
    const values = runs.flatMap((run) => {
      const mine = lines.flatMap(({ run: of, value }) =>
        of === run && !Number.isNaN(value[i] as number) ? [value[i] as number] : [],
      );
      return mine.length === 0 ? [] : [mine.reduce((a, b) => a + b) / mine.length];
    });
    put(kGroup.n, i, values.length);
    if (values.length === 0) continue;
    const sum = values.reduce((a, b) => a + b);
    const mean = sum / values.length;
    const squares = values.reduce((all, v) => all + (v - mean) ** 2, 0);
    put(kGroup.mean, i, mean);
    put(kGroup.sum, i, sum);
    const sorted = values.toSorted((a, b) => a - b);
    put(kGroup.least, i, sorted[0] as number);
    put(kGroup.greatest, i, sorted[sorted.length - 1] as number);
    put(kGroup.lowerQuartile, i, quantile(sorted, 0.25));
    put(kGroup.median, i, quantile(sorted, 0.5));
    put(kGroup.upperQuartile, i, quantile(sorted, 0.75));
    if (values.length > 1) put(kGroup.deviation, i, Math.sqrt(squares / (values.length - 1)));
  }
  const rest = { points: 0, lost: 0, merged: 0 };
  return { kind: "group", exact: true, interval: 3, units: runs.length, ...rest, arrays };
}

// The possible keys to group by: parameters and tags that differ among the runs, workload and experiment.
export function groupChoices(runs: readonly ShownRun[]): { value: string; label: string }[] {
  const choices = [
    { value: "workload", label: "workload" },
    { value: "experiment", label: "experiment" },
  ];
  for (const kind of ["param", "tag"] as const) {
    const facts = runs.map((run) => (kind === "param" ? run.params : run.tags));
    const names = [...new Set(facts.flatMap((known) => Object.keys(known)))].sort(natural);
    for (const name of names) {
      if (/^(mlflow|corral)\./.test(name)) continue;
      if (new Set(facts.map((known) => known[name])).size < 2) continue;
      choices.push({ value: `${kind}:${name}`, label: name });
    }
  }
  return choices;
}
