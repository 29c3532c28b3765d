import { describe, expect, it } from "vitest";
import type { Columns } from "../api/columns";
import { kGroup, type LineAnswer } from "../api/lines";
import type { Charts } from "../api/useCharts";
import { kLight } from "../charts/theme";
import { plainChoice } from "./choice";
import { derivedChart, derivedValues, isExpression, problemsOf } from "./derived";
import { groupAnswer, groupsOf } from "./groups";
import { computedLines, linesOf, type Making } from "./lines";
import type { ChartDef, LineDef, ShownRun } from "./model";
import { seriesOf } from "./question";
import { makingOf, resolve } from "./resolve";

const run = (id: string, index: number, workload = "w"): ShownRun => ({
  id,
  name: `run ${id}`,
  index,
  origin: BigInt(index * 100),
  start: 0,
  end: 10,
  running: false,
  workload,
  workloadName: "1",
  experiment: "e",
  params: { lr: index },
  tags: {},
});

const line = (series: number, of: string, part: Partial<LineDef> = {}): LineDef => ({
  key: of,
  label: `run ${of}`,
  series,
  run: of,
  source: "",
  shared: false,
  origin: of === "b" ? 100n : 0n,
  colour: 0,
  dash: 0,
  spacing: 1,
  stepping: 1,
  steps: [0, 10],
  least: 0,
  greatest: 1,
  ...part,
});
const chart = (name: string, lines: LineDef[], unit = ""): ChartDef => {
  return { name, unit, group: "software", description: "", flat: false, lines, left: 0 };
};
const gpu = (series: number, source: string, host = "n1") =>
  line(series, "a", { key: `host/${source}`, label: source, source, host, shared: true });

const runs = [run("a", 0), run("b", 1)];
const loss = chart("loss", [line(1, "a"), line(2, "b")]);
const speed = chart("speed", [line(3, "a"), line(4, "b")]);
const power = chart("gpu.power", [gpu(5, "gpu0"), gpu(6, "gpu1")], "W");
const busy = chart("gpu.busy", [gpu(7, "gpu1"), gpu(8, "gpu0")], "%");
const defs = [loss, speed, power, busy];

const made = (text: string, at = { defs, runs }) => {
  const found = derivedChart(text, at);
  if (found.def === null) throw new Error(found.wrong);
  return found.def;
};
const inputs = ({ lines }: ChartDef) =>
  lines.map(({ made }) => made?.inputs.map(({ line }) => line.series));

describe("the chart of an expression", () => {
  it("has a line for each run that has all of its metrics", () => {
    const { lines } = made("loss / speed");
    expect(lines.map(({ key, label }) => [key, label])).toEqual([
      ["a", "run a"],
      ["b", "run b"],
    ]);
    expect(inputs(made("loss / speed"))).toEqual([
      [1, 3],
      [2, 4],
    ]);
    const some = { defs: [loss, chart("speed", [line(4, "b")])], runs };
    expect(made("loss / speed", some).lines.map(({ key }) => key)).toEqual(["b"]);
  });

  it("has a line for each device, with the metrics of the same", () => {
    const def = made("gpu.power / gpu.busy");
    expect(def.lines.map(({ key }) => key)).toEqual(["host/gpu0", "host/gpu1"]);
    expect(inputs(def)).toEqual([
      [5, 8],
      [6, 7],
    ]);
    const hosts = [
      chart("p", [gpu(1, "", "n1"), gpu(2, "", "n2")]),
      chart("q", [gpu(3, "", "n2")]),
    ];
    expect(inputs(made("p - q", { defs: hosts, runs: [run("a", 0)] }))).toEqual([[2, 3]]);
  });

  it("combines a device with each run of its workload, on the run's own axis", () => {
    const def = made("gpu.power / speed");
    expect(def.lines.map(({ key, label, origin }) => [key, label, origin])).toEqual([
      ["a/gpu0", "run a gpu0", 0n],
      ["a/gpu1", "run a gpu1", 0n],
      ["b/gpu0", "run b gpu0", 100n],
      ["b/gpu1", "run b gpu1", 100n],
    ]);
    expect(def.lines[2]?.made?.inputs[0]?.line.origin).toBe(100n);
  });

  it("moves each input by the clock that recorded it", () => {
    const moved = (series: number, source: string, shift: number) =>
      line(series, "a", { key: `a/${source}`, source, origin: BigInt(1000 - shift), shift });
    const charts = [
      chart("x", [moved(1, "rank0", 0), moved(2, "rank1", 50)]),
      chart("y", [moved(3, "rank0", 0), moved(4, "rank1", 50)]),
      chart("z", [gpu(5, "gpu0")]),
    ];
    const origins = (text: string) =>
      made(text, { defs: charts, runs: [{ ...run("a", 0), origin: 1000n }] }).lines.map((one) =>
        one.made?.inputs.map((input) => input.line.origin),
      );
    expect(origins("x / y")).toEqual([
      [1000n, 1000n],
      [950n, 950n],
    ]);
    expect(origins("x * z")).toEqual([
      [1000n, 1000n],
      [950n, 1000n],
    ]);
  });

  it("keeps the unit and says what it is of", () => {
    expect(made("gpu.power * 2")).toMatchObject({ unit: "W", name: "gpu.power * 2" });
    expect(made("loss + speed").description).toBe("computed from loss, speed");
  });

  it("is the metric itself where a name alone is in backticks", () => {
    const odd = chart("a - b", [line(9, "a")]);
    expect(made("`a - b`", { defs: [odd], runs })).toBe(odd);
    const [plain] = resolve([plainChoice("a - b")], [odd], runs);
    expect(plain?.def).toBe(odd);
  });

  it("says why there is none", () => {
    const wrong = (text: string) => derivedChart(text, { defs, runs });
    expect(wrong("los * 2")).toMatchObject({
      wrong: expect.stringContaining("did you mean 'loss'"),
      near: ["loss"],
    });
    expect(wrong("1 + 1")).toMatchObject({ wrong: "an expression needs a metric" });
    const apart = { defs: [chart("x", [line(1, "a")]), chart("y", [line(2, "b")])], runs };
    expect(derivedChart("x + y", apart)).toMatchObject({
      wrong: "no run has all of x, y, each for one device",
    });
  });

  it("is told where the address has one that cannot be drawn, and not of plain names", () => {
    expect(
      problemsOf(["loss", "gone", "val/loss", "loss / sped"].filter(isExpression), { defs, runs }),
    ).toEqual([
      { name: "loss / sped", wrong: "column 8: no metric 'sped'; did you mean 'speed'?" },
    ]);
  });
});

const mean = (values: number[], counts: number[]): LineAnswer => ({
  kind: "mean",
  exact: true,
  interval: 0,
  points: 0,
  lost: 0,
  units: 0,
  merged: 0,
  arrays: [values, values, values, counts].map((all) => Float64Array.from(all)),
});

const none = Number.NaN;

function answerOf(
  lines: [string, LineAnswer][],
  series: [number, Partial<Columns>][] = [],
): Charts {
  return {
    series: new Map(series) as Map<number, Columns>,
    lines: new Map(lines),
    pairs: new Map(),
    over: null,
    from: 0,
    to: 4,
    width: 4,
    exact: true,
    growing: false,
    asked: { axis: "time", series: [], lines: [], from: 0, to: 4, width: 4, revision: 0 },
  };
}

const making = (part: Partial<Making> = {}): Making => ({
  ...makingOf(runs, {}, { axis: "workload", x: null }),
  ...part,
});
const at = (part: Partial<Making> = {}) => ({
  making: making(part),
  theme: kLight,
  hidden: new Set<string>(),
});

describe("the lines of an expression", () => {
  const def = made("loss / speed");
  const answer = answerOf([
    ["input/1@0", mean([8, none, 4, 2], [1, 0, 3, 1])],
    ["input/3@0", mean([2, none, none, none], [1, 0, 0, 0])],
    ["input/2@100", mean([1, 1, 1, 1], [1, 1, 1, 1])],
    ["input/4@100", mean([1, 0, 4, 2], [1, 1, 1, 1])],
  ]);

  it("are asked for as means of each series, once", () => {
    const asked = computedLines([def, made("speed + loss")], making());
    expect(asked.map(({ key }) => key)).toEqual([
      "input/1@0",
      "input/3@0",
      "input/2@100",
      "input/4@100",
    ]);
    expect(asked[2]).toMatchObject({ kind: "mean", series: [2], origins_ns: ["100"] });
    expect(computedLines([def], making({ computes: false }))).toEqual([]);
  });

  it("are computed per column, with the value before up to ten times the usual distance", () => {
    const [a, b] = linesOf(def, answer, at());
    expect([...(a?.curve?.value ?? [])]).toEqual([4, none, 2, 1]);
    expect(a).toMatchObject({ data: null, expression: "loss / speed" });
    expect([...(b?.curve?.value ?? [])]).toEqual([1, none, 0.25, 0.5]);
    expect(b?.told).toBe("values that are not finite left out");
    // By steps only values of the same step are a pair.
    const byStep = linesOf(def, answer, at({ onTime: false }));
    expect([...(byStep[0]?.curve?.value ?? [])]).toEqual(
      [none, none, none, none].map((v, i) => (i === 0 ? 4 : v)),
    );
  });

  it("wait until all are answered", () => {
    expect(linesOf(def, answerOf([]), at())[0]?.curve).toBeNull();
  });

  it("are none on an axis without columns of time or steps", () => {
    const [first] = linesOf(def, answer, { ...at({ computes: false }) });
    expect(first?.told).toBe("an expression needs an axis of time, steps or a metric");
  });

  it("can be compared, smoothed and grouped", () => {
    const baseline = { key: "a", label: "run a", as: "ratio" } as const;
    const [, b] = linesOf(def, answer, at({ baseline }));
    expect([...(b?.curve?.value ?? [])]).toEqual([0.25, none, 0.125, 0.5]);
    const smoothing = { method: "mean", amount: 4 } as const;
    const [smooth] = linesOf(def, answer, at({ smoothing }));
    expect(smooth?.curve?.value[0]).toBe(3);
    const grouping = { by: "experiment", show: "mean", band: "range" } as const;
    const [group] = linesOf(def, answer, at({ grouping, groups: groupsOf(runs, grouping) }));
    expect([...(group?.curve?.value ?? [])]).toEqual([2.5, none, 1.125, 0.75]);
    expect([group?.curve?.low?.[0], group?.curve?.high?.[0], group?.note]).toEqual([1, 4, "n = 2"]);
    const ci = { ...grouping, band: "ci" } as const;
    const [told] = linesOf(def, answer, at({ grouping: ci, groups: groupsOf(runs, ci) }));
    expect(told?.told).toBe("no 95 % interval of an expression");
  });

  it("divide by the distance of points for a rate", () => {
    const rate = made("rate(loss)").lines[0] as LineDef;
    const columns = { firstX: Float32Array.of(0.25, 2.5), lastX: Float32Array.of(0.25, 3) };
    const placed = answerOf(
      [["input/1@0", mean([1, none, 6, none], [1, 0, 2, 0])]],
      [[1, columns]],
    );
    const found = derivedValues(rate, { answer: placed, onTime: true });
    expect([...(found?.value ?? [])]).toEqual([none, none, 2, none]);
    // The measured columns of an offline page are finer.
    const finer = {
      firstX: Float32Array.of(0.5, 5.25, 5.75),
      lastX: Float32Array.of(0.5, 5.25, 5.75),
    };
    const series = new Map([[1, finer as Columns]]);
    const offline = derivedValues(rate, { answer: { ...placed, width: 8, series }, onTime: true });
    expect([...(offline?.value ?? [])]).toEqual([none, none, 2, none]);
    const view = {
      axis: "workload",
      making: making(),
      epochs: {},
      shown: runs,
      stretches: [],
    } as const;
    const charts = resolve([plainChoice("rate(loss)"), plainChoice("loss / speed")], defs, runs);
    expect(seriesOf(charts, view).map(({ id }) => id)).toEqual([1, 2]);
  });
});

describe("a group of computed values", () => {
  it("has a run's mean once, and a deviation of two and more", () => {
    const value = (v: number) => Float64Array.of(v);
    const { arrays, units } = groupAnswer([
      { run: "a", value: value(1) },
      { run: "a", value: value(3) },
      { run: "b", value: value(6) },
    ]);
    const of = (place: keyof typeof kGroup) => arrays[kGroup[place]]?.[0];
    expect([units, of("n"), of("mean"), of("least"), of("greatest"), of("sum")]).toEqual([
      2, 2, 4, 2, 6, 8,
    ]);
    expect(of("deviation")).toBeCloseTo(Math.sqrt(8));
    expect([of("lowerQuartile"), of("median"), of("upperQuartile")]).toEqual([3, 4, 5]);
  });
});
