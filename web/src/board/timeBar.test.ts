import { describe, expect, it } from "vitest";
import type { LaneTimes, TimePart } from "../api/explain";
import { inOrderOf, partsOfLane, piecesOf } from "./timeBar";

const leaf = (name: string, share: number, more: Partial<TimePart> = {}): TimePart => ({
  part: "leaf",
  name,
  type: name,
  kind: "compute",
  seconds: share * 100,
  share,
  phases: 10,
  ...more,
});

describe("pieces of the bar", () => {
  it("say as much as has room", () => {
    const pieces = piecesOf([
      leaf("forward and rest", 0.6),
      leaf("data wait", 0.3, { kind: "wait" }),
      leaf("evaluation", 0.06),
      leaf("optimizer", 0.02),
      leaf("untracked", 0.02, { part: "untracked", type: null, kind: null, phases: 0 }),
    ]);
    expect(pieces.map(({ label }) => label)).toEqual([
      "forward and rest 60\u2009%",
      "data wait 30\u2009%",
      "6\u2009%",
      "",
      "",
    ]);
    expect(pieces.map(({ hatched }) => hatched)).toEqual([false, true, true, false, false]);
    expect(pieces.map(({ plain }) => plain)).toEqual([false, false, false, false, true]);
    expect(pieces[1]?.title).toBe("data wait: 30\u2009%, 30\u2009s, 10 phases");
    expect(pieces[4]?.title).toBe("untracked: 2\u2009%, 2\u2009s");
  });

  it("are few, and none of the time is lost", () => {
    const parts = Array.from({ length: 40 }, (_, i) => leaf(`leaf ${i}`, 1 / 40));
    const pieces = piecesOf(parts);
    expect(pieces).toHaveLength(13);
    expect(pieces[12]?.label).toBe("28 others 70\u2009%");
    expect(pieces.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 12);
    expect(piecesOf([leaf("all", 0.999), leaf("crumb", 0.001)])[1]?.name).toBe("1 other");
    expect(piecesOf([])).toEqual([]);
  });
});

it("parts of a lane add up to its whole, and an empty one is none", () => {
  const lane: LaneTimes = {
    lane: "host/rank0/1/MainThread",
    trains: true,
    steps: 3,
    start_up_s: 1,
    untracked_s: 0,
    shutdown_s: 0.6,
    leaves: [leaf("backward", 0.004), leaf("forward and rest", 0.08)],
  };
  const parts = partsOfLane(lane);
  expect(parts.map(({ name, share }) => [name, share])).toEqual([
    ["forward and rest", 0.8],
    ["start-up", 0.1],
    ["shutdown", 0.06],
    ["backward", 0.04],
  ]);
  expect(parts.map(({ part }) => part)).toEqual(["leaf", "start-up", "shutdown", "leaf"]);
});

it("bars below each other have their parts in one order, the small ones last", () => {
  const first = [leaf("a", 0.6), leaf("b", 0.4)];
  const second = [leaf("b", 0.7), leaf("new", 0.2), leaf("a", 0.099), leaf("crumb", 0.001)];
  const pieces = piecesOf(inOrderOf(first, second));
  expect(pieces.map(({ name }) => name)).toEqual(["a", "b", "new", "1 other"]);
});
