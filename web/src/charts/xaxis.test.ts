import { describe, expect, it } from "vitest";
import { kThin } from "../format/units";
import type { XAxisSpec, XKind } from "./spec";
import { xTicks, xUnit } from "./xaxis";

const at = { width: 400, spacing: 80 };
const texts = (x: XAxisSpec) => xTicks(x, at).ticks.map((tick) => tick.text.replaceAll(kThin, " "));
const of = (kind: XKind, from: number, to: number) => texts({ kind, from, to });

describe("xTicks", () => {
  it("counts steps in whole numbers with SI, and in full where SI would hide them", () => {
    expect(of("step", 0, 50_000)).toEqual(["0", "10 k", "20 k", "30 k", "40 k", "50 k"]);
    expect(of("step", 0, 3)).toEqual(["0", "1", "2", "3"]);
    expect(of("step", 1_234_000, 1_234_010)[1]).toBe("1 234 002");
  });

  it("counts epochs in whole numbers, with parts inside one epoch only", () => {
    expect(of("epoch", 0, 4)).toEqual(["0", "1", "2", "3", "4"]);
    expect(of("epoch", 2.2, 2.6)).toEqual(["2.2", "2.3", "2.4", "2.5", "2.6"]);
  });

  it("writes a metric's values in its unit's scale", () => {
    expect(texts({ kind: "number", from: 0, to: 2e10, unit: "B" })[1]).toMatch(
      /^4\.66$|^5$|^4\.657/,
    );
    expect(texts({ kind: "number", from: 0, to: 0.4, unit: "ratio" })).toContain("20");
  });

  it("never has many, nor the same words twice", () => {
    for (const kind of ["time", "wall", "step", "epoch", "number"] as const) {
      for (const span of [0.3, 2, 17, 900, 40_000, 3e6, 9e7]) {
        const ticks = texts({ kind, from: 1.7e9, to: 1.7e9 + span, zone: "UTC" });
        expect(ticks.length, `${kind} ${span}`).toBeLessThanOrEqual(7);
        expect(new Set(ticks).size, `${kind} ${span}: ${ticks}`).toBe(ticks.length);
      }
    }
  });
});

describe("a wall clock", () => {
  const utc = (...parts: [number, number, number, number?, number?]) => Date.UTC(...parts) / 1000;
  const wall = (zone: string, from: number, to: number) => texts({ kind: "wall", from, to, zone });

  it("shows local hours, and the date where a day begins", () => {
    const [from, to] = [utc(2026, 4, 27, 20), utc(2026, 4, 28, 10)];
    expect(wall("UTC", from, to)).toEqual(["21:00", "28 May", "03:00", "06:00", "09:00"]);
    expect(wall("Europe/Copenhagen", from, to)).toEqual([
      "28 May",
      "03:00",
      "06:00",
      "09:00",
      "12:00",
    ]);
    expect(wall("Asia/Kolkata", from, to)).toContain("06:00");
    const { note } = xTicks({ kind: "wall", from, to, zone: "Europe/Copenhagen" }, at);
    expect(note).toBe("27 May 2026, Europe/Copenhagen");
  });

  it("keeps to whole local hours when summer time ends or begins", () => {
    const autumn = wall("Europe/Copenhagen", utc(2026, 9, 24, 18), utc(2026, 9, 25, 8));
    expect(autumn).toEqual(["21:00", "25 Oct", "03:00", "06:00", "09:00"]);
    const spring = wall("Europe/Copenhagen", utc(2026, 2, 28, 21), utc(2026, 2, 29, 3));
    expect(new Set(spring).size).toBe(spring.length);
    expect(spring).toContain("29 Mar");
  });

  it("goes from parts of seconds to years", () => {
    const from = utc(2026, 4, 27, 20);
    expect(wall("UTC", from, from + 1)[1]).toMatch(/^20:00:00\.\d$/);
    expect(wall("UTC", from, from + 20)[1]).toBe("20:00:05");
    expect(wall("UTC", from, from + 4 * 86400)[0]).toBe("28 May");
    expect(wall("UTC", utc(2025, 9, 1), utc(2026, 5, 1))).toEqual(["Oct", "2026", "Apr"]);
    expect(wall("UTC", utc(2020, 5, 1), utc(2026, 5, 1))).toContain("2024");
  });
});

it("has a unit for the axis's title", () => {
  const range = { from: 0, to: 120 };
  expect(xUnit({ kind: "time", ...range })).toBe("min:s");
  expect(xUnit({ kind: "time", from: 0, to: 7200 })).toBe("h:min:s");
  expect(xUnit({ kind: "time", from: 0, to: 100_000 })).toBe("");
  expect(xUnit({ kind: "step", ...range })).toBe("");
  expect(xUnit({ kind: "epoch", ...range })).toBe("");
  expect(xUnit({ kind: "number", ...range, unit: "ratio" })).toBe("%");
  expect(xUnit({ kind: "number", from: 0, to: 5e6, unit: "B" })).toBe("MiB");
  const at = { kind: "wall", from: 1_763_719_387, to: 1_763_719_400 } as const;
  expect(xUnit({ ...at, zone: "UTC" })).toBe("21 Nov 2025, UTC");
  expect(xUnit({ ...at, zone: "Asia/Kolkata" })).toBe("21 Nov 2025, UTC+5:30");
  expect(xUnit({ ...at, zone: "America/New_York" })).toBe("21 Nov 2025, UTC−5");
});
