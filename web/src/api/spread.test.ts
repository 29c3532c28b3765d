import { afterEach, describe, expect, it, vi } from "vitest";
import { quantile } from "../format/quantile";
import type { Stretch } from "./condensed";
import { evenly, kMostTimes } from "./condensed";
import { askSpreads, columnsOf, inColumns, spreadOver } from "./spread";

const values = (...all: number[]) => Float64Array.from(all);
const kNone = Number.NaN;

it("epochs are taken evenly, the first and the last among them", () => {
  const all = Array.from({ length: 100 }, (_, i) => i);
  const some = evenly(all, 64);
  expect([some.length, some[0], some.at(-1), new Set(some).size]).toEqual([64, 0, 99, 64]);
  expect(evenly([1, 2], 64)).toEqual([1, 2]);
});

it("a part of an epoch has a point or more on average", () => {
  expect(columnsOf(60, 0.1)).toBe(128);
  expect(columnsOf(60, 1)).toBe(32);
  expect(columnsOf(60, 30)).toBe(2);
  expect(columnsOf(60, 100)).toBe(1);
  expect(columnsOf(60, 0)).toBe(128);
});

describe("an epoch's parts", () => {
  it("are means of all their points, scaled to its own length", () => {
    // Eight columns of a second; this epoch lasts 4 s, and what comes after it is not its own.
    const mean = values(1, 3, 10, 20, 99, 99, 99, 99);
    const count = values(1, 3, 1, 1, 5, 5, 5, 5);
    const two = inColumns([mean, count], { span: 8, length: 4, columns: 2 });
    expect([...two]).toEqual([2.5, 15]);
  });

  it("without points have no value", () => {
    const two = inColumns([values(1, kNone), values(1, 0)], { span: 2, length: 2, columns: 2 });
    expect([...two]).toEqual([1, kNone]);
  });
});

it("quantiles lie between the ranks", () => {
  expect(quantile(values(0, 10), 0.5)).toBe(5);
  expect(quantile(values(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10), 0.1)).toBe(1);
  expect(quantile(values(3), 0.9)).toBe(3);
  expect(quantile(values(-1e308, 1e308), 0.5)).toBe(0);
});

it("a spread needs eight epochs with a value", () => {
  const epochs = Array.from({ length: 11 }, (_, i) => values(10 - i, i < 7 ? i : kNone));
  const { p10, median, p90 } = spreadOver(epochs);
  expect([p10[0], median[0], p90[0]]).toEqual([1, 5, 9]);
  expect([p10[1], median[1], p90[1]]).toEqual([kNone, kNone, kNone]);
  expect([...spreadOver([]).median]).toEqual([]);
});

describe("askSpreads", () => {
  afterEach(() => vi.unstubAllGlobals());

  // Each line's mean is the second that its epoch begins at; all columns have a point.
  function linesAnswer(body: { width: number; lines: { origins_ns: string[] }[] }): ArrayBuffer {
    const { width, lines } = body;
    const buffer = new ArrayBuffer(32 + lines.length * (48 + 4 * width * 8));
    const view = new DataView(buffer);
    view.setUint32(0, 0x4e4c5243, true);
    view.setUint16(4, 1, true);
    view.setUint16(6, lines.length, true);
    view.setUint32(8, width, true);
    lines.forEach((line, i) => {
      const at = 32 + i * (48 + 4 * width * 8);
      view.setUint8(at + 1, 1);
      view.setUint32(at + 4, 4, true);
      for (let k = 0; k < 4 * width; k++) {
        const value = k < 3 * width ? Number(line.origins_ns[0]) / 1e9 : 1;
        view.setFloat64(at + 48 + k * 8, value, true);
      }
    });
    return buffer;
  }

  function stub() {
    const asked: { width: number; lines: { series: number[]; origins_ns: string[] }[] }[] = [];
    vi.stubGlobal("window", {});
    vi.stubGlobal("fetch", async (_: string, { body }: { body: string }) => {
      const question = JSON.parse(body);
      asked.push(question);
      return new Response(linesAnswer(question));
    });
    return asked;
  }

  const folded = (epochs: number): Stretch => ({
    from: 100,
    to: 111,
    at: 3,
    fold: {
      epochs,
      first: 0,
      last: epochs - 1,
      typical: 1,
      p10_s: 9.9,
      p90_s: 10.1,
      length: 10,
      times: evenly(
        Array.from({ length: epochs }, (_, i) => ({ from: 10 * i, to: 10 * i + 10 })),
        kMostTimes,
      ),
      from: 0,
      to: 10 * epochs,
    },
    odd: [],
  });
  const series = (id: number) => ({ id, origin: 1_000_000_000n, spacing: 1 });

  it("asks for each epoch from its begin, and places the spread where the typical one stands", async () => {
    const asked = stub();
    const { series: found, why } = await askSpreads([series(7)], [folded(11)]);
    expect(why).toBeNull();
    expect(asked.map(({ lines, ...rest }) => [lines.length, rest])).toEqual([
      [11, { axis: "relative", from_ns: "0", to_ns: "10000000000", width: 16, exact: true }],
    ]);
    expect(asked[0]?.lines[3]).toEqual({
      kind: "mean",
      series: [7],
      origins_ns: ["31000000000"],
    });
    const [spread] = found.get(7) ?? [];
    expect([spread?.from, spread?.to, spread?.read, spread?.epochs]).toEqual([3, 13, 11, 11]);
    expect([spread?.p10, spread?.median, spread?.p90].map((all) => all?.[0])).toEqual([11, 51, 91]);
    expect(spread?.median.length).toBe(8);
  });

  it("reads at most 64 epochs, and of several series and folds each by itself", async () => {
    const asked = stub();
    const { series: found } = await askSpreads(
      [series(1), series(2), series(3)],
      [folded(200), folded(9)],
    );
    expect(asked.map(({ lines }) => lines.length)).toEqual([64, 9, 64, 9, 64, 9]);
    expect(found.get(2)?.map(({ read, epochs }) => [read, epochs])).toEqual([
      [64, 200],
      [9, 9],
    ]);
  });

  it("says why there is none", async () => {
    const asked = stub();
    expect((await askSpreads([series(1)], [folded(7)])).why).toBe(
      "fewer than 8 alike epochs in a row",
    );
    const many = Array.from({ length: 97 }, (_, i) => series(i));
    expect((await askSpreads(many, [folded(9)])).why).toBe("too many lines and folds");
    expect(asked).toEqual([]);
  });
});
