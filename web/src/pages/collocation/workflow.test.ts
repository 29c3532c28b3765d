import { describe, expect, it } from "vitest";
import type { Workflow } from "../../api/workflow";
import { linesOf } from "./Workflow";

const kFound: Workflow = {
  provisional: false,
  summary: "2 runs took 36 s.",
  path: [],
  stages: [
    { stage: "wait", seconds: 3, share: 0.0833 },
    { stage: "training", seconds: 33, share: 0.9167 },
  ],
  stages_left_out: 0,
  runs: { failed: 1, interrupted: 0 },
  queue: { mean_s: 5.75, longest: [{ run: "a", name: "late", wait_s: 12 }] },
  hosts: [{ host: "node7", seconds: 36, idle_s: 3 }],
  not_finished: [{ run: "b", name: "lost", outcome: "failed", seconds: 1, repeated_by: null }],
  footprint: {
    runs: 2,
    measured: 1,
    joules: 7200,
    co2e_g: null,
    costs: [{ currency: "EUR", total: 0.33 }],
    modelled: true,
    left_out: 0,
    failed: { runs: 1, joules: 100 },
  },
};

describe("the lines of a workflow", () => {
  it("say stages, the queue, hosts without a run and the energy", () => {
    expect(linesOf(kFound)).toEqual([
      "Stages of the path: 8.33\u2009% wait, 91.7\u2009% training",
      "Queue: 5.75\u2009s on average from ready to start; longest: 12\u2009s (late)",
      "node7: 3\u2009s of 36\u2009s without a run",
      "7.2\u2009kJ, 0.33\u2009EUR, of 1 of 2 runs (shared parts modelled); 100\u2009J of it by 1 run that did not finish",
    ]);
  });

  it("name what is not known", () => {
    const cut = { ...kFound, stages_left_out: 3, runs: { failed: 150, interrupted: 1 } };
    const some = linesOf({ ...cut, footprint: { ...kFound.footprint, left_out: 7 } });
    expect(some[0]).toContain("; 3 runs not read");
    expect(some[3]).toBe("151 runs did not finish: 1 are shown");
    expect(some[4]).toContain("; 7 runs not added");
    const footprint = { ...kFound.footprint, joules: null };
    expect(
      linesOf({ ...kFound, provisional: true, stages: [], queue: null, hosts: [], footprint }),
    ).toEqual([
      "Some runs are still running: these values are provisional.",
      "No energy was measured.",
    ]);
  });
});
