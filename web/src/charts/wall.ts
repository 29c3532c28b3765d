// Ticks of a wall clock in a time zone: whole local hours and days, with the date wherever a day begins. Pure;
// the zones are those of the platform (Intl).
import { mostTicks, type Tick } from "./axis";
import type { XAxisSpec } from "./spec";

const kDay = 86400;
const kSteps = [
  1,
  2,
  5,
  10,
  15,
  30,
  60,
  120,
  300,
  600,
  900,
  1800,
  3600,
  7200,
  10800,
  21600,
  43200,
  kDay,
  2 * kDay,
  7 * kDay,
];
const kMonths = [
  "Jan",
  "Feb",
  "Mar",
  "Apr",
  "May",
  "Jun",
  "Jul",
  "Aug",
  "Sep",
  "Oct",
  "Nov",
  "Dec",
];

const clocks = new Map<string, Intl.DateTimeFormat>();

function clockOf(zone: string): Intl.DateTimeFormat {
  let clock = clocks.get(zone);
  if (clock === undefined) {
    clock = new Intl.DateTimeFormat("en-GB", {
      ...(zone === "" ? {} : { timeZone: zone }),
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
      hourCycle: "h23",
    });
    clocks.set(zone, clock);
  }
  return clock;
}

// Seconds that a zone's clock is ahead of UTC at a moment.
function ahead(zone: string, seconds: number): number {
  const whole = Math.floor(seconds);
  const parts: Record<string, number> = {};
  for (const { type, value } of clockOf(zone).formatToParts(whole * 1000))
    parts[type] = Number(value);
  const { year, month, day, hour, minute, second } = parts as Record<string, number>;
  const local = Date.UTC(
    year as number,
    (month as number) - 1,
    day as number,
    hour as number,
    minute as number,
    second as number,
  );
  return local / 1000 - whole;
}

// The moment at which the zone's clock shows `local`, seconds as if it were UTC.
function momentOf(zone: string, local: number): number {
  const guess = local - ahead(zone, local);
  return local - ahead(zone, guess);
}

const two = (n: number) => String(n).padStart(2, "0");

function dayText(local: number): string {
  const at = new Date(local * 1000);
  return `${at.getUTCDate()} ${kMonths[at.getUTCMonth()]}`;
}

function clockText(local: number, step: number): string {
  const of = ((local % kDay) + kDay) % kDay;
  const hours = `${two(Math.floor(of / 3600))}:${two(Math.floor(of / 60) % 60)}`;
  if (step >= 60) return hours;
  const decimals = step >= 1 ? 0 : Math.min(6, Math.ceil(-Math.log10(step) - 1e-9));
  return `${hours}:${(of % 60).toFixed(decimals).padStart(decimals > 0 ? 3 + decimals : 2, "0")}`;
}

function stepFor(least: number): number {
  if (least <= 0.5) {
    const power = 10 ** Math.floor(Math.log10(least));
    for (const m of [1, 2, 5, 10]) if (m * power >= least * (1 - 1e-9)) return m * power;
  }
  return kSteps.find((step) => step >= least) ?? 0;
}

// First days of every `count`-th month.
function monthTicks(zone: string, range: { from: number; to: number }, least: number): Tick[] {
  const months = least / (30 * kDay);
  const count = [1, 3, 6, 12].find((n) => n >= months) ?? Math.ceil(months / 12) * 12;
  const begin = new Date((range.from + ahead(zone, range.from)) * 1000);
  const ticks: Tick[] = [];
  for (let m = Math.floor(begin.getUTCMonth() / count) * count; ticks.length < 100; m += count) {
    const local = Date.UTC(begin.getUTCFullYear(), m, 1) / 1000;
    const value = momentOf(zone, local);
    if (value > range.to) break;
    const at = new Date(local * 1000);
    const month = at.getUTCMonth();
    const text = month === 0 ? String(at.getUTCFullYear()) : (kMonths[month] as string);
    if (value >= range.from) ticks.push({ value, text });
  }
  return ticks;
}

// The day on which an axis begins, and its zone: "21 Nov 2026, UTC+1".
export function wallWords(x: XAxisSpec): string {
  const offset = ahead(x.zone ?? "", x.from);
  const minutes = Math.round(Math.abs(offset) / 60);
  const rest = minutes % 60 === 0 ? "" : `:${two(minutes % 60)}`;
  const sign = minutes === 0 ? "" : `${offset < 0 ? "−" : "+"}${Math.floor(minutes / 60)}${rest}`;
  const local = x.from + offset;
  return `${dayText(local)} ${new Date(local * 1000).getUTCFullYear()}, UTC${sign}`;
}

export function wallTicks(
  x: XAxisSpec,
  at: { width: number; spacing: number },
): { ticks: Tick[]; note: string } {
  const zone = x.zone ?? "";
  const most = mostTicks(at);
  const least = (x.to - x.from) / most;
  const step = stepFor(least);
  const first = x.from + ahead(zone, x.from);
  const name = x.zone ?? clockOf("").resolvedOptions().timeZone;
  const note = `${dayText(first)} ${new Date(first * 1000).getUTCFullYear()}, ${name}`;
  if (step === 0) return { ticks: monthTicks(zone, x, least), note };
  const ticks: Tick[] = [];
  // Weeks begin on Mondays; 1970 did on a Thursday.
  const shift = step === 7 * kDay ? 4 * kDay : 0;
  // If the clock is put back, some local times of the range lie outside those of its ends.
  const after = ahead(zone, x.to);
  const room = x.from + after === first ? step * 1e-9 : 3600;
  const end = x.to + after + room;
  for (let i = Math.ceil((first - room - shift) / step); i * step + shift <= end; i++) {
    const local = i * step + shift;
    const value = momentOf(zone, local);
    const before = ticks.at(-1);
    if (value < x.from - step * 1e-9 || value > x.to + step * 1e-9) continue;
    if (before !== undefined && value <= before.value) continue;
    const midnight = Math.abs(local / kDay - Math.round(local / kDay)) * kDay < step / 2;
    const text = midnight || step >= kDay ? dayText(Math.round(local)) : clockText(local, step);
    ticks.push({ value, text });
  }
  return { ticks, note };
}
