import { describe, expect, it } from "vitest";
import { readQuery } from "./query";

const kind = (text: string) => readQuery(text).kind;

describe("what was typed", () => {
  it("is nothing, words or comparisons", () => {
    expect(kind("  ")).toBe("none");
    for (const words of [
      "resnet",
      "lr=0.1",
      "calm otter 12",
      "loss in progress",
      "status is bad",
      "a-b",
      "<b>",
    ])
      expect(readQuery(words)).toEqual({ kind: "words", text: words });
    expect(readQuery(" resnet  ")).toEqual({ kind: "words", text: "resnet" });
  });

  it.each([
    "metrics.loss < 0.5 and params.lr = '0.1'",
    "metrics.loss<0.5",
    "metrics.`val/loss` >= 1e-3 AND",
    'params."learning rate" != "x"',
    "params.a IS NOT NULL tags.b is null",
    "run_id not in ('a', 'b')",
    "attributes.status = 'FINISHED'",
    "start_time > 5",
    "tags.a ilike '%it''s%'",
    "metrics.0.5 > 0",
    "dataset.name IN ('x')",
    "status = 'RUNNING'",
    "metrics.größe > -.5",
    "metrics.🚀 > 1",
    "params.a = 'it\\'s' and tags.b = 'x'",
    "params.a = 'C:\\'",
    'params.a = "say \\"x\\""',
  ])("a filter: %s", (text) => expect(kind(text)).toBe("filter"));

  it.each([
    ["metrics.loss <", 14, /number/],
    ["metrics.loss < x", 15, /number/],
    ["metrics.loss == 1", 13, /==/],
    ["params.lr = 0.1", 12, /'0\.1'/],
    ["params.lr < '1'", 10, /LIKE/],
    ["loss < 0.5", 0, /metrics\.loss/],
    ["foo.bar = 'x'", 0, /metrics, params/],
    ["run.duration > 5", 4, /start_time/],
    ["metrics.a > 1 OR metrics.b > 1", 14, /Join comparisons with and/],
    ["metrics.a > 1 2", 14, /Expected a name/],
    ["metrics.val/loss > 1", 11, /backquotes/],
    ["params.a IS 'x'", 12, /null/],
    ["run_id IN ()", 10, /list/],
    ["run_name IS NULL", 9, /LIKE/],
    ["params.a = 'x", 11, /quotes/],
    ["constructor = 'x'", 0, /params/],
  ])("a mistake is said with its place: %s", (text, at, message) => {
    const query = readQuery(text);
    expect(query).toMatchObject({ kind: "error", at });
    if (query.kind === "error") expect(query.message).toMatch(message);
  });

  it("costs little on long hostile text", () => {
    for (const text of [
      "'".repeat(20_000),
      "`a.".repeat(7_000),
      `'${"\\''".repeat(7_000)}`,
      `params.a = ${'"'.repeat(20_001)}`,
    ]) {
      const begin = performance.now();
      readQuery(text);
      expect(performance.now() - begin).toBeLessThan(1000);
    }
  });
});
