// The clocks of a run's hosts on a board: what was recorded by another clock than that of the run's first host is
// moved by their measured difference, so that all of the run stands on one axis. Pure.
import type { ClockPoint, HostClock, RunClocks } from "../api/clocks";
import type { Metric } from "../api/types";
import { formatValue } from "../format/units";

export interface HostShift {
  host: string;
  // By how many seconds its clock is behind, and the bound of the error of that.
  behind: number;
  error: number;
}

// ns, whole, that are added to the times of a host, and of a source of the run ("rank3").
export type Shifts = Readonly<Record<string, number>>;

export interface Clocks {
  shifts: Shifts;
  // The hosts that are moved.
  moved: HostShift[];
  // All hosts whose times may be wrong by more than a pixel; `error`: by how much.
  unsure: HostShift[];
}

// As src/analyze/explain/host_clocks.h has it: two clocks gain on each other by at most this part of the time.
const kDrift = 100e-6;

function reading({ points }: HostClock, at: number): Omit<ClockPoint, "at"> {
  let [low, high] = [0, points.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((points[middle] as ClockPoint).at <= at) low = middle + 1;
    else high = middle;
  }
  const [a, b] = [points[low - 1], points[low]];
  if (a === undefined || b === undefined) {
    const edge = (a ?? b) as ClockPoint;
    return { offset: edge.offset, error: edge.error + Math.abs(at - edge.at) * kDrift };
  }
  const [length, change] = [b.at - a.at, b.offset - a.offset];
  const near = Math.min(at - a.at, b.at - at);
  const set = Math.abs(change) > length * kDrift + a.error + b.error ? Math.abs(change) : 0;
  return {
    offset: a.offset + (change * (at - a.at)) / length,
    error: Math.max(a.error, b.error) + near * kDrift + (Math.abs(change) * near) / length + set,
  };
}

// `at`: seconds since 1970; `pixel`: how many seconds one pixel column shows there. A small part of that is not seen, and
// a shift that followed each drift would make all charts ask again. Clocks that agree within their errors are left
// alone. `raw`: nothing is moved.
export function clocksOf(
  { first, clocks }: RunClocks,
  { at, pixel, raw }: { at: number; pixel: number; raw: boolean },
): Clocks | null {
  const own = clocks.find(({ host }) => host === first);
  if (own === undefined) return null;
  const zero = reading(own, at);
  const step = Math.max(1, 2 ** Math.floor(Math.log2(pixel * 1e9 * 0.25)));
  const shifts = new Map<string, number>();
  const ranks = new Map<string, Set<number>>();
  const [moved, unsure]: [HostShift[], HostShift[]] = [[], []];
  for (const clock of clocks) {
    const { host } = clock;
    const now = reading(clock, at);
    const [behind, error] = [now.offset - zero.offset, now.error + zero.error];
    const ns = Math.abs(behind) <= error ? 0 : Math.round((behind * 1e9) / step) * step;
    for (const rank of clock.ranks) {
      const name = `rank${rank}`;
      ranks.set(name, (ranks.get(name) ?? new Set()).add(ns));
    }
    if (host === first) continue;
    const left = Math.abs(behind - (raw ? 0 : ns / 1e9)) + error;
    if (left > pixel) unsure.push({ host, behind, error: left });
    if (ns === 0) continue;
    shifts.set(host, ns);
    moved.push({ host, behind, error });
  }
  // A rank that started again by another clock stays as it was recorded.
  for (const [name, values] of ranks) {
    const [ns = 0] = values;
    if (values.size === 1 && ns !== 0) shifts.set(name, ns);
  }
  return { shifts: raw ? {} : Object.fromEntries(shifts), moved, unsure };
}

const shiftBy = (shifts: Shifts | undefined, name: string): number =>
  shifts !== undefined && Object.hasOwn(shifts, name) ? (shifts[name] as number) : 0;

// The shift of a series is that of its host, or of the process that is the first part of its source.
export const shiftOfSeries = (
  shifts: Shifts | undefined,
  { host, source }: Pick<Metric, "host" | "source">,
): number => shiftBy(shifts, host ?? (source.split("/")[0] as string));

// A lane begins with its host.
export const shiftOfLane = (shifts: Shifts | undefined, lane: string): number =>
  shiftBy(shifts, lane.split("/")[0] as string);

const kMostNamed = 3;
const exactly = (error: number) => `± ${formatValue(error, "s", 2)}`;

// "node2 100 ms ahead (± 300 µs)", of the hosts with the greatest differences.
export function movedWords(hosts: readonly HostShift[]): string {
  const words = hosts
    .toSorted((a, b) => Math.abs(b.behind) - Math.abs(a.behind))
    .slice(0, kMostNamed)
    .map(({ host, behind, error }) => {
      const way = behind > 0 ? "behind" : "ahead";
      return `${host} ${formatValue(Math.abs(behind), "s", 3)} ${way} (${exactly(error)})`;
    });
  const left = hosts.length - words.length;
  return words.join(", ") + (left > 0 ? ` and ${left} more` : "");
}

// Names the greatest error of hosts whose times may be wrong by more than a pixel.
export const unsureWords = (hosts: readonly HostShift[]): string =>
  `Between hosts, times are known to ${exactly(Math.max(...hosts.map(({ error }) => error)))}: more than a pixel.`;
