import { expect, it } from "vitest";
import { resolution } from "./badge";
import { compared, noteWords } from "./compare";

const values = (...all: number[]) => Float64Array.from(all);
const none = Number.NaN;
const ratio = { key: "a", label: "alone", as: "ratio" } as const;

it("leaves out ratios to next to nothing, and says so", () => {
  const { value, told } = compared(values(2, 15, 3), values(1, 0.001, 2), ratio);
  expect([...value]).toEqual([2, none, 1.5]);
  expect(told).toBe("1 column skipped: alone is near 0 there");
  expect(compared(values(1, 2), values(2, 2), ratio).told).toBeUndefined();
  // A difference to nothing is one.
  const difference = compared(values(2), values(0), { ...ratio, as: "difference" });
  expect([...difference.value]).toEqual([2]);
});

it("says why nothing is drawn", () => {
  const said = (value: Float64Array, base: Float64Array) => compared(value, base, ratio).told;
  expect(said(values(1, 2), values(none, none))).toMatch(/alone has no data in this range/);
  expect(said(values(1, none), values(none, 2))).toMatch(
    /no samples at the same positions as alone/,
  );
  expect(said(values(1, 2), values(0, 0))).toMatch(/alone is near 0$/);
  expect(said(values(none, none), values(1, 1))).toBeUndefined();
});

it("says it once for lines that say the same, and of hidden ones not at all", () => {
  const line = (label: string, told?: string, hidden = false) => ({
    ...{ label, hidden },
    ...(told === undefined ? {} : { told }),
  });
  expect(noteWords([line("a"), line("b")])).toBeNull();
  expect(noteWords([line("a", "n = 1"), line("b", "n = 1"), line("c", "x", true)])).toBe("n = 1");
  expect(noteWords([line("a", "n = 1"), line("b")])).toBe("a: n = 1");
});

it("counts steps per pixel as people do", () => {
  expect(resolution({ from: 0, to: 100, width: 100 }, "step")).toBe("1 px = 1 step");
  expect(resolution({ from: 0, to: 10, width: 100 }, "step")).toBe("1 px = 1 step");
  expect(resolution({ from: 0, to: 300, width: 100 }, "step")).toBe("1 px = 3 steps");
});
