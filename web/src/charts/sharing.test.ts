import { describe, expect, it } from "vitest";
import type { Sharing, SharingLane } from "../api/sharing";
import { hasPlace } from "../board/sharing";
import { kFixedFont } from "./font";
import { drawShared, layoutShared, type SharedLane, sharedAt, sharedHeight } from "./sharing";
import { kLight } from "./theme";

const figures = {
  alone_s: 0,
  shared_s: 0,
  alone: { mean: null, covered_s: 0 },
  shared: { mean: null, covered_s: 0 },
};
const ns = (s: number) => String(1000 + s * 1e9);
const stay = (run: number, from: number, to: number) => ({
  run,
  start_ns: ns(from),
  end_ns: ns(to),
});
const lane = (part: Partial<SharingLane>): SharingLane => ({
  kind: "device",
  name: "gpu0",
  host: "node7",
  device: null,
  profile: null,
  stays: [],
  overlaps: [],
  idle_s: 0,
  ...figures,
  ...part,
});
const run = (name: string, own = true): Sharing["runs"][0] => ({
  id: `id-${name}`,
  name,
  own,
  workload_id: "w",
  workload: "7",
  status: "finished",
  outcome: null,
  collocation: "mps",
  letter: null,
  host: "node7",
  start_ns: ns(0),
  end_ns: ns(30),
  with: [],
  ...figures,
});
const sharing: Sharing = {
  workload_id: "w",
  workload: "7",
  from_ns: ns(0),
  to_ns: ns(30),
  metric: null,
  unit: "",
  runs: [run("a"), run("b"), run("other", false)],
  lanes: [
    lane({
      stays: [stay(0, 0, 20), stay(1, 10, 30), stay(2, 20, 25)],
      overlaps: [
        { start_ns: ns(10), end_ns: ns(20), runs: [0, 1] },
        { start_ns: ns(20), end_ns: ns(25), runs: [1, 2] },
      ],
    }),
    lane({ kind: "instance", name: "gpu0.mig0", device: "gpu0", profile: "3g.20gb" }),
    lane({ kind: "cpus", name: "0-3" }),
    lane({ kind: "cpus", name: "8" }),
    lane({ kind: "host", name: "node7" }),
  ],
};
const lanes = layoutShared(sharing, 1000n);
const gpu = lanes[0] as SharedLane;
const spec = {
  width: 300,
  from: 0,
  to: 30,
  theme: kLight,
  colourOf: (id: string) => (id === "id-a" ? "#123456" : null),
};

describe("lanes of devices", () => {
  it("are called what people call them", () => {
    expect(lanes.map((one) => [one.title, one.about])).toEqual([
      ["gpu0", ""],
      ["gpu0.mig0", "3g.20gb"],
      ["CPUs 0-3", ""],
      ["CPU 8", ""],
      ["host node7", ""],
    ]);
  });

  it("put runs that were there together below one another", () => {
    expect(gpu.stays.map(({ name, start, end, row }) => [name, start, end, row])).toEqual([
      ["a", 0, 20, 0],
      ["b", 10, 30, 1],
      ["other", 20, 25, 0],
    ]);
    expect(gpu.rows).toBe(2);
    expect(sharedHeight(gpu)).toBe(39);
  });

  it("hatch what was shared over their whole height", () => {
    const { marks } = drawShared(gpu, spec, kFixedFont);
    const hatched = marks.flatMap((mark) => (mark.kind === "rect" && mark.hatch ? [mark] : []));
    expect(hatched.map(({ x, width, height }) => [x, width, height])).toEqual([
      [100, 100, 39],
      [200, 50, 39],
    ]);
    const colours = marks.flatMap((mark) =>
      mark.kind === "rect" && mark.alpha > 0.1 && mark.alpha < 0.3 ? [mark.colour] : [],
    );
    expect(colours).toEqual(["#123456", kLight.ink3, kLight.ink3]);
    expect(marks.flatMap((mark) => (mark.kind === "text" ? [mark.text] : []))).toEqual([
      "a",
      "b",
      "other",
    ]);
  });

  it("draw nothing that is out of sight, and few marks of many short stays", () => {
    expect(drawShared(gpu, { ...spec, from: 40, to: 50 }, kFixedFont).marks).toEqual([]);
    const many = layoutShared(
      {
        ...sharing,
        lanes: [lane({ stays: [...Array(20_000).keys()].map((i) => stay(0, i, i + 1)) })],
      },
      1000n,
    )[0] as SharedLane;
    const { marks } = drawShared(many, { ...spec, to: 20_000 }, kFixedFont);
    expect(marks.length).toBeLessThan(2500);
  });

  it("say what is at a place", () => {
    expect(sharedAt(gpu, 5, 5)).toMatchObject({ kind: "stay", stay: { name: "a" }, shared: null });
    expect(sharedAt(gpu, 15, 5)).toMatchObject({
      kind: "stay",
      stay: { name: "a" },
      shared: { names: ["a", "b"], start: 10, end: 20 },
    });
    expect(sharedAt(gpu, 5, 25)).toBeNull();
    expect(sharedAt({ ...gpu, stays: [] }, 22, 5)).toMatchObject({ kind: "shared" });
    expect(sharedAt(gpu, 99, 5)).toBeNull();
  });

  it("are asked for where a run's tags name a place", () => {
    expect(hasPlace({ tags: { "corral.devices": '[{"device":"0"}]' } })).toBe(true);
    expect(hasPlace({ tags: { "corral.plan": "p" } })).toBe(true);
    expect(hasPlace({ tags: { "corral.devices": "[]", "corral.cpus": "" } })).toBe(false);
  });
});
