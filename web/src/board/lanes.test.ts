// Lanes of a board: their tree of names, the phase under the pointer, stepping, and the numbers of a phase's name.
import { describe, expect, it } from "vitest";
import type { Phase } from "../api/types";
import {
  findPhase,
  kLaneGap,
  laneName,
  laneRows,
  laneTitle,
  neighbouringPhase,
  phaseUnder,
  profiledWindows,
} from "./laneRows";
import type { ShownRun } from "./model";
import { lengthsOf, median, type PathStatistics, percentile, statisticsOfName } from "./phase";
import { answerKey, stepFrom } from "./pointer";

const run = (id: string): ShownRun => ({
  id,
  name: `run ${id}`,
  index: 0,
  origin: 0n,
  start: 0,
  end: 100,
  running: false,
  workload: "w",
  workloadName: null,
  experiment: "e",
  params: {},
  tags: {},
});
const ns = (seconds: number) => String(BigInt(Math.round(seconds * 1e9)));
const phase = (id: string, lane: string, at: [number, number | null], part = {}): Phase => ({
  id,
  parent: null,
  name: "epoch",
  type: "epoch",
  kind: "compute",
  lane,
  start_ns: ns(at[0]),
  end_ns: at[1] === null ? null : ns(at[1]),
  attributes: {},
  ...part,
});

describe("the names of lanes", () => {
  const words = (phases: Phase[]) =>
    laneRows([run("a1")], { a1: phases }).map((row) =>
      row.words.map(({ kind, text }) => `${kind}: ${text}`),
    );

  it("is the run alone where it has one lane", () => {
    expect(words([phase("1", "h/7/main", [0, 1])])).toEqual([["run: run a1"]]);
  });

  it("say which is a run, a rank, a process or a thread", () => {
    expect(
      words([
        phase("1", "h/rank0/7/MainThread", [0, 1]),
        phase("2", "h/rank1/8/MainThread", [0.5, 1]),
        phase("3", "h/rank0/7/load/a", [0.7, 1]),
      ]),
    ).toEqual([
      ["run: run a1", "rank: 0", "thread: main"],
      ["thread: load/a"],
      ["rank: 1", "thread: main"],
    ]);
    expect(words([phase("1", "h/7/main", [0, 1]), phase("2", "h/7/other", [0, 1])])).toEqual([
      ["run: run a1", "thread: main"],
      ["thread: other"],
    ]);
  });

  it("say the host where there are several, and take any name as it is", () => {
    expect(laneName("n1/7/main", 2)).toEqual([
      { kind: "process", text: "7 on n1", level: 1 },
      { kind: "thread", text: "main", level: 2 },
    ]);
    // A lane of no process is not on another host.
    expect(words([phase("1", "h/7/main", [0, 1]), phase("2", "traces", [0, 1])])).toEqual([
      ["run: run a1", "process: 7", "thread: main"],
      ["lane: traces"],
    ]);
    expect(laneTitle("n1/rank0/7/a/b")).toBe("host n1, rank 0, process 7, thread a/b");
    expect(laneTitle("traces")).toBe("lane traces");
  });

  it("make room: what is under a pointer is found below taller rows", () => {
    const rows = laneRows([run("a1"), run("b2")], {
      a1: [phase("1", "h/7/main", [0, 1]), phase("2", "h/7/other", [0, 1])],
      b2: [phase("9", "h/8/main", [0, 5])],
    });
    expect(rows.map(({ height }) => height)).toEqual([36, 18, 18]);
    const top = 36 + kLaneGap + 18 + kLaneGap;
    expect(phaseUnder(rows, 0.5, 2)?.span.id).toBe("1");
    expect(phaseUnder(rows, 0.5, 36 + kLaneGap + 2)?.span.id).toBe("2");
    expect(phaseUnder(rows, 3, top + 2)).toMatchObject({ run: { id: "b2" }, span: { id: "9" } });
    expect(phaseUnder(rows, 0.5, 30)).toBeNull();
  });
});

describe("where a profiler ran", () => {
  const profiled = { name: "profiled", type: "profiled", attributes: { steps: "10-12" } };
  const phases = [
    phase("1", "h/rank0/7/main", [2, 4], profiled),
    phase("2", "h/rank1/8/main", [3, 5], profiled),
    phase("3", "h/rank0/7/main", [8, 9], { ...profiled, attributes: { steps: 30 } }),
    phase("4", "h/rank0/7/main", [0, 9]),
  ];

  it("is one window of all ranks, on the axes of time and of steps", () => {
    const rows = laneRows([run("a1")], { a1: phases });
    const label = "profiled";
    expect(profiledWindows(rows, "time")).toEqual([
      { from: 2, to: 5, label },
      { from: 8, to: 9, label },
    ]);
    expect(profiledWindows(rows, "step")).toEqual([
      { from: 9.5, to: 12.5, label },
      { from: 29.5, to: 30.5, label },
    ]);
  });

  it("says whose, of several runs; is none where a profiler does not say its steps", () => {
    const unknown = [phase("9", "h/9/main", [3, 5], { name: "profiled" })];
    const rows = laneRows([run("a1"), run("b2")], {
      a1: [phase("1", "h/7/m", [0, 9])],
      b2: unknown,
    });
    expect(profiledWindows(rows, "time")).toEqual([{ from: 3, to: 5, label: "profiled: run b2" }]);
    expect(profiledWindows(rows, "step")).toEqual([]);
  });
});

describe("stepping", () => {
  const lanes = laneRows([run("a1")], {
    a1: [
      phase("1", "h/7/main", [0, 10]),
      phase("2", "h/7/main", [10, 20]),
      phase("3", "h/7/main", [2, 4], { parent: "1", name: "step" }),
    ],
  });
  const at = (id: string) => findPhase(lanes, { run: "a1", id });
  const place = { lanes, range: { from: 0, to: 100 }, cursor: 50 };

  it("goes along the phases of one depth, and stops at the ends", () => {
    const first = at("1");
    if (first === null) throw new Error("not found");
    expect(neighbouringPhase(first, 1)?.span.id).toBe("2");
    expect(neighbouringPhase(first, -1)).toBeNull();
    const last = at("2");
    expect(last && neighbouringPhase(last, 1)).toBeNull();
    expect(at("77")).toBeNull();
  });

  it("goes to events where no phase is chosen, and to the first phase where there are none", () => {
    const marks = [{ at: 10 }, { at: 60 }, { at: 61 }];
    expect(stepFrom({ ...place, phase: null, marks }, 1)).toEqual({ at: 60 });
    expect(stepFrom({ ...place, phase: null, marks }, -1)).toEqual({ at: 10 });
    expect(stepFrom({ ...place, phase: null, marks, cursor: 61 }, 1)).toBeNull();
    expect(stepFrom({ ...place, phase: null, marks: [] }, 1)).toMatchObject({ span: { id: "1" } });
  });

  it("is what . and , do", () => {
    const keys = {
      ...place,
      full: place.range,
      shift: false,
      command: false,
      marked: false,
      enlarged: false,
    };
    expect(answerKey(".", keys)).toEqual({ step: 1 });
    expect(answerKey(",", keys)).toEqual({ step: -1 });
    expect(answerKey("L", keys)).toEqual({ sync: true });
    expect(answerKey("b", keys)).toEqual({ compare: true });
  });
});

describe("the numbers of a phase's name", () => {
  const line = (part: Partial<PathStatistics>): PathStatistics => ({
    lane: "h/7/main",
    path: ["epoch"],
    count: 1,
    open: 0,
    total_s: 1,
    mean_s: 1,
    min_s: 1,
    max_s: 1,
    share: 0.1,
    ...part,
  });

  it("add up over lanes and paths, the mean by how many there are", () => {
    const all = statisticsOfName(
      [
        line({ count: 3, mean_s: 2, total_s: 6, min_s: 1, max_s: 3, share: 0.3 }),
        line({ lane: "h/8/main", count: 2, open: 1, mean_s: 6, total_s: 7, min_s: 6, max_s: 6 }),
        line({ path: ["epoch", "step"], count: 99 }),
        line({
          path: ["train", "epoch"],
          count: 1,
          open: 1,
          mean_s: null,
          min_s: null,
          max_s: null,
        }),
      ],
      "epoch",
    );
    expect(all).toMatchObject({ count: 6, open: 2, total: 14, mean: 3, least: 1, greatest: 6 });
    expect(all.share).toBeCloseTo(0.5);
    expect(statisticsOfName([], "epoch")).toMatchObject({ count: 0, mean: null, least: null });
  });

  it("have ranks of what has ended", () => {
    const lengths = lengthsOf(
      [
        phase("1", "h/7/m", [0, 4]),
        phase("2", "h/7/m", [4, 5]),
        phase("3", "h/7/m", [5, 7]),
        phase("4", "h/7/m", [7, null]),
        phase("5", "h/7/m", [0, 50], { name: "step" }),
      ],
      "epoch",
    );
    expect([...lengths]).toEqual([1, 2, 4]);
    expect(median(lengths)).toBe(2);
    expect(median(lengths.slice(0, 2))).toBe(1.5);
    expect(median(new Float64Array())).toBeNull();
    expect(percentile(lengths, 95)).toBe(4);
    expect(percentile(lengths, 50)).toBe(2);
    expect(percentile(new Float64Array(), 95)).toBeNull();
  });
});
