// Times and durations. The server's nanoseconds travel as decimal strings and stay BigInt until they are
// relative to an origin; from there on the page counts in seconds. Pure.
import { later, nanos, nanosBetween } from "./nanos";
import { formatNumber, kThin } from "./units";

export function secondsSince(ns: string, originNs: bigint): number {
  return nanosBetween(nanos(ns), originNs) / 1e9;
}

export function nsAt(seconds: number, originNs: bigint): string {
  return String(later(originNs, Math.round(seconds * 1e9)));
}

// "3:51", "1:02:03", "2 d 4:05"; below a second of `step` with decimals: "0:01.25".
export function formatClock(seconds: number, step = 1): string {
  const decimals = step >= 1 ? 0 : Math.min(6, Math.ceil(-Math.log10(step) - 1e-9));
  const scale = 10 ** decimals;
  const total = Math.round(Math.abs(seconds) * scale) / scale;
  const sign = seconds < 0 && total > 0 ? "−" : "";
  const days = Math.floor(total / 86400);
  const hours = Math.floor((total % 86400) / 3600);
  const minutes = Math.floor((total % 3600) / 60);
  const rest = (total % 60).toFixed(decimals).padStart(decimals > 0 ? 3 + decimals : 2, "0");
  const mm = String(minutes).padStart(2, "0");
  if (days > 0) return `${sign}${days}${kThin}d ${hours}:${mm}${step < 60 ? `:${rest}` : ""}`;
  return hours > 0 ? `${sign}${hours}:${mm}:${rest}` : `${sign}${minutes}:${rest}`;
}

// A span of time in words as short as it gets: "12 ms", "9.42 s", "6:12".
export function formatDuration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return "–";
  const size = Math.abs(seconds);
  if (size >= 59.95) return formatClock(seconds);
  if (size >= 0.9995) return `${formatNumber(seconds, 3)}${kThin}s`;
  if (size === 0) return `0${kThin}s`;
  if (size >= 0.9995e-3) return `${formatNumber(seconds * 1e3, 3)}${kThin}ms`;
  if (size >= 0.9995e-6) return `${formatNumber(seconds * 1e6, 3)}${kThin}µs`;
  return `${formatNumber(seconds * 1e9, 3)}${kThin}ns`;
}

// A running clock must not change its width every tick: whole seconds from the start.
export function formatTicking(seconds: number): string {
  return seconds < 60 ? `${Math.floor(seconds)}${kThin}s` : formatClock(Math.floor(seconds));
}

const kDay = 86_400_000;

// Making a formatter costs a hundred times what using it does, so each is made once, when it is first used.
function formatter(options: Intl.DateTimeFormatOptions): (at: Date) => string {
  let made: Intl.DateTimeFormat | undefined;
  return (at) => {
    made ??= new Intl.DateTimeFormat("en-GB", options);
    return made.format(at);
  };
}
const kTime = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
const clockOf = formatter(kTime);
const secondsOf = formatter({ ...kTime, second: "2-digit" });
const weekdayOf = formatter({ weekday: "short" });
const dateOf = formatter({ day: "numeric", month: "short" });
const fullDateOf = formatter({ day: "numeric", month: "short", year: "numeric" });
const exactOf = formatter({ dateStyle: "full", timeStyle: "long" });

// "07:44:07" today, "Fri 07:44" this week, else "3 Nov 07:44" (with the year when it is another one).
export function formatMoment(ns: string, now: Date): string {
  const at = new Date(Number(BigInt(ns) / 1_000_000n));
  if (at.toDateString() === now.toDateString()) return secondsOf(at);
  const clock = clockOf(at);
  if (now.getTime() - at.getTime() < 6 * kDay && at < now) return `${weekdayOf(at)} ${clock}`;
  const date = at.getFullYear() === now.getFullYear() ? dateOf : fullDateOf;
  return `${date(at)} ${clock}`;
}

// For hover: the whole moment with its zone.
export function formatExactMoment(ns: string): string {
  const at = new Date(Number(BigInt(ns) / 1_000_000n));
  return exactOf(at);
}
