import type { Query } from "@tanstack/react-query";
import { describe, expect, it } from "vitest";
import { restOf } from "./live";

const query = (data: unknown, fetchStatus = "idle") =>
  ({ state: { fetchStatus, dataUpdatedAt: 1_000_000, data } }) as Pick<Query, "state">;
const phases = (count: number) => ({ phases: Array.from({ length: count }) });

describe("restOf", () => {
  it("lets short answers be asked for at once, long lists of phases more rarely, all of them in the end", () => {
    expect(restOf(query({ metrics: [] }), 1_000_000)).toBe(0);
    expect(restOf(query(phases(100)), 1_001_000)).toBe(0);
    expect(restOf(query(phases(5000)), 1_001_000)).toBe(9000);
    expect(restOf(query(phases(5000)), 1_010_000)).toBe(0);
    expect(restOf(query(phases(100_000)), 1_000_000)).toBe(30_000);
  });

  it("lets the document of a long plan rest, too", () => {
    const plan = (count: number) => query({ runs: Array.from({ length: count }) });
    expect(restOf(plan(10), 1_000_010)).toBe(0);
    expect(restOf(plan(10_000), 1_001_000)).toBe(2000);
  });

  it("does not ask again while an answer is on its way", () => {
    expect(restOf(query(phases(1), "fetching"), 9_000_000)).toBeGreaterThan(0);
  });
});
