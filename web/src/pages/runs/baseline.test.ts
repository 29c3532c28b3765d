import { describe, expect, it } from "vitest";
import type { FoundRun } from "../../api/runSearch";
import { deltaOf } from "./baseline";

const run = (id: string, more: object = {}): FoundRun =>
  ({
    id,
    name: `run ${id}`,
    status: "finished",
    duration_s: 10,
    loss: { metric: "loss", value: 0.5, step: "9" },
    values: { "metrics.acc": 0.8, "metrics.val/loss.min": 2, "params.lr": "0.1" },
    ...more,
  }) as unknown as FoundRun;
const base = run("a");
const other = run("b", {
  duration_s: 25,
  loss: { metric: "loss", value: 0.45, step: "9" },
  values: { "metrics.acc": 0.8, "metrics.val/loss.min": 50 },
});
const share = (of: FoundRun, column: string, to = base) =>
  deltaOf(of, { run: to, as: "share" }, column);

describe("a value beside the baseline's", () => {
  it("is a share of it with its sign, or a factor where it is many times as much", () => {
    expect(share(other, "loss")).toMatchObject({ text: "−10\u2009%", better: true });
    expect(share(other, "duration")).toMatchObject({ text: "+150\u2009%", better: false });
    expect(share(other, "metrics.val/loss.min")).toMatchObject({ text: "×25", better: false });
    const negative = run("c", { values: { "metrics.acc": -2 } });
    expect(share(run("d", { values: { "metrics.acc": -1 } }), "metrics.acc", negative)?.text).toBe(
      "+50\u2009%",
    );
  });

  it("is a difference if that is asked for", () => {
    const difference = (column: string) =>
      deltaOf(other, { run: base, as: "difference" }, column)?.text;
    expect(difference("loss")).toBe("−0.05");
    expect(difference("duration")).toBe("+15");
    expect(difference("metrics.acc")).toBe("±0");
  });

  it("is neither better nor worse where nothing says so", () => {
    const more = run("c", { values: { "metrics.acc": 0.92 } });
    expect(share(more, "metrics.acc")).toMatchObject({ text: "+15\u2009%", better: null });
    // A run that failed early was not faster.
    const failed = run("d", { status: "failed", duration_s: 1 });
    expect(share(failed, "duration")?.better).toBeNull();
    expect(share(run("e"), "loss")).toMatchObject({ text: "±0\u2009%", better: null });
  });

  it("is missing with a reason, and never zero", () => {
    const none = run("c", { loss: null, values: { "metrics.acc": "NaN" } });
    expect(share(none, "loss")?.text).toBe("–");
    expect(share(none, "loss")?.title).toMatch(/this run has no value/);
    expect(share(none, "metrics.acc")?.text).toBe("–");
    expect(share(base, "loss", none)?.title).toMatch(/baseline run c has no value/);
    const train = run("d", { loss: { metric: "train/loss", value: 0.4, step: null } });
    expect(share(train, "loss")?.title).toMatch(/train\/loss here, loss in the baseline/);
    const zero = run("e", { values: { "metrics.acc": 0 } });
    expect(share(other, "metrics.acc", zero)?.title).toMatch(/value is 0/);
    expect(deltaOf(other, { run: zero, as: "difference" }, "metrics.acc")?.text).toBe("+0.8");
  });

  it("is not in the baseline's own row, nor beside words", () => {
    expect(share(base, "loss")).toBeNull();
    expect(share(other, "params.lr")).toBeNull();
    expect(share(other, "start")).toBeNull();
  });
});
