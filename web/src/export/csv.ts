// The numbers of a drawn chart as CSV (RFC 4180): every column of every line with its four points, every value of
// a computed line with its band. Pure.
import type { ChartLine } from "../charts/spec";

// A field of CSV. A name that a spreadsheet would take for a formula gets an apostrophe before it, which spreadsheets
// take for "this is text"; numbers are never changed.
export function csvField(value: unknown): string {
  const text = value === null || value === undefined ? "" : String(value);
  const named = typeof value === "string" && /^[=+\-@\t\r]/.test(text) && !isNumber(text);
  const safe = named ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

// As text, too: a parameter such as -0.5, or a value that is not finite.
const isNumber = (text: string) => /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$|^-Infinity$/i.test(text);

const number = (value: number) => (Number.isNaN(value) ? "" : String(value));

export function drawnCsv(lines: readonly ChartLine[], xName: string): string {
  const rows = [`line,kind,${csvField(xName)},value,low,low_at,high,high_at,last,last_at,points`];
  for (const line of lines) {
    if (line.hidden) continue;
    const name = csvField(line.label);
    const { data, curve, pairs, expression } = line;
    const computed = csvField(expression === undefined ? "computed" : `computed: ${expression}`);
    if (data !== null) {
      const { columns: c, from, to, width } = data;
      const x = (px: number) => from + (px * (to - from)) / width;
      for (let i = 0; i < c.firstX.length; i++) {
        const place = (xs: Float32Array) => number(x(xs[i] as number));
        const value = (values: Float64Array) => number(values[i] as number);
        const row = [name, "column", place(c.firstX), value(c.first), value(c.min), place(c.minX)];
        row.push(value(c.max), place(c.maxX), value(c.last), place(c.lastX), String(c.counts[i]));
        rows.push(row.join(","));
      }
    }
    if (curve) {
      const n = curve.value.length;
      for (let i = 0; i < n; i++) {
        const value = curve.value[i] as number;
        if (Number.isNaN(value)) continue;
        const at = number(curve.from + ((i + 0.5) * (curve.to - curve.from)) / n);
        const band = [curve.low, curve.high].map((one) => (one ? number(one[i] as number) : ""));
        rows.push(`${name},${computed},${at},${number(value)},${band[0]},,${band[1]},,,,`);
      }
    }
    for (let i = 0; i < (pairs?.x.length ?? 0); i++) {
      rows.push(
        `${name},${expression === undefined ? "pair" : computed},${number(pairs?.x[i] as number)},${number(pairs?.y[i] as number)},,,,,,,`,
      );
    }
  }
  return `${rows.join("\r\n")}\r\n`;
}
