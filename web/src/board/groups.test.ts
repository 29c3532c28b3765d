import { describe, expect, it } from "vitest";
import { groupsOf } from "./groups";
import type { ShownRun } from "./model";

const run = (id: string, lr: string): ShownRun => ({
  id,
  name: id,
  index: 0,
  origin: 0n,
  start: 0,
  end: 1,
  running: false,
  workload: `w${lr}`,
  workloadName: null,
  experiment: "e",
  params: { lr },
  tags: {},
});
const colours = (runs: ShownRun[], by = "param:lr") =>
  Object.fromEntries(
    groupsOf(runs, { by, show: "mean", band: "none" }).map(({ key, index }) => [key, index]),
  );

describe("colours of groups", () => {
  const values = Array.from({ length: 8 }, (_, i) => `0.${i + 1}`);
  const runs = values.map((lr, i) => run(`r${i}`, lr));

  it("stay when more groups come, wherever their labels sort", () => {
    for (let n = 1; n < runs.length; n++) {
      const before = colours(runs.slice(0, n));
      const sorted = run("z", "0.05");
      expect(colours([...runs.slice(0, n), runs[n] as ShownRun, sorted])).toMatchObject(before);
    }
  });

  it("do not depend on how many runs a group has, nor on how its runs are called", () => {
    const pair = [run("a", "0.1"), run("b", "0.2")];
    const more = [run("c", "0.1"), run("d", "0.1"), run("e", "0.2"), run("a", "0.1")];
    expect(colours(more)).toEqual(colours(pair));
  });

  it("differ among as many groups as there are hues", () => {
    expect(new Set(Object.values(colours(runs))).size).toBe(8);
  });

  it("are listed by label", () => {
    const groups = groupsOf([run("a", "10"), run("b", "9")], {
      by: "param:lr",
      show: "mean",
      band: "none",
    });
    expect(groups.map(({ label }) => label)).toEqual(["lr 9", "lr 10"]);
  });
});
