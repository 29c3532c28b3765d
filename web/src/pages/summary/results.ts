// A summary as files for papers: a table of rows × columns with mean ± interval as LaTeX, and the numbers as CSV.
// Pure.
import type { BarCell, BarData } from "../../charts/bars";
import { commonCount } from "../../charts/summary";
import { csvField } from "../../export/csv";
import { formatCount } from "../../format/units";
import { type Along, type Sample, wordOf } from "./data";

const kDigits = 4;
const kMostDecimals = 12;

// Decimals that show two digits of the half width, else four of the value.
function decimalsOf(value: number, half: number | null): number {
  const [of, digits] = half !== null && half > 0 ? [half, 2] : [Math.abs(value), kDigits];
  if (of === 0) return 0;
  const wanted = digits - 1 - Math.floor(Math.log10(of));
  return Math.min(kMostDecimals, Math.max(0, wanted));
}

const halfOf = ({ value, high }: BarCell) => (high === undefined ? null : high - value);

// Mean and half width with the same decimals; numbers too long for that in powers of ten.
export function cellWords(cell: BarCell): { mean: string; half: string | null } {
  const half = halfOf(cell);
  const large = Math.abs(cell.value) >= 1e7 || (cell.value !== 0 && Math.abs(cell.value) < 1e-6);
  const words = (v: number) => (large ? v.toPrecision(3) : v.toFixed(decimalsOf(cell.value, half)));
  return { mean: words(cell.value), half: half === null ? null : words(half) };
}

const kSigns: Readonly<Record<string, string>> = {
  "\\": "\\textbackslash{}",
  "~": "\\textasciitilde{}",
  "^": "\\textasciicircum{}",
};

// Text for LaTeX: its own signs are quoted, line breaks are spaces.
export const latexText = (text: string): string =>
  text.replace(
    /[\\~^{}$&#%_]|\s+/g,
    (sign) => kSigns[sign] ?? (/\s/.test(sign) ? " " : `\\${sign}`),
  );

// "1.2e+7" as "1.2 \times 10^{7}".
const latexNumber = (text: string) =>
  text.replace(
    /e([+-]?)0*(\d+)/,
    (_, sign, power) => ` \\times 10^{${sign === "-" ? "-" : ""}${power}}`,
  );

function latexCell(cell: BarCell | null, common: number | null): string {
  if (cell === null) return "--";
  const { mean, half } = cellWords(cell);
  const n = common === null ? ` (${cell.n ?? 0})` : "";
  const value = latexNumber(mean);
  return half === null ? `$${value}$${n}` : `$${value} \\pm ${latexNumber(half)}$${n}`;
}

export interface TableWords {
  metric: string;
  of: string;
  unit: string;
  // The param of the rows.
  by: string;
}

const headOf = ({ groups }: BarData) =>
  groups.length === 1 && groups[0] === "all" ? ["value"] : groups;

export const countsOf = ({ cells }: BarData) => commonCount(cells.flat().map((cell) => cell?.n));

// A tabular for the package booktabs. The first comment says what it holds.
export function latexTable(data: BarData, { metric, of, unit, by }: TableWords): string {
  const common = countsOf(data);
  const n = common === null ? "(n)" : `n = ${formatCount(common)}`;
  const rows = data.categories.map((name, i) =>
    [latexText(name), ...(data.cells[i] ?? []).map((cell) => latexCell(cell, common))].join(" & "),
  );
  const heads = [by.replace(/^(params|tags)\./, ""), ...headOf(data)];
  const what = `${of} ${metric}${unit === "" ? "" : `, ${unit}`}`.replace(/\s+/g, " ");
  return [
    `% ${what}: mean of runs, 95 % interval (Student's t) where n > 1, ${n}. Needs \\usepackage{booktabs}.`,
    `\\begin{tabular}{l${"r".repeat(heads.length - 1)}}`,
    "\\toprule",
    `${heads.map(latexText).join(" & ")} \\\\`,
    "\\midrule",
    ...rows.map((row) => `${row} \\\\`),
    "\\bottomrule",
    "\\end{tabular}",
    "",
  ].join("\n");
}

const lines = (rows: readonly (readonly unknown[])[]) =>
  `${rows.map((row) => row.map(csvField).join(",")).join("\r\n")}\r\n`;

// Means with their intervals, a row per cell that has runs.
export function cellsCsv(data: BarData, { by, group }: Along): string {
  const rows = data.cells.flatMap((row, i) =>
    row.flatMap((cell, k) =>
      cell === null
        ? []
        : [[data.categories[i], data.groups[k], cell.value, cell.low, cell.high, cell.n]],
    ),
  );
  return lines([[by, group === "" ? "group" : group, "mean", "low", "high", "n"], ...rows]);
}

// A row per run, with all params and tags.
export function samplesCsv(
  samples: readonly Sample[],
  names: { metric: string; size?: string | undefined; shade?: string | undefined },
): string {
  const keys = [...new Set(samples.flatMap(({ run }) => Object.keys(run.values)))].sort();
  const more = [names.size, names.shade].filter((name) => name !== undefined);
  const head = ["run", "id", "experiment", "workload", ...keys, names.metric, ...more];
  return lines([
    head,
    ...samples.map(({ run, value, size, shade }) => [
      ...[run.name, run.id, run.experiment, run.workload ?? ""],
      ...keys.map((key) => wordOf(run, key)),
      value,
      ...(names.size === undefined ? [] : [size]),
      ...(names.shade === undefined ? [] : [shade]),
    ]),
  ]);
}
