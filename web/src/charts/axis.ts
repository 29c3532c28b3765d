// Ticks: three to five on the value axis, whole minutes and seconds on the time axis (the other kinds of x are
// in xaxis.ts). Pure.
import { nice, ticks as roundTicks } from "d3-array";
import { formatClock } from "../format/time";
import { formatScaled, type Scale, scaleFor } from "../format/units";

export interface Tick {
  value: number;
  text: string;
}

const kTimeSteps = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800,
  604800,
];

function timeStep(least: number): number {
  if (least <= 0.5) {
    const power = 10 ** Math.floor(Math.log10(least));
    for (const m of [1, 2, 5, 10]) if (m * power >= least * (1 - 1e-9)) return m * power;
  }
  return kTimeSteps.find((step) => step >= least) ?? Math.ceil(least / 604800) * 604800;
}

// Returns the number of ticks that fit; at least two, even if they are a little tight.
export function mostTicks({ width, spacing }: { width: number; spacing: number }): number {
  return Math.max(width >= 1.4 * spacing ? 2 : 1, Math.floor(width / spacing));
}

// About one tick every `spacing` pixels at most.
export function timeTicks(
  from: number,
  to: number,
  at: { width: number; spacing: number },
): Tick[] {
  const most = mostTicks(at);
  const step = timeStep((to - from) / most);
  const ticks: Tick[] = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9; i++) {
    ticks.push({ value: i * step, text: formatClock(i * step, step) });
  }
  return ticks;
}

export interface ValueAxis {
  from: number;
  to: number;
  scale: Scale;
  ticks: Tick[];
  log: boolean;
}

// Returns the position of a value on an axis, 0 at its beginning and 1 at its end; NaN if a logarithmic axis cannot
// show it.
export function place({ from, to, log }: Pick<ValueAxis, "from" | "to" | "log">, v: number) {
  if (!log) return (v - from) / (to - from);
  // Not the logarithm of a ratio, which may be too large for a number.
  return v > 0 ? (Math.log(v) - Math.log(from)) / (Math.log(to) - Math.log(from)) : Number.NaN;
}

// Beyond, lengths of axes and their ticks would leave the numbers.
export const kGreatest = 1e300;

const bounded = (value: number) => Math.min(Math.max(value, -kGreatest), kGreatest);

// Rates and shares are read against zero.
const kFromZero = /\/s$|^cores$|^%$|^ratio$|^share$/;

// Zero belongs to the axis unless the data use less than a sixth of the room above it; percent that reach
// a quarter span 0–100.
export function valueAxis(least: number, most: number, unit: string): ValueAxis {
  const [min, max] = [bounded(least), bounded(most)];
  const share = unit === "ratio" || unit === "share";
  const percent = unit === "%" || share;
  const whole = share ? 1 : 100;
  let [low, high] = [min, max];
  if (low >= 0 && ((high - low) * 6 >= high || kFromZero.test(unit))) low = 0;
  if (high <= 0 && (high - low) * 6 >= -low) high = 0;
  if (percent && min >= 0 && max <= whole * 1.0001 && max > whole / 4) [low, high] = [0, whole];
  if (high === low) {
    const room = low === 0 ? 1 : Math.abs(low) * 0.1;
    [low, high] = low === 0 ? [0, 1] : [low - room, high + room];
  }
  const scale = scaleFor(unit, Math.max(Math.abs(low), Math.abs(high)));
  const best = niceTicks(low / scale.factor, high / scale.factor);
  const digits = tickDigits(best);
  const ticks = best.map(tickOf(scale, digits));
  return { ...trimmed(ticks, low, high), scale, log: false };
}

// From and to just as they are asked for.
export function fixedAxis(from: number, to: number, unit: string): ValueAxis {
  const scale = scaleFor(unit, Math.max(Math.abs(from), Math.abs(to)));
  const [low, high] = [from / scale.factor, to / scale.factor];
  const ticks = roundTicks(low, high, 4);
  return { from, to, scale, log: false, ticks: ticks.map(tickOf(scale, tickDigits(ticks))) };
}

// As long as the values and a little air, wherever zero is: where places matter, not lengths.
export function tightAxis(least: number, most: number, unit: string): ValueAxis {
  const [low, high] = [bounded(least), bounded(most)];
  if (!(high > low)) return valueAxis(low, high, unit);
  const air = (high - low) * 0.04;
  return fixedAxis(low - air, high + air, unit);
}

const tickOf = (scale: Scale, digits: number) => (value: number) => ({
  value: value * scale.factor,
  text: formatScaled(value * scale.factor, scale, digits),
});

const kSuperscripts = "⁰¹²³⁴⁵⁶⁷⁸⁹";

// "0.01", "500", "2·10⁻⁵".
function powerText(mantissa: number, power: number): string {
  if (power >= -3 && power <= 3) return formatScaled(mantissa * 10 ** power, kPlain);
  const digits = [...String(Math.abs(power))].map((d) => kSuperscripts[Number(d)]).join("");
  const ten = `10${power < 0 ? "⁻" : ""}${digits}`;
  return mantissa === 1 ? ten : `${mantissa}·${ten}`;
}

const kPlain: Scale = { factor: 1, mark: "", unit: "" };

// Smaller numbers have no full precision.
const kMinPower = 1e-300;

// Decades, with 2 and 5 of each where there are few; `low` > 0.
export function logAxis(low: number, high: number, unit: string): ValueAxis {
  const scale = scaleFor(unit, 1);
  const least = Math.min(Math.max(low / scale.factor, kMinPower), kGreatest);
  const most = Math.max(bounded(high / scale.factor), least);
  const few = Math.log10(most) - Math.log10(least) < 2;
  const mantissas = few ? [1, 2, 5] : [1];
  const first = Math.floor(Math.log10(least) + 1e-9);
  const end = Math.ceil(Math.log10(most) - 1e-9) + 1;
  const steps: { value: number; mantissa: number; power: number }[] = [];
  for (let power = first; power <= end; power++)
    for (const mantissa of mantissas)
      steps.push({ value: mantissa * 10 ** power, mantissa, power });
  let from = steps.findLastIndex((step) => step.value <= least * (1 + 1e-9));
  let to = steps.findIndex((step) => step.value >= most * (1 - 1e-9));
  if (from < 0) from = 0;
  if (to <= from) to = from + 1;
  const inside = steps.slice(from, to + 1);
  const every = Math.ceil((inside.length - 1) / 4);
  const ticks = inside
    .filter((_, i) => i % every === 0)
    .map(({ value, mantissa, power }) => ({
      value: value * scale.factor,
      text: powerText(mantissa, power),
    }));
  const ends = [inside[0], inside.at(-1)] as [(typeof steps)[0], (typeof steps)[0]];
  const [a, b] = ends.map((step) => step.value * scale.factor) as [number, number];
  return { from: a, to: b, scale, ticks, log: true };
}

// An axis ends on a tick unless that leaves a fifth of it empty; then it ends a little beyond the data.
function trimmed(
  ticks: Tick[],
  low: number,
  high: number,
): Pick<ValueAxis, "from" | "to" | "ticks"> {
  let from = (ticks[0] as Tick).value;
  let to = (ticks[ticks.length - 1] as Tick).value;
  const span = to - from;
  const room = (high - low) * 0.04;
  if (to - high > span / 5) to = high + room;
  if (low - from > span / 5) from = low - room;
  const inside = ticks.filter((tick) => tick.value >= from && tick.value <= to);
  if (inside.length >= 3) return { from, to, ticks: inside };
  return { from: (ticks[0] as Tick).value, to: (ticks.at(-1) as Tick).value, ticks };
}

// The count of 2–4 intervals that wastes least room, fewer lines when equal.
function niceTicks(low: number, high: number): number[] {
  let best: number[] = [];
  let waste = Number.POSITIVE_INFINITY;
  for (const count of [2, 3, 4, 5]) {
    const ticks = roundTicks(...nice(low, high, count), count);
    if (ticks.length < 3 || ticks.length > 5) continue;
    const span = (ticks[ticks.length - 1] as number) - (ticks[0] as number);
    if ((ticks[0] as number) > low || (ticks[ticks.length - 1] as number) < high) continue;
    if (span < waste * 0.95) {
      best = ticks;
      waste = span;
    }
  }
  if (best.length > 0) return best;
  const [from, to] = nice(low, high, 3);
  return [from, (from + to) / 2, to];
}

// Doubles have no more.
const kMostDigits = 15;

// Enough digits that neighbouring ticks read differently.
export function tickDigits(ticks: number[]): number {
  const largest = Math.max(...ticks.map(Math.abs));
  const step = Math.abs((ticks[1] ?? 1) - (ticks[0] ?? 0));
  if (largest === 0 || step === 0) return 3;
  return Math.min(kMostDigits, Math.max(3, Math.ceil(Math.log10(largest / step) + 1.5)));
}
