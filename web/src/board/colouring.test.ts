import { expect, it } from "vitest";
import { kRampFirst, kRampSteps, kUncoloured } from "../charts/theme";
import { colouredBy } from "./colouring";
import type { ShownRun } from "./model";

const run = (id: string, index: number, lr: ShownRun["params"][string]): ShownRun => ({
  ...{ id, name: id, index, origin: 0n, start: 0, end: 1, running: false },
  ...{
    workload: id,
    workloadName: null,
    experiment: "e",
    tags: { kind: id < "c" ? "old" : "new" },
  },
  params: lr === null ? {} : { lr },
});
const runs = [run("a", 0, 0.001), run("b", 1, "0.01"), run("c", 2, 0.1), run("d", 3, null)];
const last = kRampFirst + kRampSteps - 1;

it("gives numbers a place on a scale, of logarithms where they are decades", () => {
  const { runs: found, legend } = colouredBy(runs, "param:lr");
  const places = found.map(({ index }) => index);
  expect(places[0]).toBe(kRampFirst);
  expect(Math.abs((places[1] as number) - (kRampFirst + last) / 2)).toBeLessThanOrEqual(0.5);
  expect(places.slice(2)).toEqual([last, kUncoloured]);
  expect(found.map(({ dash }) => dash)).toEqual([0, 1, 2, 3]);
  expect(legend).toEqual({
    ...{ kind: "numbers", name: "lr", least: 0.001, greatest: 0.1, log: true, without: 1 },
  });
  const even = [run("a", 0, 10), run("b", 1, 30), run("c", 2, 20)];
  const linear = colouredBy(even, "param:lr");
  expect(linear.legend).toMatchObject({ log: false, without: 0 });
  expect(linear.runs.map(({ index }) => index - kRampFirst)).toEqual([0, kRampSteps - 1, 32]);
});

it("gives words a colour each, the same with other runs beside", () => {
  const { runs: found, legend } = colouredBy(runs, "tag:kind");
  const [a, b, c, d] = found.map(({ index }) => index);
  expect([a === b, c === d, a === c]).toEqual([true, true, false]);
  expect(legend).toMatchObject({ kind: "words", name: "kind" });
  expect(legend?.kind === "words" && legend.entries.map(({ label }) => label)).toEqual([
    "kind new",
    "kind old",
  ]);
  const fewer = colouredBy(runs.slice(1), "tag:kind").runs;
  expect(fewer.map(({ index }) => index)).toEqual([b, c, d]);
  // A single number among words is a word.
  const mixed = [run("a", 0, 1), run("b", 1, "auto")];
  expect(colouredBy(mixed, "param:lr").legend?.kind).toBe("words");
});

it("leaves the colours as they are where nothing is asked for", () => {
  expect(colouredBy(runs, undefined)).toEqual({ runs, legend: null });
  expect(colouredBy(runs, "nonsense")).toEqual({ runs, legend: null });
  expect(colouredBy(runs.slice(0, 1), "param:lr").legend).toBeNull();
});
