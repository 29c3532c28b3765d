// The condensed axis of a run: epochs that are alike are one of them, the typical one, and all other time stands at full
// scale. So a run of weeks fits on a screen, and nothing that is odd is hidden. Pure.
import { secondsSince } from "../format/time";
import type { RunEpochs } from "./epochs";
import type { LaneOfEpochs, Regime } from "./explain";

// A piece of the axis: a time of the run, in seconds since its origin.
export interface Stretch {
  from: number;
  to: number;
  // Seconds on the axis, where it begins.
  at: number;
  // The alike epochs that it stands for; null: none but itself.
  fold: Fold | null;
  // The odd epochs in it.
  odd: number[];
}

export interface Fold {
  epochs: number;
  first: number;
  last: number;
  typical: number;
  p10_s: number;
  p90_s: number;
  // Length of the typical one, seconds.
  length: number;
  // Begin and end of each in order; of many epochs at most kMostTimes, spread evenly.
  times: readonly Pick<Stretch, "from" | "to">[];
  // The time of all of them.
  from: number;
  to: number;
}

export const kMostTimes = 64;

// At most `most` of all, the first and the last among them.
export function evenly<T>(all: readonly T[], most: number): readonly T[] {
  if (all.length <= most) return all;
  const step = (all.length - 1) / (most - 1);
  return Array.from({ length: most }, (_, i) => all[Math.round(i * step)] as T);
}

interface Timed {
  index: number;
  from: number;
  to: number;
}

const lengthOf = ({ from, to }: Pick<Stretch, "from" | "to">) => to - from;

export const condensedLength = (stretches: readonly Stretch[]): number => {
  const last = stretches.at(-1);
  return last === undefined ? 0 : last.at + lengthOf(last);
};

// The typical epoch stands with the usual time until the next one begins.
function foldOf(
  group: readonly Timed[],
  regime: Regime,
  at: { origin: bigint; gap: number },
): Omit<Stretch, "at"> {
  const [first, last] = [group[0] as Timed, group.at(-1) as Timed];
  const { typical, p10_s = 0, p90_s = 0 } = regime;
  const window = typical ?? { from_ns: "0", to_ns: "0", epoch: 0 };
  const from = secondsSince(window.from_ns, at.origin);
  const length = secondsSince(window.to_ns, at.origin) - from;
  return {
    from,
    to: from + length + at.gap,
    fold: {
      epochs: group.length,
      first: first.index,
      last: last.index,
      typical: window.epoch,
      p10_s,
      p90_s,
      length,
      times: evenly(group, kMostTimes),
      from: first.from,
      to: last.to,
    },
    odd: [],
  };
}

interface Condensing {
  lanes: readonly LaneOfEpochs[];
  epochs: RunEpochs;
  origin: bigint;
  // The begin and end of the run, in seconds since the origin.
  start: number;
  end: number;
}

// A gap between epochs is odd beyond twice the usual one and this part of the typical epoch.
const kOddGap = 0.03;

// Epochs of a regime that no lane finds odd, two or more in a row, are one piece. Empty: nothing is alike, or not every
// odd epoch is known.
export function condense({ lanes, epochs, origin, start, end }: Condensing): Stretch[] {
  const compared = lanes.map(({ regimes }) =>
    regimes.filter((regime) => regime.compared && regime.typical),
  );
  const regimes = compared.find((some) => some.length > 0) ?? [];
  if (lanes.some((lane) => lane.odd_epochs > lane.odd.length || lane.left_out > 0)) return [];
  const odd = new Set(lanes.flatMap((lane) => lane.odd.map(({ epoch }) => epoch)));
  const regimeIn = (some: readonly Regime[], { index }: Timed) =>
    some.find(({ first, last }) => first <= index && index <= last);
  const regimeOf = (one: Timed) => (odd.has(one.index) ? undefined : regimeIn(regimes, one));
  const alike = (a: Timed, b: Timed) =>
    !odd.has(b.index) && compared.every((some) => regimeIn(some, a) === regimeIn(some, b));
  const timed = epochs.epochs.flatMap(({ index, start_ns, end_ns }) =>
    end_ns === null
      ? []
      : [{ index, from: secondsSince(start_ns, origin), to: secondsSince(end_ns, origin) }],
  );
  const gaps = timed.slice(1).map((one, i) => Math.max(0, one.from - (timed[i] as Timed).to));
  const gap = gaps.toSorted((a, b) => a - b)[gaps.length >> 1] ?? 0;
  const pieces: Omit<Stretch, "at">[] = [];
  let from = start;
  let seen: number[] = [];
  const showUntil = (to: number) => {
    if (to > from) pieces.push({ from, to, fold: null, odd: seen });
    seen = [];
  };
  for (let i = 0; i < timed.length; ) {
    const one = timed[i] as Timed;
    const regime = regimeOf(one);
    const most = 2 * gap + kOddGap * (regime?.median_s ?? 0);
    let after = i + 1;
    while (
      regime &&
      after < timed.length &&
      alike(one, timed[after] as Timed) &&
      (gaps[after - 1] as number) <= most
    )
      after++;
    if (regime && after - i > 1) {
      showUntil(one.from);
      const fold = foldOf(timed.slice(i, after), regime, { origin, gap });
      pieces.push(fold);
      from = Math.max(from, fold.fold?.to ?? from);
    } else if (odd.has(one.index)) seen.push(one.index);
    i = after;
  }
  showUntil(end);
  return pieces.some(({ fold }) => fold !== null) ? placed(pieces) : [];
}

function placed(pieces: readonly Omit<Stretch, "at">[]): Stretch[] {
  let at = 0;
  return pieces.map((piece) => {
    const stretch = { ...piece, at };
    at += lengthOf(piece);
    return stretch;
  });
}

// The stretches within a range of the axis: the place of each, and the part of its time that is seen.
export function seenStretches(
  stretches: readonly Stretch[],
  range: { from: number; to: number },
): { stretch: Stretch; from: number; to: number; at: number; until: number }[] {
  return stretches.flatMap((stretch) => {
    const at = Math.max(stretch.at, range.from);
    const until = Math.min(stretch.at + lengthOf(stretch), range.to);
    if (!(until > at)) return [];
    const timeOf = (x: number) => stretch.from + (x - stretch.at);
    return [{ stretch, from: timeOf(at), to: timeOf(until), at, until }];
  });
}
