import { describe, expect, it } from "vitest";
import { kThin } from "../format/units";
import { fixedAxis, logAxis, place, tightAxis, timeTicks, valueAxis } from "./axis";

const texts = (ticks: { text: string }[]) => ticks.map((tick) => tick.text.replaceAll(kThin, " "));

describe("timeTicks", () => {
  it("are whole minutes and seconds", () => {
    expect(texts(timeTicks(0, 600, { width: 400, spacing: 70 }))).toEqual([
      "0:00",
      "2:00",
      "4:00",
      "6:00",
      "8:00",
      "10:00",
    ]);
    expect(texts(timeTicks(55, 55.4, { width: 400, spacing: 70 }))).toEqual([
      "0:55.0",
      "0:55.1",
      "0:55.2",
      "0:55.3",
      "0:55.4",
    ]);
  });

  it("stay few over weeks and microseconds", () => {
    for (const span of [1e-5, 1e-3, 0.7, 13, 4000, 90_000, 3e6]) {
      const ticks = timeTicks(0, span, { width: 400, spacing: 70 });
      expect(ticks.length, `${span} s`).toBeGreaterThanOrEqual(2);
      expect(ticks.length, `${span} s`).toBeLessThanOrEqual(6);
      expect(new Set(texts(ticks)).size, `${span} s`).toBe(ticks.length);
    }
  });
});

describe("valueAxis", () => {
  it("has three to five distinct ticks and holds the data", () => {
    const ranges: [number, number, string][] = [
      [0.06, 2.4, ""],
      [0, 1.005, ""],
      [-3, 2, ""],
      [-9, -1, ""],
      [9.1e9, 1.11e10, "B"],
      [10.353e9, 10.399e9, "B"],
      [1.2e-6, 8e-6, "s"],
      [7, 7, "W"],
      [0, 0, "B/s"],
      [1e12, 1.0001e12, ""],
      [2.9e9, 3.3e9, "Hz"],
      [987654321.123, 987654321.124, ""],
      [1e30, 1.2e30, ""],
    ];
    for (const [min, max, unit] of ranges) {
      const axis = valueAxis(min, max, unit);
      const name = `${min}–${max} ${unit}`;
      expect(axis.from, name).toBeLessThanOrEqual(min);
      expect(axis.to, name).toBeGreaterThanOrEqual(max);
      expect(axis.ticks.length, name).toBeGreaterThanOrEqual(3);
      expect(axis.ticks.length, name).toBeLessThanOrEqual(5);
      expect(new Set(texts(axis.ticks)).size, name).toBe(axis.ticks.length);
    }
  });

  it("starts at zero, spans percent, and counts bytes in binary units", () => {
    expect(valueAxis(0.06, 2.4, "").from).toBe(0);
    expect(texts(valueAxis(20, 92, "%").ticks)).toEqual(["0", "50", "100"]);
    expect(texts(valueAxis(0.2, 0.92, "share").ticks)).toEqual(["0", "50", "100"]);
    expect(valueAxis(1080, 1120, "samples/s").from).toBe(0);
    const memory = valueAxis(9.1e9, 1.09e10, "B");
    expect(memory.scale.unit).toBe("GiB");
    expect(texts(valueAxis(0, 1900, "samples/s").ticks)).toEqual(["0", "1 k", "2 k"]);
  });

  it("shows small changes far from zero", () => {
    expect(valueAxis(1000, 1001, "").from).toBeGreaterThan(900);
  });
});

describe("logAxis", () => {
  it("has decades, with 2 and 5 where they are few", () => {
    expect(texts(logAxis(1e-5, 3, "").ticks)).toEqual(["10⁻⁵", "0.001", "0.1", "10"]);
    expect(texts(logAxis(0.6, 3.1, "").ticks)).toEqual(["0.5", "1", "2", "5"]);
    expect(texts(logAxis(2e4, 5e5, "").ticks)).toEqual(["2·10⁴", "5·10⁴", "10⁵", "2·10⁵", "5·10⁵"]);
  });

  it("holds the data, has few ticks, and places equal ratios equally far apart", () => {
    for (const [low, high] of [
      [1e-12, 1e9],
      [1, 1],
      [3, 3.1],
      [999, 1001],
      [1e-300, 1e300],
    ] as const) {
      const axis = logAxis(low, high, "");
      expect(axis.from).toBeLessThanOrEqual(low * (1 + 1e-9));
      expect(axis.to).toBeGreaterThanOrEqual(high * (1 - 1e-9));
      expect(axis.to).toBeGreaterThan(axis.from);
      expect(axis.ticks.length).toBeGreaterThanOrEqual(2);
      expect(axis.ticks.length).toBeLessThanOrEqual(5);
    }
    const axis = logAxis(0.1, 1000, "");
    expect(place(axis, 10) - place(axis, 1)).toBeCloseTo(0.25, 9);
    expect(place(axis, 0)).toBeNaN();
    expect(place(axis, -4)).toBeNaN();
  });
});

describe("axes of numbers near the greatest", () => {
  const most = 1.79e308;
  it("are finite", () => {
    const axes = [
      ...[valueAxis(most, most, ""), valueAxis(-most, most, ""), tightAxis(-most, most, "")],
      ...[logAxis(1e-320, most, ""), logAxis(most, most, "")],
    ];
    for (const { from, to, ticks } of axes) {
      expect(Number.isFinite(to - from) && to > from).toBe(true);
      for (const { value } of ticks) expect(Number.isFinite(value)).toBe(true);
    }
  });
});

describe("fixedAxis and tightAxis", () => {
  it("end at the given place, with ticks inside", () => {
    const axis = fixedAxis(13, 87, "%");
    expect([axis.from, axis.to]).toEqual([13, 87]);
    expect(texts(axis.ticks)).toEqual(["20", "40", "60", "80"]);
    const tight = tightAxis(60, 80, "%");
    expect([tight.from, tight.to]).toEqual([59.2, 80.8]);
    expect(tightAxis(5, 5, "W").to).toBeGreaterThan(5);
  });
});
