import { describe, expect, it } from "vitest";
import type { ProfileAsk } from "../../api/profileAsk";
import type { Phase } from "../../api/types";
import { stateWordsOf, stepsOf } from "./askWords";
import {
  around,
  type Kernel,
  type Profile,
  parseProfile,
  sortKernels,
  spanOf,
  stackOf,
  stepWords,
} from "./profile";

const kSummary = {
  tool: "torch",
  steps: { first: 10, last: 12 },
  start_ns: "1795330919460917337",
  end_ns: "1795330920862427280",
  total_ms: 200,
  by_kind: [
    { kind: "memcpy", ms: 50, share: 0.25 },
    { kind: "gemm", ms: 110, share: 0.55 },
  ],
  top: [{ name: "sgemm", kind: "gemm", calls: 3, total_ms: 110, share: 0.55 }],
};

const good = (part: object = {}) => {
  const found = parseProfile(JSON.stringify({ ...kSummary, ...part }));
  if ("wrong" in found) throw new Error(found.wrong);
  return found;
};
const wrong = (text: string) => (parseProfile(text) as { wrong?: string }).wrong;

describe("parseProfile", () => {
  it("keeps nanoseconds, and takes numbers for them", () => {
    expect(good().start_ns).toBe(1795330919460917337n);
    expect(good({ end_ns: 5e18 }).end_ns).toBe(5000000000000000000n);
    expect(good()).toMatchObject({ tool: "torch", total_ms: 200, steps: { first: 10, last: 12 } });
  });

  it("does without what a profiler does not know", () => {
    const bare = parseProfile('{"tool":"nsys","steps":null,"by_kind":[{"kind":"a","ms":3}]}');
    expect(bare).toMatchObject({ steps: null, start_ns: null, total_ms: null, top: [] });
    expect((bare as Profile).by_kind).toEqual([{ kind: "a", ms: 3, share: 1 }]);
  });

  it("says what is wrong with any other file", () => {
    expect(wrong("<html>")).toBe("it is not JSON");
    expect(wrong("[]")).toBe("it is not an object");
    expect(wrong("{}")).toBe("tool of the profile is not a name");
    expect(wrong('{"tool":"x","top":{}}')).toBe("top is not a list");
    expect(wrong('{"tool":"x","top":[7]}')).toBe("top[0] is not an object");
    expect(wrong('{"tool":"x","by_kind":[{"kind":"a","ms":-1}]}')).toBe(
      "ms of by_kind[0] is not a valid number",
    );
    expect(wrong('{"tool":"x","total_ms":"much"}')).toBe(
      "total_ms of the profile is not a valid number",
    );
  });

  it("keeps shares within the bar", () => {
    expect(good({ by_kind: [{ kind: "a", ms: 1, share: 7 }] }).by_kind[0]?.share).toBe(1);
  });
});

it("names the steps", () => {
  expect(stepWords(good())).toBe("steps 10–12");
  expect(stepWords(good({ steps: { first: 4, last: 4 } }))).toBe("step 4");
  expect(stepWords(good({ steps: { first: 4, last: 3 } }))).toBe("");
});

it("sorts numbers from the greatest, words from A, both ways", () => {
  const kernel = (name: string, calls: number): Kernel => ({
    name,
    kind: "k",
    calls,
    total_ms: calls,
    share: 0,
  });
  const all = [kernel("b", 2), kernel("a", 9), kernel("c", 2)];
  const names = (key: "name" | "calls" | "kind", turned: boolean) =>
    sortKernels(all, { key, turned })
      .map(({ name }) => name)
      .join("");
  expect(names("calls", false)).toBe("abc");
  expect(names("calls", true)).toBe("bca");
  expect(names("name", false)).toBe("abc");
  expect(names("name", true)).toBe("cba");
  expect(names("kind", false)).toBe("bac");
});

it("stacks the kinds, the rest of the time last", () => {
  const parts = stackOf(good());
  expect(parts.map(({ kind, ms }) => [kind, ms])).toEqual([
    ["gemm", 110],
    ["memcpy", 50],
    ["other", 40],
  ]);
  expect(parts.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1);
  const whole = good({ by_kind: [{ kind: "gemm", ms: 200, share: 0.999 }] });
  expect(stackOf(whole).length).toBe(1);
  expect(stackOf(good({ by_kind: [] }))).toEqual([]);
});

describe("the moment of a profile", () => {
  const phase = (start: string, attributes: Phase["attributes"]): Phase => ({
    id: start,
    parent: null,
    name: "profiled",
    type: "profiled",
    kind: "compute",
    lane: "n/1/main",
    start_ns: start,
    end_ns: `${BigInt(start) + 100n}`,
    attributes,
  });
  const run = { start_ns: "1000", end_ns: "9000" };
  const startOf = (profile: Profile, phases: Phase[]) =>
    spanOf(profile, { path: "profile/two", phases, run })?.start_ns;

  it("is that of the phase that names its folder, then its steps, then of the only one", () => {
    const a = phase("2000", { steps: "10-12" });
    const b = phase("3000", { path: "profile/two/summary.json" });
    const c = phase("4000", {});
    expect(startOf(good(), [a, b, c])).toBe(3000n);
    expect(startOf(good(), [c, a])).toBe(2000n);
    expect(startOf(good(), [c])).toBe(4000n);
    expect(startOf(good(), [{ ...c, end_ns: null }])).toBeUndefined();
  });

  it("is that of the summary when the run was there then", () => {
    expect(startOf(good({ start_ns: "2500", end_ns: "2600" }), [])).toBe(2500n);
    expect(startOf(good({ start_ns: "25", end_ns: "2600" }), [])).toBeUndefined();
    expect(startOf(good({ start_ns: null }), [])).toBeUndefined();
  });

  it("has air on both sides", () => {
    const span = { start_ns: 12_000_000_000n, end_ns: 22_000_000_000n };
    expect(around(span, 2_000_000_000n)).toEqual({ from: 9, to: 21 });
  });
});

describe("a profile that was asked for", () => {
  const ask = (part: Partial<ProfileAsk>) =>
    stateWordsOf({ id: "torch-1", tool: "torch", steps: 3, state: "asked", ...part });

  it("says how far it is", () => {
    expect(ask({})).toBe("asked");
    expect(ask({ state: "running", first: 12, last: 14 })).toBe("profiling steps 12–14");
    expect(ask({ state: "saving" })).toBe("saving steps");
    expect(ask({ state: "done", first: 12, last: 12 })).toBe("step 12 profiled");
    expect(ask({ state: "refused", reason: "no" })).toBe("refused");
  });

  it("is of 1 to 1000 whole steps", () => {
    expect([1, 1000].map(stepsOf)).toEqual([1, 1000]);
    expect([0, 1.5, 1001, Number.NaN].map(stepsOf)).toEqual([null, null, null, null]);
  });
});
