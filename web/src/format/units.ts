// Numbers with units, as every number on the page is written: at most four significant digits, a thin
// space before the unit, SI prefixes, IEC for bytes. Pure.

export const kThin = "\u2009";
const kSi: readonly [number, string][] = [
  [1e15, "P"],
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];
const kSmall: readonly [number, string][] = [
  [1, ""],
  [1e-3, "m"],
  [1e-6, "µ"],
  [1e-9, "n"],
];
const kIec = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];
// From here on no prefix says it shorter than an exponent.
const kBeyondSi = 1e18;
// Units that carry an SI prefix themselves; with all others ("cores", "samples/s") the number does.
const kPrefixable = /^(s|W|J|Hz|V|A|bit|bit\/s|flop\/s|F|s\/(step|epoch))$/;

// The format of values on one axis or in one read-out: divide by `factor`, append `mark` to the number ("k"), then
// `unit`.
export interface Scale {
  factor: number;
  mark: string;
  unit: string;
}

export function scaleFor(unit: string, largest: number): Scale {
  const size = Number.isFinite(largest) ? Math.abs(largest) : 0;
  const bytes = /^(?:B|By|bytes)(\/.*)?$/.exec(unit);
  if (bytes) {
    let power = 0;
    while (power < kIec.length - 1 && size >= 1024 ** (power + 1)) power++;
    return { factor: 1024 ** power, mark: "", unit: `${kIec[power]}B${bytes[1] ?? ""}` };
  }
  if (unit === "ratio" || unit === "share") return { factor: 0.01, mark: "", unit: "%" };
  if (unit === "Cel" || unit === "celsius") return { factor: 1, mark: "", unit: "°C" };
  if (unit === "%") return { factor: 1, mark: "", unit };
  const prefixable = kPrefixable.test(unit);
  const prefixed = size < kBeyondSi && !/^s(\/|$)/.test(unit);
  const large = prefixed ? kSi.find(([f]) => size >= f) : undefined;
  if (large) {
    const [factor, prefix] = large;
    return prefixable ? { factor, mark: "", unit: prefix + unit } : { factor, mark: prefix, unit };
  }
  if (prefixable && size > 0 && size < 1) {
    const [factor, prefix] = kSmall.find(([f]) => size >= f) ?? [1e-9, "n"];
    return { factor, mark: "", unit: prefix + unit };
  }
  return { factor: 1, mark: "", unit };
}

export function formatNumber(value: number, digits = 4): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e15) {
    const [mantissa, exponent] = value.toExponential(Math.max(0, digits - 2)).split("e");
    return minus(`${Number(mantissa)}e${Number(exponent)}`);
  }
  if (size >= 10 ** digits) return minus(String(Math.round(value)));
  return minus(String(Number(value.toPrecision(digits))));
}

function minus(text: string): string {
  return text.replaceAll("-", "−");
}

// In the scale of an axis: the number alone, its unit stands in the title.
export function formatScaled(value: number, scale: Scale, digits = 3): string {
  const text = formatNumber(value / scale.factor, digits);
  return scale.mark === "" || value === 0 ? text : `${text}${kThin}${scale.mark}`;
}

// A whole read-out: "1.84 k samples/s", "7.2 GiB", "84 %".
export function formatValue(value: number | null | undefined, unit: string, digits = 4): string {
  if (value === null || value === undefined) return "–";
  const scale = scaleFor(unit, value);
  const number = formatScaled(value, scale, digits);
  return scale.unit === "" ? number : `${number}${kThin}${scale.unit}`;
}

// "12.3 %"
export const percent = (share: number) => formatValue(share, "share", 3);

// "41 k" of the badge, "1 234" of headings.
export function formatCount(count: number): string {
  return formatScaled(count, scaleFor("", count), count < 1000 ? 4 : 3);
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}
