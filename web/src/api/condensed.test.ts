import { describe, expect, it } from "vitest";
import { condense, condensedLength, seenStretches } from "./condensed";
import type { RunEpochs } from "./epochs";
import type { LaneOfEpochs } from "./explain";

const ns = (seconds: number) => String(Math.round(seconds * 1e9));

// Epochs of 10 s from second 5 on; those of `odd` take 30 s.
function given(count: number, odd: number[], lane: Partial<LaneOfEpochs> = {}) {
  let at = 5;
  const epochs = Array.from({ length: count }, (_, index) => {
    const start = at;
    at += odd.includes(index) ? 30 : 10;
    return { index, start_ns: ns(start), end_ns: ns(at) };
  });
  const timeOf = (index: number) => ({
    epoch: index,
    from_ns: epochs[index]?.start_ns ?? "0",
    to_ns: epochs[index]?.end_ns ?? "0",
  });
  const lanes: LaneOfEpochs[] = [
    {
      lane: "a",
      epochs: count,
      left_out: 0,
      regimes: [
        {
          first: 0,
          last: count - 1,
          epochs: count,
          compared: true,
          alike: count - odd.length,
          typical: timeOf(1),
          median_s: 10,
          p10_s: 9.9,
          p90_s: 10.1,
        },
      ],
      odd: odd.map((index) => ({ ...timeOf(index), leaf: null, seconds: 30, usual_s: 10 })),
      odd_epochs: odd.length,
      ...lane,
    },
  ];
  const runEpochs: RunEpochs = {
    run: "r",
    from: "phases",
    first_step_ns: null,
    epochs,
    more: false,
  };
  return { lanes, epochs: runEpochs, origin: 0n, start: 0, end: at + 2 };
}

describe("the condensed axis", () => {
  it("has one typical epoch for those alike, and all else at full scale", () => {
    const pieces = condense(given(20, [7]));
    expect(
      pieces.map(({ fold, from, to, at, odd }) => [fold?.epochs ?? 0, from, to, at, odd]),
    ).toEqual([
      [0, 0, 5, 0, []],
      [7, 15, 25, 5, []],
      [0, 75, 105, 15, [7]],
      [12, 15, 25, 45, []],
      [0, 225, 227, 55, []],
    ]);
    expect(pieces[1]?.fold).toMatchObject({ first: 0, last: 6, typical: 1, from: 5, to: 75 });
    expect(pieces[1]?.fold).toMatchObject({ length: 10, epochs: 7 });
    expect(pieces[1]?.fold?.times.map(({ from, to }) => [from, to]).slice(0, 2)).toEqual([
      [5, 15],
      [15, 25],
    ]);
    expect(condensedLength(pieces)).toBe(57);
  });
  it("holds few of very many times, spread evenly, and counts all epochs", () => {
    const { fold } = condense(given(10_000, []))[1] ?? { fold: null };
    expect([fold?.epochs, fold?.times.length]).toEqual([10_000, 64]);
    expect([fold?.times[0]?.from, fold?.times.at(-1)?.to]).toEqual([5, 100_005]);
  });

  it("shows every odd epoch, of any lane, and an alike one between two of them", () => {
    const at = given(12, [3, 5]);
    const other = given(12, [9]).lanes[0] as LaneOfEpochs;
    const pieces = condense({ ...at, lanes: [...at.lanes, { ...other, lane: "b" }] });
    expect(pieces.flatMap(({ odd }) => odd)).toEqual([3, 5, 9]);
    // Epochs 3 to 5 stand together.
    expect(pieces.filter(({ fold }) => fold).map(({ fold }) => [fold?.first, fold?.last])).toEqual([
      [0, 2],
      [6, 8],
      [10, 11],
    ]);
    const shown = pieces
      .filter(({ fold }) => !fold)
      .reduce((sum, { from, to }) => sum + to - from, 0);
    expect(shown).toBe(5 + 70 + 10 + 2);
  });
  it("shows an odd time between epochs, and the usual one with the typical epoch", () => {
    const at = given(20, []);
    // A second after each epoch, and a minute after the tenth.
    let more = 0;
    at.epochs.epochs = at.epochs.epochs.map((one, i) => {
      const moved = { ...one, start_ns: ns(5 + 10 * i + more), end_ns: ns(15 + 10 * i + more) };
      more += i === 9 ? 60 : 1;
      return moved;
    });
    const pieces = condense({ ...at, end: 5 + 200 + more });
    expect(pieces.map(({ fold, from, to }) => [fold?.epochs ?? 0, to - from])).toEqual([
      [0, 5],
      [10, 11],
      [0, 60],
      [10, 11],
      [0, 1],
    ]);
  });
  it("parts epochs where any lane changes for good, and takes a lane that compares its epochs", () => {
    const at = given(20, []);
    const [lane] = at.lanes as [LaneOfEpochs];
    const [regime] = lane.regimes as [(typeof lane.regimes)[0]];
    const halves = [
      { ...regime, last: 9 },
      { ...regime, first: 10 },
    ];
    const few = { ...lane, regimes: [{ ...regime, compared: false }] };
    const lanes = [few, lane, { ...lane, regimes: halves }];
    const folds = condense({ ...at, lanes }).filter(({ fold }) => fold !== null);
    expect(folds.map(({ fold }) => fold?.epochs)).toEqual([10, 10]);
  });
  it("is empty where nothing is alike or an odd epoch is not known", () => {
    expect(condense(given(12, [], { regimes: [] }))).toEqual([]);
    expect(condense(given(12, [3], { odd_epochs: 2 }))).toEqual([]);
    expect(condense(given(12, [3], { left_out: 1 }))).toEqual([]);
    expect(condense({ ...given(12, []), lanes: [] })).toEqual([]);
    expect(condensedLength([])).toBe(0);
  });
  it("is cut to what is seen", () => {
    const seen = seenStretches(condense(given(20, [7])), { from: 10, to: 20 });
    expect(seen.map(({ from, to, at, until }) => [from, to, at, until])).toEqual([
      [20, 25, 10, 15],
      [75, 80, 15, 20],
    ]);
  });
});
