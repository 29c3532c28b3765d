import { describe, expect, it } from "vitest";
import type { RunGroup } from "../../api/runSearch";
import { linesOf } from "./lines";

const group = (value: string, count: number) => ({ value, count }) as RunGroup;
const groups = [group("a", 2), group("b", 3), group("", 1)];
const told = (open: string[]) => {
  const lines = linesOf(6, groups, new Set(open));
  return Array.from({ length: lines.total }, (_, i) => lines.groupAt(i)?.value ?? lines.runAt(i));
};

describe("the lines of the table", () => {
  it("are the runs where nothing is grouped", () => {
    const lines = linesOf(6, undefined, new Set(["a"]));
    expect(lines.total).toBe(6);
    expect(lines.runAt(5)).toBe(5);
    expect(lines.groupAt(0)).toBeNull();
    expect(lines.runsIn({ first: 1, last: 3 })).toEqual([{ first: 1, last: 3 }]);
  });

  it("are the groups, and below open ones their runs by their place in the list", () => {
    expect(told([])).toEqual(["a", "b", ""]);
    expect(told(["b"])).toEqual(["a", "b", 2, 3, 4, ""]);
    expect(told(["a", "", "gone"])).toEqual(["a", 0, 1, "b", "", 5]);
    expect(linesOf(0, [], new Set()).total).toBe(0);
  });

  it("of a range have the runs of open groups alone", () => {
    const lines = linesOf(6, groups, new Set(["a", ""]));
    expect(lines.runsIn({ first: 1, last: 5 })).toEqual([
      { first: 0, last: 1 },
      { first: 5, last: 5 },
    ]);
    expect(lines.runsIn({ first: 2, last: 4 })).toEqual([{ first: 1, last: 1 }]);
    expect(lines.runsIn({ first: 3, last: 4 })).toEqual([]);
  });

  it("of 10,000 groups are found at once", () => {
    const many = Array.from({ length: 10_000 }, (_, i) => group(String(i), 10));
    const lines = linesOf(100_000, many, new Set(many.map(({ value }) => value)));
    expect(lines.total).toBe(110_000);
    const begin = performance.now();
    for (let line = 0; line < lines.total; line++) lines.runAt(line);
    expect(lines.runAt(109_999)).toBe(99_999);
    expect(performance.now() - begin).toBeLessThan(2000);
  });
});
