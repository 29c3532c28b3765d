import { expect, it } from "vitest";
import {
  type Region,
  regionFinding,
  type SeriesInterest,
  sortedOut,
  withItsBegin,
} from "./interest";

const one = (metric: string, interest: number, more: Partial<SeriesInterest> = {}) =>
  ({
    series: 1,
    metric,
    source: null,
    class: "noise",
    of: null,
    interest,
    ...more,
  }) as SeriesInterest;

it("metrics are sorted out by their most interesting series and by what they follow", () => {
  const { metrics, duplicates } = sortedOut({
    series: [
      one("loss", 1, { class: "steps" }),
      one("step time", 0.99, { series: null }),
      one("gpu", 0.9, { source: "0" }),
      one("dull", 0.2),
      one("gpu", 0.8, { source: "1", class: "duplicate" }),
      one("twin", 0.8, { class: "duplicate" }),
    ],
  });
  expect(metrics).toEqual(["loss", "gpu", "dull", "twin"]);
  expect([...duplicates]).toEqual(["twin"]);
});

it("a region is seen with a quarter of its length before it, within the run", () => {
  const window = { from_ns: "1000", to_ns: "1400" };
  expect(withItsBegin(window, { from_ns: "0", to_ns: "9999" }).from_ns).toBe("900");
  expect(withItsBegin(window, { from_ns: "950", to_ns: "9999" }).from_ns).toBe("950");
  expect(regionFinding({ ...window, text: "a" } as Region)).toMatchObject({
    id: "region 1000",
    text: "a",
  });
});
