import { describe, expect, it } from "vitest";
import type { Phase } from "../api/types";
import type { ShownRun } from "./model";
import { phaseOfRegion } from "./samePhase";

const phase = (name: string, from: number, to: number | null, lane = "main"): Phase => ({
  id: `${lane} ${from}`,
  parent: null,
  name,
  type: name,
  kind: "compute",
  lane,
  start_ns: String(from * 1e9),
  end_ns: to === null ? null : String(to * 1e9),
  attributes: {},
});
const run = (id: string, origin: number) =>
  ({ id, origin: BigInt(origin) * 1_000_000_000n }) as ShownRun;

describe("the phase that a region is", () => {
  const phases = {
    a: [
      phase("epoch", 0, 10),
      phase("epoch", 10, 20),
      phase("eval", 18, 20),
      phase("epoch", 20, null),
    ],
    b: [phase("epoch", 100, 130), phase("epoch", 104, 131, "rank1")],
  };
  const runs = [run("a", 0), run("b", 100)];
  it("has a name and a number in its lane", () => {
    expect(phaseOfRegion(runs, phases, { from: 10, to: 20 })).toEqual({ name: "epoch", index: 1 });
    expect(phaseOfRegion(runs, phases, { from: 9.6, to: 20.7 })).toEqual({
      name: "epoch",
      index: 1,
    });
    expect(phaseOfRegion(runs, phases, { from: 18, to: 20 })).toEqual({ name: "eval", index: 0 });
  });
  it("is one on the run's own time", () => {
    expect(phaseOfRegion(runs, phases, { from: 4, to: 31 })).toEqual({ name: "epoch", index: 0 });
  });
  it("is none when it is not much like any, or the phase still lasts", () => {
    expect(phaseOfRegion(runs, phases, { from: 15, to: 17 })).toBeNull();
    expect(phaseOfRegion([run("a", 0)], phases, { from: 20, to: 30 })).toBeNull();
    expect(phaseOfRegion(runs, {}, { from: 0, to: 10 })).toBeNull();
  });
});
