import { describe, expect, it } from "vitest";
import { spread } from "./labels";

const kRoom = { top: 0, bottom: 100 };

describe("spread", () => {
  it("leaves labels that do not touch where they want to be", () => {
    expect(spread([20, 60], 10, kRoom)).toEqual([20, 60]);
  });

  it("moves touching ones apart around their middle, in their order", () => {
    expect(spread([51, 49], 10, kRoom)).toEqual([55, 45]);
  });

  it("merges blocks that meet", () => {
    expect(spread([40, 41, 52], 10, kRoom)).toEqual([
      34.333333333333336, 44.333333333333336, 54.333333333333336,
    ]);
  });

  it("keeps all inside and none on another, for any wish", () => {
    for (let seed = 1; seed < 200; seed++) {
      const wanted = Array.from({ length: 8 }, (_, i) => (seed * 7919 * (i + 3)) % 101);
      const placed = spread(wanted, 10, kRoom).sort((a, b) => a - b);
      expect(placed[0]).toBeGreaterThanOrEqual(5 - 1e-9);
      expect(placed.at(-1)).toBeLessThanOrEqual(95 + 1e-9);
      for (let i = 1; i < placed.length; i++) {
        expect((placed[i] as number) - (placed[i - 1] as number)).toBeGreaterThanOrEqual(10 - 1e-6);
      }
    }
  });
});
