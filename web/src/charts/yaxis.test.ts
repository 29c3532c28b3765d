import { describe, expect, it } from "vitest";
import type { ChartLine, YAxisSpec } from "./spec";
import { chartLine, curve, lineData, pointColumns } from "./testing";
import { chooseAxis } from "./yaxis";

const x = { from: 0, to: 100 };
const choose = (lines: ChartLine[], y: YAxisSpec) => chooseAxis(lines, { y, unit: "", x });

// 100 columns of 10 to 20, and one of them far away.
const spiky = chartLine("a", { curve: curve((i) => (i === 50 ? 1e6 : 10 + (i % 11))) });
const ramp = chartLine("b", { curve: curve((i) => 100 + i) });

describe("chooseAxis", () => {
  it("holds everything by itself, from zero when asked", () => {
    expect(choose([ramp], { mode: "auto" })?.axis.to).toBeGreaterThanOrEqual(199);
    expect(choose([ramp], { mode: "zero" })?.axis.from).toBe(0);
    expect(
      choose([chartLine("c", { curve: curve((i) => 1000 + i / 100) })], { mode: "zero" })?.axis
        .from,
    ).toBe(0);
    expect(choose([], { mode: "auto" })).toBeNull();
  });

  it("clips between percentiles and says what lies beyond", () => {
    const clipped = choose([spiky], { mode: "clip" });
    expect(clipped?.axis.to).toBeLessThan(30);
    expect(clipped?.notes).toEqual(["clipped to 1–99 %", "1 column beyond"]);
    expect(clipped?.cuts).toBe(true);
    const tighter = choose([ramp], { mode: "clip", low: 25, high: 75 });
    expect(tighter?.notes[0]).toBe("clipped to 25–75 %");
    expect(tighter?.axis.from).toBeGreaterThan(100);
  });

  it("keeps to fixed ends and counts what they hide", () => {
    const fixed = choose([ramp], { mode: "fixed", from: 150, to: 180 });
    expect([fixed?.axis.from, fixed?.axis.to]).toEqual([150, 180]);
    expect(fixed?.notes).toEqual(["69 columns beyond"]);
    expect(choose([ramp], { mode: "fixed", from: 0 })?.axis.to).toBe(199);
    expect(choose([ramp], { mode: "fixed", from: 0, to: 500 })?.notes).toEqual([]);
  });

  it("counts what a logarithm cannot show", () => {
    const mixed = chartLine("d", { curve: curve((i) => i - 9) });
    expect(choose([mixed], { mode: "log" })?.notes).toEqual([
      "log",
      "10 columns with values ≤ 0 left out",
    ]);
    expect(choose([mixed], { mode: "log" })?.axis.from).toBe(1);
    expect(choose([chartLine("e", { curve: curve(() => 0) })], { mode: "log" })).toBeNull();
  });

  it("sees columns, bands and pairs, but only what is in sight and shown", () => {
    const columns = chartLine("f", { data: lineData(pointColumns([[1, 7]])) });
    const band = chartLine("g", { curve: curve(() => 5, { band: 4 }) });
    const pairs = { x: Float64Array.of(5, 500), y: Float64Array.of(3, 1e9) };
    const axis = choose([columns, band, chartLine("h", { pairs })], { mode: "auto" })?.axis;
    expect(axis?.to).toBeGreaterThanOrEqual(9);
    expect(axis?.to).toBeLessThan(20);
    expect(choose([{ ...ramp, hidden: true }], { mode: "auto" })).toBeNull();
  });
});
