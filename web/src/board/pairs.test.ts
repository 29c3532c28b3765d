import { describe, expect, it } from "vitest";
import { kNoQuestion } from "../api/chartBodies";
import type { LineAnswer } from "../api/lines";
import type { Charts } from "../api/useCharts";
import type { ChartDef, LineDef, ShownRun } from "./model";
import { axisDef, axisQuestion, joined, pairsAsked, pairsOf, withExtremes } from "./pairs";

const run = (id: string, workload: string, end: number) =>
  ({ id, name: id, workload, origin: 0n, start: 0, end }) as ShownRun;
const line = (series: number, of: string, part: Partial<LineDef> = {}) =>
  ({
    ...{ key: of, label: of, series, run: of, source: "", shared: false, origin: 0n },
    ...{ spacing: 1, steps: null, least: 0, greatest: 1 },
    ...part,
  }) as LineDef;
const chart = (name: string, lines: LineDef[]): ChartDef => ({
  ...{ name, unit: "", group: "software", description: "", flat: false, lines, left: 0 },
});

const runs = [run("a", "v", 10), run("b", "w", 20)];
const host = line(7, "a", { shared: true, source: "gpu0" });
const loss = chart("loss", [line(1, "a"), line(2, "b")]);
const speed = chart("speed", [line(3, "a"), line(4, "b")]);
const defs = [loss, speed, chart("power", [host])];
const overOf = (name: string) => ({ x: axisDef(name, { defs, runs }), runs });

const mean = (...values: number[]): LineAnswer => {
  const counts = values.map((value) => (Number.isNaN(value) ? 0 : 1));
  const arrays = [values, values, values, counts].map((all) => Float64Array.from(all));
  const rest = { exact: true, interval: 0, points: 0, lost: 0, units: 0, merged: 0 };
  return { kind: "mean", ...rest, arrays };
};
const answered = (...lines: [string, LineAnswer][]): Charts => {
  const at = { from: 0, to: 4, width: 4, exact: true, growing: false, asked: kNoQuestion };
  return { series: new Map(), lines: new Map(lines), pairs: new Map(), over: null, ...at };
};
const withOver = (over: Charts): Charts => ({ ...answered(), over });
const none = Number.NaN;

describe("measured series over another", () => {
  it("are the server's pairs, of the run's own or of its workload's devices", () => {
    expect(pairsAsked([loss], overOf("speed"))).toEqual({
      pairs: [
        { x: 3, y: 1 },
        { x: 4, y: 2 },
      ],
    });
    expect(pairsAsked([loss], overOf("power")).pairs).toEqual([{ x: 7, y: 1 }]);
    expect(pairsAsked([loss], { x: null, runs })).toEqual({ pairs: [] });
  });
});

describe("an expression as axis or over one", () => {
  const over = overOf("speed * 2");
  const means = answered(
    ["input/1@0", mean(8, none, 4, 2)],
    ["input/3@0", mean(1, 2, none, 3)],
    ["input/2@0", mean(1, none, none, 5)],
    ["input/4@0", mean(none, none, 2, none)],
  );

  it("asks for each input once, over the time of all runs", () => {
    const { pairs, over: asked } = pairsAsked([loss, speed], over);
    expect(pairs).toEqual([]);
    expect(asked).toMatchObject({ axis: "time", from: 0, series: [], width: 2048 });
    expect(asked?.to).toBeGreaterThan(20);
    expect(asked?.lines.map(({ key }) => key).sort()).toEqual([
      "input/1@0",
      "input/2@0",
      "input/3@0",
      "input/4@0",
    ]);
    // A rate needs to know where the points are.
    expect(pairsAsked([loss], overOf("rate(speed)")).over?.series).toEqual([
      { id: 3, origin: 0n },
      { id: 4, origin: 0n },
    ]);
  });

  it("pairs each value with the last one of the axis", () => {
    const [a, b] = loss.lines as [LineDef, LineDef];
    const found = pairsOf(a, "loss", { answer: withOver(means), over });
    expect(found.expression).toBe("loss over speed * 2");
    expect([found.pairs?.x, found.pairs?.y].map((all) => [...(all ?? [])])).toEqual([
      [2, 4, 6],
      [8, 4, 2],
    ]);
    const other = pairsOf(b, "loss", { answer: withOver(means), over });
    // Nothing before its first value.
    expect([...(other.pairs?.x ?? [])]).toEqual([4]);
    expect([...(other.pairs?.y ?? [])]).toEqual([5]);
  });

  it("has a gap between values, none at its ends", () => {
    const y = Float64Array.of(1, 2, 3, 4, 5, 6, 7);
    const gap = joined(Float64Array.of(none, 8, none, none, none, 9, none), y, 1);
    expect([[...gap.x], [...gap.y]]).toEqual([
      [8, 8, none, 9, 9],
      [2, 3, none, 6, 7],
    ]);
    expect([...joined(Float64Array.of(8, none, none, none), y.slice(0, 4), 1).x]).toEqual([8, 8]);
  });

  it("takes expressions over a measured metric, too", () => {
    const ratio = axisDef("loss / speed", { defs, runs });
    const [a] = ratio?.lines ?? [];
    const found = pairsOf(a as LineDef, "loss / speed", {
      answer: withOver(means),
      over: overOf("speed"),
    });
    expect([...(found.pairs?.x ?? [])]).toEqual([1, 2, 2, 3]);
    expect([...(found.pairs?.y ?? [])]).toEqual([8, 4, 2, 2 / 3]);
  });

  it("is none without a partner or an answer", () => {
    const [, b] = loss.lines as [LineDef, LineDef];
    expect(pairsOf(b, "loss", { answer: withOver(means), over: overOf("power * 2") })).toEqual({
      pairs: null,
    });
    expect(pairsOf(b, "loss", { answer: answered(), over }).pairs).toBeNull();
  });

  it("has the range of its values", () => {
    expect(axisQuestion(loss, runs)).toBeNull();
    expect(axisQuestion(over.x, runs)?.lines.map(({ series }) => series)).toEqual([[3], [4]]);
    const [a, b] = withExtremes(over.x as ChartDef, means).lines;
    expect([a?.least, a?.greatest, b?.least, b?.greatest]).toEqual([2, 6, 4, 4]);
  });
});
