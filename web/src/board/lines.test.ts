import { describe, expect, it } from "vitest";
import type { Columns } from "../api/columns";
import { kGroup, type LineAnswer } from "../api/lines";
import type { FoldSpread, Spreads } from "../api/spread";
import { type Charts, type ChartsQuestion, grows, sameAxis } from "../api/useCharts";
import { kLight } from "../charts/theme";
import { groupsOf } from "./groups";
import { baselineOf, computedLines, linesOf, type Making, pairAt, spreadWords } from "./lines";
import type { ChartDef, LineDef, ShownRun } from "./model";
import { answerKey } from "./pointer";
import { regionText } from "./view";

const run = (id: string, workload: string, lr: number): ShownRun => ({
  id,
  name: id,
  index: 0,
  origin: 5n,
  start: 0,
  end: 10,
  running: false,
  workload,
  workloadName: workload,
  experiment: "x",
  params: { lr },
  tags: {},
});
const line = (series: number, of: string, shared = false): LineDef => ({
  key: shared ? `host/${series}` : of,
  label: of,
  series,
  run: of,
  source: "",
  shared,
  origin: 5n,
  colour: 0,
  dash: 0,
  spacing: 1,
  stepping: 10,
  steps: null,
  least: 0,
  greatest: 1,
});
const chart = (name: string, lines: LineDef[]): ChartDef => {
  return { name, unit: "", group: "software", description: "", flat: false, lines, left: 0 };
};
const runs = [run("a", "w", 1), run("b", "w", 2), run("c", "v", 2)];
const loss = chart("loss", [line(1, "a"), line(2, "b"), line(3, "c")]);
const plain: Making = {
  runs,
  smoothing: null,
  grouping: null,
  groups: [],
  singles: false,
  baseline: null,
  onTime: true,
  computes: true,
  x: null,
};
const grouped = (part: Partial<Making> = {}): Making => {
  const grouping = { by: "param:lr", show: "mean", band: "range" } as const;
  return { ...plain, grouping, groups: groupsOf(runs, grouping), ...part };
};

function answer(question: Partial<ChartsQuestion>, lines: [string, Float64Array[]][]): Charts {
  const asked: ChartsQuestion = {
    axis: "time",
    series: [],
    lines: [],
    from: 0,
    to: 2,
    width: 2,
    revision: 0,
    ...question,
  };
  const empty = { exact: true, interval: 0, points: 4, lost: 0, units: 2, merged: 0 };
  const found = lines.map(([key, arrays]): [string, LineAnswer] => {
    return [key, { kind: arrays.length > 1 ? "group" : "mean", ...empty, arrays }];
  });
  const at = { from: 0, to: 2, width: 2, exact: true, growing: false, asked };
  return { series: new Map(), lines: new Map(found), pairs: new Map(), over: null, ...at };
}
const values = (...all: number[]) => Float64Array.from(all);
const palette = { theme: kLight, hidden: new Set<string>() };

describe("the lines that the server computes", () => {
  it("are asked for once per group, apart where two charts of a metric draw different runs", () => {
    const own = chart("loss", [line(1, "a"), line(2, "b")]);
    const asked = computedLines([loss, own, loss], grouped());
    expect(asked.map(({ series }) => series)).toEqual([[1], [2, 3], [2]]);
    expect(new Set(asked.map(({ key }) => key)).size).toBe(3);
    const answered = answer(
      {},
      asked.map(({ key, series }) => {
        const arrays = Array.from({ length: 10 }, () => values(series.length, series.length));
        return [key, arrays];
      }),
    );
    const last = (of: ChartDef) =>
      linesOf(of, answered, { making: grouped(), ...palette }).map(({ curve }) => curve?.value[1]);
    expect(last(loss)).toEqual([1, 2]);
    expect(last(own)).toEqual([1, 1]);
  });

  it("are compared column by column, to the same run or the host of its workload", () => {
    const baseline = { key: "a", label: "a", as: "ratio" } as const;
    const making = { ...plain, baseline };
    const host = chart("host", [line(7, "a", true), line(8, "c", true)]);
    const found = answer({}, [
      ["mean/1", [values(2, 0)]],
      ["mean/2", [values(3, 5)]],
      ["mean/3", [values(8, Number.NaN)]],
      ["mean/7", [values(10, 10)]],
      ["mean/8", [values(5, 20)]],
    ]);
    const ratios = (of: ChartDef) =>
      linesOf(of, found, { making, ...palette }).map(({ curve }) => [...(curve?.value ?? [])]);
    expect(ratios(loss)).toEqual([
      [1, Number.NaN],
      [1.5, Number.NaN],
      [4, Number.NaN],
    ]);
    expect(ratios(host)).toEqual([
      [1, 1],
      [0.5, 2],
    ]);
  });

  it("have a band of the interval only where there is one", () => {
    const making = grouped({ grouping: { by: "param:lr", show: "mean", band: "ci" } });
    const arrays = Array.from({ length: 10 }, () => values(0, 0));
    arrays[kGroup.mean] = values(4, 4);
    arrays[kGroup.interval] = values(1, Number.NaN);
    const found = answer({}, [["group/2,3", arrays]]);
    const band = () => linesOf(loss, found, { making, ...palette })[1]?.curve;
    expect([...(band()?.low ?? [])]).toEqual([3, Number.NaN]);
    const none = found.lines.get("group/2,3") as LineAnswer;
    none.interval = 1;
    expect(band()?.low).toBeNull();
    // That is said.
    const told = () => linesOf(loss, found, { making, ...palette })[1]?.told;
    expect(told()).toMatch(/no 95 % interval: .* not repetitions/);
    none.interval = 2;
    expect(told()).toBe("no 95 % interval: n = 1");
    none.interval = 0;
    expect(told()).toBeUndefined();
  });

  it("have a median and quartiles, smoothed together", () => {
    const arrays = Array.from({ length: 13 }, () => values(0, 0));
    arrays[kGroup.median] = values(4, 8);
    arrays[kGroup.lowerQuartile] = values(3, 5);
    arrays[kGroup.upperQuartile] = values(6, 10);
    const found = answer({}, [["group/2,3", arrays]]);
    const grouping = { by: "param:lr", show: "median", band: "quartiles" } as const;
    const curve = (part: Partial<Making> = {}) => {
      const made = linesOf(loss, found, { making: grouped({ grouping, ...part }), ...palette });
      const { value, low, high } = made[1]?.curve ?? { value: [], low: null, high: null };
      return [value, low, high].map((one) => [...(one ?? [])]);
    };
    expect(curve()).toEqual([
      [4, 8],
      [3, 5],
      [6, 10],
    ]);
    expect(curve({ smoothing: { method: "mean", amount: 1e6 } })).toEqual([
      [6, 6],
      [4, 4],
      [8, 8],
    ]);
  });

  it("say why they have no band", () => {
    const arrays = Array.from({ length: 10 }, () => values(4, 4));
    const found = answer({}, [
      ["group/1", arrays],
      ["group/2,3", arrays],
    ]);
    const told = (units: number, part: Partial<Making> = {}) => {
      (found.lines.get("group/2,3") as LineAnswer).units = units;
      const grouping = { by: "param:lr", show: "mean", band: "range" } as const;
      return linesOf(loss, found, { making: grouped({ grouping, ...part }), ...palette })[1]?.told;
    };
    expect(told(2)).toBeUndefined();
    expect(told(1)).toBe("no band: n = 1");
    expect(told(1, { grouping: { by: "param:lr", show: "sum", band: "range" } })).toBeUndefined();
    const [first] = grouped().groups;
    const baseline = { key: first?.key ?? "", label: "first", as: "ratio" } as const;
    expect(told(2, { baseline })).toBe("no band: a ratio of means has none");
  });
});

describe("an older answer", () => {
  const of = (part: Partial<ChartsQuestion>) => answer(part, []).asked;
  const at = (origin: bigint) => [{ id: 1, origin }];

  it("is drawn only where its axis means the same", () => {
    const [zero, pixel] = [5_000_000_000n, 1_000_000n];
    const asked = of({ series: at(zero), from: 0, to: 1, width: 1000 });
    expect(sameAxis(asked, of({ series: [...at(zero), { id: 2, origin: 9n }], from: 0.5 }))).toBe(
      true,
    );
    const now = (origin: bigint) => of({ series: at(origin), from: 0, to: 1, width: 1000 });
    expect(sameAxis(asked, now(zero + pixel)), "a clock that drifts").toBe(true);
    expect(sameAxis(asked, now(zero + 2n * pixel))).toBe(false);
    expect(sameAxis(asked, of({ series: at(zero), axis: "step" }))).toBe(false);
    const line = (its: string) => [
      { key: "mean/1", kind: "mean" as const, series: [1], origins_ns: [its] },
    ];
    const lined = (its: string) => of({ lines: line(its), from: 0, to: 1, width: 1000 });
    expect(sameAxis(lined("5"), lined("1000005"))).toBe(true);
    expect(sameAxis(lined("5"), lined("2000005"))).toBe(false);
    expect(sameAxis(of({ pairs: [{ x: 1, y: 2 }] }), of({ pairs: [{ x: 3, y: 2 }] }))).toBe(false);
  });

  it("is waited for while the live end grows, of values at both ends", () => {
    const on = (axis: "time" | "metric", from: number, to: number) => of({ axis, from, to });
    expect(grows(on("time", 0, 10), on("time", 0, 11))).toBe(true);
    expect(grows(on("time", 0, 10), on("time", -1, 10))).toBe(false);
    expect(grows(on("metric", -1, 0), on("metric", -1.001, 0))).toBe(true);
    expect(grows(on("metric", -1, 0), on("metric", -1.2, 0.2))).toBe(false);
    expect(grows(on("metric", -1, 0), on("metric", -0.9, 0))).toBe(false);
  });
});

describe("reading", () => {
  it("finds the pair beside a place, and none far from all", () => {
    const pairs = { x: values(0, Number.NaN, 50, 100), y: values(1, Number.NaN, 2, 3) };
    expect(pairAt(pairs, 50.5)).toBe(2);
    expect(pairAt(pairs, 52)).toBeNull();
    expect(pairAt({ x: values(), y: values() }, 1)).toBeNull();
    const gaps = {
      x: values(1, 2, Number.NaN, 3, Number.NaN),
      y: values(10, 20, Number.NaN, 30, Number.NaN),
    };
    expect([1, 2, 3].map((at) => pairAt(gaps, at))).toEqual([10, 20, 30]);
  });

  it("answers letters with Caps Lock, and keeps regions of any size", () => {
    const range = { from: 0, to: 8 };
    const place = {
      range,
      full: range,
      cursor: 4,
      shift: false,
      command: false,
      marked: false,
      enlarged: false,
    };
    expect(answerKey("W", place)).toEqual(answerKey("w", place));
    expect(regionText({ from: 1.23456789e-9, to: 2e-9 })).toBe("1.234568e-9..2e-9");
    expect(regionText({ from: 1.23456789, to: 2 })).toBe("1.234568..2");
  });
});

describe("what the others are compared to by a line's name", () => {
  const shared = chart("host.cpu", [line(4, "a", true), line(5, "c", true)]);
  const of = (key: string, def = loss, making = plain, second: ChartDef | null = null) =>
    baselineOf(key, { def, second }, making);

  it("is its run, also by the name of a device or of the right axis", () => {
    expect(of("b")).toBe("b");
    expect(of("host/5", shared)).toBe("c");
    expect(of("b/loss", shared, plain, loss)).toBe("b");
    expect(of("zzz")).toBeNull();
  });

  it("is its group, and no single run of one", () => {
    const making = grouped();
    const [group] = making.groups;
    expect(of(group?.key ?? "", loss, making)).toBe(group?.key);
    expect(of("a", loss, making)).toBeNull();
  });

  it("is nothing where there is nothing to compare", () => {
    expect(of("a", loss, { ...plain, runs: runs.slice(0, 1) })).toBeNull();
    // One line of all runs.
    expect(of("host/4", shared, { ...plain, runs: runs.slice(0, 2) })).toBeNull();
  });
});

describe("the spread of alike epochs", () => {
  const spread = (part: Partial<FoldSpread> = {}): FoldSpread => ({
    from: 3,
    to: 13,
    median: values(1, 2),
    p10: values(0, 1),
    p90: values(2, 3),
    read: 41,
    epochs: 41,
    ...part,
  });
  const drawn = (spreads: Spreads | undefined) => {
    const columns = { firstX: new Float32Array(), min: values(), max: values() };
    const found = answer({ axis: "condensed" }, []);
    found.series.set(1, columns as unknown as Columns);
    return linesOf(chart("loss", [line(1, "a")]), found, { making: plain, ...palette, spreads })[0];
  };

  it("is constant within each part of an epoch", () => {
    const [curve] = drawn({ series: new Map([[1, [spread()]]]), why: null })?.spreads ?? [];
    expect([curve?.from, curve?.to, curve?.value.length]).toEqual([3, 13, 128]);
    expect([63, 64].map((i) => [curve?.low?.[i], curve?.value[i], curve?.high?.[i]])).toEqual([
      [0, 1, 2],
      [1, 2, 3],
    ]);
  });

  it("or the reason for its absence is told", () => {
    expect(drawn(undefined)?.told).toBeUndefined();
    expect(drawn({ series: new Map([[2, [spread()]]]), why: null })?.told).toBeUndefined();
    expect(drawn({ series: new Map(), why: "too many lines" })?.told).toBe(
      "no p10–p90: too many lines",
    );
    const none = spread({ median: values(Number.NaN, Number.NaN) });
    const line = drawn({ series: new Map([[1, [none]]]), why: null });
    expect([line?.told, line?.spreads]).toEqual([
      "no p10–p90: fewer than 8 epochs have points",
      undefined,
    ]);
  });

  it("is named in the badge with its epochs", () => {
    const words = (...all: FoldSpread[]) => spreadWords({ series: new Map([[1, all]]), why: null });
    expect(words(spread(), spread({ epochs: 12, read: 12 }))).toEqual(["p10–p90 of 41 epochs"]);
    expect(words(spread({ epochs: 410, read: 64 }))).toEqual(["p10–p90 of 64/410 epochs"]);
    expect(words()).toEqual([]);
    expect(spreadWords(undefined)).toEqual([]);
  });
});
