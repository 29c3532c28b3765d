// From runs and their summaries to the tables that bars, boxes, scatter and parallel coordinates draw. Pure.
import type { FoundRun } from "../../api/runSearch";
import { finite, type Num, type Plain } from "../../api/types";
import type { BarData } from "../../charts/bars";
import type { BoxData } from "../../charts/box";
import type { ParallelAxis, ParallelRow } from "../../charts/parallel";
import type { ScatterPoint } from "../../charts/scatter";
import { collocationWord } from "../../format/collocation";
import { natural } from "../../format/order";

export type SummaryKind = "bars" | "box" | "scatter" | "parallel" | "table" | "importance";
export const kKinds: readonly SummaryKind[] = [
  "bars",
  "box",
  "scatter",
  "parallel",
  "table",
  "importance",
];
export const parseKind = (text: string | undefined): SummaryKind | undefined =>
  kKinds.find((kind) => kind === text);

export interface Sample {
  run: FoundRun;
  value: number;
  // True for a series of the host or a device: runs of one workload share it, so it counts once among them.
  shared?: boolean;
  // Values of the metrics that give the points of a scatter their size and colour.
  size?: number | undefined;
  shade?: number | undefined;
}

// Returns a run's value under a key; "" if there is none.
export function wordOf(run: FoundRun, key: string): string {
  switch (key) {
    case "":
      return "";
    case "run":
      return run.name;
    case "workload":
      return run.workload ?? run.name;
    case "experiment":
    case "host":
    case "status":
      return run[key];
    default: {
      const value: Plain | undefined = run.values[key];
      return value === null || value === undefined ? "" : String(value);
    }
  }
}

// "params.lr 0.1" reads as "lr 0.1".
export function nameOf(key: string, value: string): string {
  const short = key.replace(/^(params|tags)\./, "");
  if (value === "") return key === "" ? "all" : `no ${short}`;
  if (key === "collocation") return collocationWord(value);
  return /^(params|tags)\./.test(key) ? `${short} ${value}` : value;
}

const distinct = (words: readonly string[]) => [...new Set(words)].sort(natural);

export interface SummaryValue {
  value: Num;
  shared: boolean;
}

export function samplesOf(
  runs: readonly FoundRun[],
  values: ReadonlyMap<string, SummaryValue>,
): Sample[] {
  return runs.flatMap((run) => {
    const found = values.get(run.id);
    const value = finite(found?.value);
    return value === null ? [] : [{ run, value, shared: found?.shared ?? false }];
  });
}

function counted(samples: readonly Sample[]): number[] {
  const seen = new Set<string>();
  return samples.flatMap(({ run, value, shared }) => {
    if (shared !== true) return [value];
    if (seen.has(run.workload_id)) return [];
    seen.add(run.workload_id);
    return [value];
  });
}

// `wordOf`, with workloads that bear one name in several experiments kept apart.
function wordsAmong(samples: readonly Sample[]): (run: FoundRun, key: string) => string {
  const experiments = new Map<string, Set<string>>();
  for (const { run } of samples) {
    const name = wordOf(run, "workload");
    experiments.set(name, (experiments.get(name) ?? new Set()).add(run.experiment));
  }
  return (run, key) => {
    const word = wordOf(run, key);
    const several = key === "workload" && (experiments.get(word)?.size ?? 0) > 1;
    return several ? `${run.experiment} › ${word}` : word;
  };
}

// 0.975 quantile of Student's t. Exact to four digits for df ≤ 30, beyond by Cornish and Fisher's expansion (error
// below 10⁻⁴ there; Abramowitz and Stegun 26.7.5).
const kT = [
  12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.306, 2.2622, 2.2281, 2.201, 2.1788,
  2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.093, 2.086, 2.0796, 2.0739, 2.0687, 2.0639,
  2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423,
];

export function studentT(df: number): number {
  const exact = kT[df - 1];
  if (exact !== undefined) return exact;
  const z = 1.959964;
  return z + (z ** 3 + z) / (4 * df) + (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * df * df);
}

// Mean, and half the width of its 95 % interval; null where one value says nothing of the spread.
export function meanInterval(values: readonly number[]): { mean: number; half: number | null } {
  const n = values.length;
  const mean = values.reduce((sum, v) => sum + v, 0) / n;
  if (n < 2) return { mean, half: null };
  const square = values.reduce((sum, v) => sum + (v - mean) ** 2, 0) / (n - 1);
  return { mean, half: studentT(n - 1) * Math.sqrt(square / n) };
}

export interface Along {
  by: string;
  group: string;
}

export interface Cells {
  categories: string[];
  groups: string[];
  samples: number[][][];
}

export function cellsOf(samples: readonly Sample[], { by, group }: Along): Cells {
  const word = wordsAmong(samples);
  const categories = distinct(samples.map(({ run }) => word(run, by)));
  const groups = distinct(samples.map(({ run }) => word(run, group)));
  const cells = categories.map((category) =>
    groups.map((one) =>
      counted(samples.filter(({ run }) => word(run, by) === category && word(run, group) === one)),
    ),
  );
  return {
    categories: categories.map((value) => nameOf(by, value)),
    groups: groups.map((value) => nameOf(group, value)),
    samples: cells,
  };
}

export function barsOf(cells: Cells): BarData {
  return {
    ...cells,
    cells: cells.samples.map((row) =>
      row.map((values) => {
        if (values.length === 0) return null;
        const { mean, half } = meanInterval(values);
        const bar = { value: mean, n: values.length };
        return half === null ? bar : { ...bar, low: mean - half, high: mean + half };
      }),
    ),
  };
}

// Describes the content of the picture in words. `metric`: what colours parallel lines.
export function captionOf(
  kind: SummaryKind,
  at: {
    metric: string;
    stacked: boolean;
    cells: BarData["cells"];
    // The metrics of a scatter's sizes and colours.
    size?: string | undefined;
    shade?: string | undefined;
  },
): string {
  switch (kind) {
    case "importance":
      return "how much worse a random forest predicts with this param shuffled, in variances";
    case "table":
      return "mean of runs ± 95 % interval (Student’s t) where n ≥ 2";
    case "box":
      return "median, quartiles, whiskers to 1.5 × the interquartile range";
    case "scatter":
      return [
        "a point per run",
        ...(at.size === undefined ? [] : [`area: ${at.size}`]),
        ...(at.shade === undefined ? [] : [`colour: ${at.shade}`]),
      ].join(", ");
    case "parallel":
      return `a line per run, coloured by ${at.metric}`;
    case "bars": {
      if (at.stacked) return "mean of runs, stacked";
      const bars = at.cells.flat().filter((cell) => cell !== null);
      if (bars.every(({ n }) => n === 1)) return "one run per bar, so no interval";
      return "mean of runs, error bars: 95 % interval (Student’s t) where n ≥ 2";
    }
  }
}

export const boxesOf = (cells: Cells): BoxData => cells;

const numeric = (text: string): number | string =>
  text !== "" && Number.isFinite(Number(text)) ? Number(text) : text;

export function pointsOf(samples: readonly Sample[], { by, group }: Along) {
  const word = wordsAmong(samples);
  const groups = distinct(samples.map(({ run }) => word(run, group)));
  const points = samples.map(
    ({ run, value, size, shade }): ScatterPoint => ({
      key: run.id,
      label: run.name,
      x: numeric(word(run, by)),
      y: value,
      group: groups.indexOf(word(run, group)),
      size,
      shade,
    }),
  );
  return { points, groups: groups.map((value) => nameOf(group, value)) };
}

// Every parameter that differs, the metric last.
export function parallelOf(
  samples: readonly Sample[],
  at: { keys: readonly string[]; metric: string; unit: string },
): { axes: ParallelAxis[]; rows: ParallelRow[] } {
  const differing = at.keys.filter(
    (key) => new Set(samples.map(({ run }) => wordOf(run, key))).size > 1,
  );
  const axes = differing.map((key) => ({ name: key.replace(/^params\./, ""), unit: "" }));
  return {
    axes: [...axes, { name: at.metric, unit: at.unit }],
    rows: samples.map(({ run, value }) => ({
      key: run.id,
      label: run.name,
      values: [
        ...differing.map((key) => {
          const text = wordOf(run, key);
          return text === "" ? null : numeric(text);
        }),
        value,
      ],
    })),
  };
}
