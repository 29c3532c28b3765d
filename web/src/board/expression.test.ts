import { describe, expect, it } from "vitest";
import {
  evaluate,
  metricsOf,
  nearest,
  needsPlaces,
  parseExpression,
  problemWords,
  type Sampled,
  unitOf,
} from "./expression";

const kNames = ["loss", "train/loss", "gpu.power", "samples_per_second", "a b", "2d", "log"];

const columns = (values: readonly number[], counts?: readonly number[]): Sampled => ({
  value: Float64Array.from(values),
  count: Float64Array.from(counts ?? values.map((v) => (Number.isNaN(v) ? 0 : 1))),
  at: Float64Array.from(values, (_, i) => i * 2),
});

function values(text: string, of: Readonly<Record<string, Sampled>>) {
  const { node, wrong } = parseExpression(text, Object.keys(of));
  if (wrong !== null) throw new Error(problemWords(wrong));
  const { value, lost } = evaluate(node, (name) => of[name] as Sampled);
  return { value: [...value], lost };
}

const at = (text: string, loss = 3) => values(text, { loss: columns([loss]) }).value[0];

const wrongOf = (text: string) => {
  const { wrong } = parseExpression(text, kNames);
  return wrong === null ? null : problemWords(wrong);
};

const readAs = (text: string) => {
  const { node } = parseExpression(text, kNames);
  return node === null ? null : metricsOf(node);
};

describe("an expression", () => {
  it("has the usual order of operations", () => {
    expect(at("loss + 2 * 5 - 1")).toBe(12);
    expect(at("(loss + 2) * 5")).toBe(25);
    expect(at("-loss ^ 2")).toBe(-9);
    expect(at("2 ^ loss ^ 2")).toBe(512);
    expect(at("12 / loss / 2")).toBe(2);
    expect(at("2e1 * .5 - -loss")).toBe(13);
  });

  it("has functions", () => {
    expect(at("log(exp(loss))")).toBe(3);
    expect(at("log10(1000) * sqrt(loss * loss)")).toBeCloseTo(9);
    expect(at("min(loss, 2) + max(loss, 7) + abs(-loss)")).toBe(12);
  });

  it("reads names of metrics as long as they are known", () => {
    expect(readAs("gpu.power / samples_per_second")).toEqual(["gpu.power", "samples_per_second"]);
    expect(readAs("train/loss - loss")).toEqual(["train/loss", "loss"]);
    expect(readAs("`a b` * 2 + a b")).toEqual(["a b"]);
    expect(readAs("2d + 2")).toEqual(["2d"]);
    expect(readAs("log(log)")).toEqual(["log"]);
  });

  it("says where and what is wrong", () => {
    expect(wrongOf("1 + los")).toBe(
      "column 5: no metric 'los'; did you mean 'loss' or 'train/loss' or 'log'?",
    );
    expect(wrongOf("train/los * 2")).toContain("did you mean 'train/loss'?");
    expect(wrongOf("(loss")).toBe("column 6: expected ')', the expression ends");
    expect(wrongOf("loss )")).toBe("column 6: expected an operator, found ')'");
    expect(wrongOf("loss * * 2")).toBe("column 8: expected a metric, a number or '(', found '*'");
    expect(wrongOf("`loss")).toBe("column 1: missing the closing '`'");
    expect(wrongOf("max(loss)")).toBe("column 1: max takes two arguments, e.g. max(loss, 1)");
    expect(wrongOf("median(loss)")).toContain(
      "column 1: no function 'median'; there are ema, log,",
    );
    expect(wrongOf("toString(loss)")).toContain("no function 'toString'");
    expect(wrongOf("ema(loss, 1)")).toContain("a number between 0 and 1");
    expect(wrongOf("")).toBe("column 1: expected a metric, a number or '(', the expression ends");
  });

  it("is bounded", () => {
    expect(wrongOf(`${"(".repeat(60)}loss`)).toContain("nested too deep");
    expect(wrongOf("-".repeat(500))).toContain("nested too deep");
    expect(wrongOf("loss + ".repeat(200))).toContain("longer than 1000 letters");
  });

  it("knows the names that are near", () => {
    expect(nearest("gpu.powr", kNames)).toEqual(["gpu.power"]);
    expect(nearest("zzzzzz", kNames)).toEqual([]);
  });

  it("keeps the unit where it is that of a metric", () => {
    const unit = (text: string) => {
      const { node } = parseExpression(text, ["w", "s"]);
      return node && unitOf(node, (metric) => (metric === "w" ? "W" : "s"));
    };
    expect([unit("2 * w"), unit("w / 2 + w"), unit("ema(w, 0.9)"), unit("w - 1")]).toEqual(
      Array(4).fill("W"),
    );
    expect([unit("w / s"), unit("w + s"), unit("w ^ 2"), unit("log(w)"), unit("2 / w")]).toEqual(
      Array(5).fill(""),
    );
  });
});

describe("values of an expression", () => {
  const none = Number.NaN;

  it("stand where one of the metrics has points, with the others' value before", () => {
    const power = {
      value: Float64Array.of(100, 100, 100, 200),
      count: Float64Array.of(1, 0, 0, 1),
    };
    const x = columns([0, 0, 0, 0]);
    const speed = columns([none, 10, none, 20]);
    expect(values("p / s", { p: { ...x, ...power }, s: speed })).toEqual({
      value: [none, 10, none, 10],
      lost: 0,
    });
  });

  it("count columns whose result is not finite", () => {
    expect(values("1 / loss", { loss: columns([0, 2, none]) })).toEqual({
      value: [none, 0.5, none],
      lost: 1,
    });
    expect(values("log(loss)", { loss: columns([-1, 0, 1]) })).toEqual({
      value: [none, none, 0],
      lost: 2,
    });
  });

  it("are differences from point to point, whatever a column holds", () => {
    expect(values("diff(loss)", { loss: columns([1, none, 4, 2]) }).value).toEqual([
      none,
      none,
      3,
      -2,
    ]);
    // Points 1 to 8, four in a column: their means are 2.5 and 6.5.
    expect(values("diff(loss)", { loss: columns([2.5, 6.5], [4, 4]) })).toEqual({
      value: [none, 1],
      lost: 0,
    });
    expect(values("rate(loss)", { loss: columns([1, none, 9]) }).value).toEqual([none, none, 2]);
    const text = parseExpression("1 + abs(rate(loss))", kNames);
    expect(text.node && needsPlaces(text.node)).toBe(true);
  });

  it("are sums of all points", () => {
    expect(values("cumsum(loss)", { loss: columns([2.5, 6.5], [4, 4]) }).value).toEqual([10, 36]);
  });

  it("are a moving average by distance on the axis", () => {
    const [first, second] = values("ema(loss, 0.5)", { loss: columns([4, 8]) }).value;
    expect(first).toBe(4);
    // The first is 2 back: it weighs a quarter.
    expect(second).toBeCloseTo((8 + 4 / 4) / (1 + 1 / 4));
  });
});
