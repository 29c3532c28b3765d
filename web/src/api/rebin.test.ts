import { describe, expect, it } from "vitest";
import { denseColumns, pointColumns } from "../charts/testing";
import { epochAt, epochAxis, type RunEpochs, timeAt } from "./epochs";
import { rebin } from "./rebin";

describe("rebin", () => {
  it("puts columns of one pixel together and loses no extreme, point or order", () => {
    const columns = denseColumns([
      [1, 0, 9, 2],
      [2, -5, 3, 3],
      [3, 1, 4, 4],
      [4, 2, 20, 5],
    ]);
    const half = rebin(columns, (px) => px / 2);
    expect([...half.first]).toEqual([1, 3]);
    expect([...half.min]).toEqual([-5, 1]);
    expect([...half.max]).toEqual([9, 20]);
    expect([...half.last]).toEqual([3, 5]);
    expect([...half.counts]).toEqual([18, 18]);
    expect(half.minX[0]).toBeCloseTo(0.65);
    expect([...half.segments]).toEqual([0]);
  });

  it("keeps segments apart, also inside one pixel", () => {
    const columns = {
      ...pointColumns([
        [0, 1],
        [1, 2],
        [2, 3],
      ]),
      segments: Uint32Array.of(0, 2),
    };
    const one = rebin(columns, (px) => px / 10);
    expect([...one.first]).toEqual([1, 3]);
    expect([...one.segments]).toEqual([0, 1]);
  });
});

describe("the axis of epochs", () => {
  const epochs = (ends: (string | null)[]): RunEpochs => ({
    run: "a",
    from: "phases",
    first_step_ns: null,
    more: false,
    epochs: ends.map((end_ns, i) => ({
      index: i + 1,
      start_ns: String(i * 10_000_000_000),
      end_ns,
    })),
  });

  it("counts epochs however long each lasted, and back", () => {
    const axis = epochAxis(epochs(["10000000000", "14000000000", null]), 0n, 30);
    if (axis === null) throw new Error("no axis");
    expect(epochAt(axis, 5)).toBeCloseTo(1.5);
    expect(epochAt(axis, 12)).toBeCloseTo(2.5);
    expect(epochAt(axis, 25)).toBeCloseTo(3.5);
    for (const e of [1, 1.25, 2.5, 3, 3.9]) expect(epochAt(axis, timeAt(axis, e))).toBeCloseTo(e);
  });

  it("is none without epochs", () => {
    expect(epochAxis(epochs([]), 0n, 30)).toBeNull();
  });
});
