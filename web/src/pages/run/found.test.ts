import { describe, expect, it } from "vitest";
import type {
  DeviceTime,
  Explanation,
  Finding,
  LaneOfEpochs,
  Prediction,
  SteadyPart,
} from "../../api/explain";
import type { MarkedNote, MarkKind } from "../../api/notes";
import {
  alikeWords,
  apart,
  busyWords,
  deviceParts,
  oddOf,
  oddWords,
  steadyWords,
  toldLane,
  verdictWords,
  whatIfRows,
} from "./found";

const steady = (part: Partial<SteadyPart>) =>
  steadyWords({
    steady: {
      from_ns: "0",
      to_ns: "1",
      is_steady: true,
      unit: "step",
      reason: null,
      left_out: 0,
      steps: 0,
      mean_s: 0.0094,
      deviation_s: 0.0004,
      ...part,
    },
  } as Explanation);

it("the steady part is told in words", () => {
  expect(steady({})).toBe("");
  expect(steady({ steps: 320, left_out: 12 })).toBe(
    "Steady after 12 steps: 320 steps of 9.4\u2009ms ± 400\u2009µs.",
  );
  expect(steady({ steps: 5, left_out: 1, unit: "epoch", mean_s: 2, deviation_s: 0 })).toBe(
    "Steady after 1 epoch: 5 epochs of 2\u2009s ± 0\u2009s.",
  );
  expect(steady({ steps: 1 })).toBe("Steady: 1 step of 9.4\u2009ms.");
  expect(steady({ steps: 9, is_steady: false, reason: "it changed late" })).toBe(
    "Not steady: it changed late; 9 steps of 9.4\u2009ms ± 400\u2009µs.",
  );
});

const lane = (name: string, difference: number | null): LaneOfEpochs => ({
  lane: name,
  epochs: 200,
  left_out: 0,
  regimes: [
    { first: 0, last: 3, epochs: 4, compared: false, alike: 0, typical: null },
    { first: 4, last: 199, epochs: 196, compared: true, alike: 193, typical: null },
  ],
  odd:
    difference === null
      ? []
      : [
          {
            epoch: 57,
            leaf: "data wait",
            seconds: 2 + difference,
            usual_s: 2,
            from_ns: "0",
            to_ns: "1",
          },
        ],
  odd_epochs: difference === null ? 0 : 1,
});

describe("epochs", () => {
  it("that are compared are counted", () => {
    expect(alikeWords(lane("a", null))).toBe("193 of 196 epochs are alike.");
    expect(alikeWords(lane("a", null), "rank 3")).toBe("193 of 196 epochs of rank 3 are alike.");
    const [few, many] = lane("a", null).regimes;
    const split = { ...lane("a", null), regimes: [many, many] as LaneOfEpochs["regimes"] };
    expect(alikeWords(split)).toBe("386 of 392 epochs are alike within 2 regimes.");
    expect(alikeWords({ ...split, regimes: [few] as LaneOfEpochs["regimes"] })).toBe("");
  });

  it("of the lane with the greatest difference are shown", () => {
    expect(toldLane([])).toBeNull();
    expect(toldLane([lane("a", null), lane("b", 1), lane("c", -3)])?.lane).toBe("c");
    expect(toldLane([lane("a", null)])?.lane).toBe("a");
    const { odd } = lane("b", 36);
    expect(odd.map(oddWords)).toEqual(["38\u2009s of data wait, usually 2\u2009s"]);
    expect(odd.map((one) => oddWords({ ...one, leaf: null }))).toEqual([
      "38\u2009s, usually 2\u2009s",
    ]);
  });
});

describe("findings apart", () => {
  const one = (id: string, kind: Finding["kind"], from_ns = "0") =>
    ({ id, kind, from_ns, lane: "a", text: `${id}.` }) as Finding;
  const all = [one("bound", "bottleneck"), one("rank", "slow rank"), one("odd", "odd epoch", "7")];
  const marks = (...marked: [string, MarkKind][]) =>
    new Map(marked.map(([id, mark]) => [id, { mark } as MarkedNote]));
  it("kept ones first, dismissed ones out of the line", () => {
    const parts = apart(all, marks(["rank", "kept"], ["bound", "dismissed"]));
    expect(parts.shown.map(({ id }) => id)).toEqual(["rank", "odd"]);
    expect(parts.dismissed.map(({ id }) => id)).toEqual(["bound"]);
    expect(verdictWords(parts, "all")).toBe("rank.");
    expect(verdictWords(apart(all, marks()), "all")).toBe("bound. rank.");
    expect(verdictWords(apart(all.slice(2), marks(["odd", "dismissed"])), "all")).toBe("all");
  });
  it("says so when no verdict is left", () => {
    const parts = apart(all, marks(["rank", "dismissed"], ["bound", "dismissed"]));
    expect(verdictWords(parts, "all")).toBe("2 verdicts dismissed: see the details.");
  });
  it("leaves dismissed epochs out, of their lane alone", () => {
    const odd = [{ from_ns: "7" }, { from_ns: "9" }];
    const parts = apart(all, marks(["odd", "dismissed"]));
    expect(oddOf({ lane: "a", odd } as LaneOfEpochs, parts)).toEqual([{ from_ns: "9" }]);
    expect(oddOf({ lane: "b", odd } as LaneOfEpochs, parts)).toEqual(odd);
  });
});

describe("what if", () => {
  const none: Prediction = {
    lower_s: null,
    upper_s: null,
    lower_ratio: null,
    upper_ratio: null,
    reason: "there is one rank",
  };
  const waits = { lower_s: 0.002, upper_s: 0.02, lower_ratio: 0.0556, upper_ratio: 0.556 };
  const given = (made: Partial<Explanation["what_if"]>, ranks = 1) => ({
    what_if: {
      unit: "step" as const,
      step_s: 0.036,
      steps: 1940,
      without_waits: { ...waits, reason: null },
      balanced_ranks: none,
      text: "",
      ...made,
    },
    lanes: Array.from({ length: ranks }, () => ({ trains: true })) as Explanation["lanes"],
  });

  it("shows the step as it is, and the bounds of what it would take", () => {
    expect(whatIfRows(given({}))).toEqual([
      { name: "now", bounds: { lower: 1, upper: 1 }, words: "36\u2009ms" },
      {
        name: "without waits",
        bounds: { lower: 0.0556, upper: 0.556 },
        words: "2\u2009ms to 20\u2009ms",
      },
    ]);
  });

  it("names ranks where there are several, and why there are no bounds", () => {
    const rows = whatIfRows(given({ balanced_ranks: { ...none, reason: "one is late" } }, 2));
    expect(rows.at(-1)).toEqual({
      name: "with balanced ranks",
      bounds: null,
      words: "not available: one is late",
    });
    const same = { lower_s: 0.03, upper_s: 0.03, lower_ratio: 1.2, upper_ratio: 1.2 };
    const [, row] = whatIfRows(given({ without_waits: { ...same, reason: "no gain is sure" } }));
    expect(row).toEqual({
      name: "without waits",
      bounds: { lower: 1, upper: 1 },
      words: "30\u2009ms (no gain is sure)",
    });
  });

  it("shows nothing where nothing is predicted", () => {
    expect(whatIfRows({ what_if: null, lanes: [] })).toEqual([]);
    expect(whatIfRows(given({ without_waits: none }))).toEqual([]);
  });
});

describe("devices", () => {
  const device = {
    busy_s: 0.06,
    compute_s: 0.05,
    communication_s: 0.02,
    memory_s: 0,
    overlap_s: 0.01,
    idle: { host_wait_s: 0.039, kernel_wait_s: 0, other_s: 0.001, unknown_s: 0 },
  } as DeviceTime;

  it("are a bar of busy time and the causes of idle time", () => {
    expect(
      deviceParts(device).map(({ name, share, kind }) => [name, Number(share.toFixed(2)), kind]),
    ).toEqual([
      ["busy", 0.6, "compute"],
      ["idle: host", 0.39, "wait"],
      ["idle: other", 0.01, null],
    ]);
    const idle = { host_wait_s: 0, kernel_wait_s: 0, other_s: 0, unknown_s: 0 };
    expect(deviceParts({ ...device, busy_s: 0, idle })).toEqual([]);
  });

  it("tell what ran side by side", () => {
    expect(busyWords(device)).toBe(
      "Busy with 50\u2009ms of computation, 20\u2009ms of communication, " +
        "computation and communication side by side for 10\u2009ms.",
    );
    expect(busyWords({ ...device, compute_s: 0, communication_s: 0, overlap_s: 0 })).toBe("");
  });
});
