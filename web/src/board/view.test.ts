// The address: whatever a board can be comes back from it as it was, and whatever somebody types is taken without
// an error.
import { describe, expect, it } from "vitest";
import { parseSearch, stringifySearch } from "../app/search";
import { runSearch } from "../pages/run/search";
import { type ChartChoice, choiceText, kKinds, parseChoice, together } from "./choice";
import { quoted } from "./quote";
import {
  boardSearch,
  type Grouping,
  goesWith,
  groupingText,
  kAxes,
  kBands,
  parseGrouping,
  parsePhase,
  parsePin,
  parseRegion,
  parseSmoothing,
  pinText,
  regionText,
  smoothingText,
  viewSearch,
} from "./view";

// xorshift32: the same cases every time.
function random(seed: number) {
  let state = seed;
  const next = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
  return {
    next,
    below: (n: number) => Math.floor(next() * n),
    pick: <T>(some: readonly T[]): T => some[Math.floor(next() * some.length)] as T,
    maybe: <T>(value: () => T): T | undefined => (next() < 0.5 ? value() : undefined),
  };
}
type Random = ReturnType<typeof random>;

const kNames = [
  "loss",
  "train/loss",
  "a b",
  "100 %",
  "x~y",
  "%7E",
  "a&b=c",
  "Größe",
  "µs",
  "<script>",
  "\u202egnp",
  "🦙",
  "a#b?c",
  "with:z",
  "y:1..2",
];

const name = (r: Random) => r.pick(kNames) + (r.next() < 0.3 ? String(r.below(99)) : "");

function choice(r: Random): ChartChoice {
  const from = r.below(50) - 20;
  const y = r.pick([
    { mode: "auto" as const },
    { mode: "zero" as const },
    { mode: "log" as const },
    { mode: "clip" as const },
    { mode: "clip" as const, low: 2, high: 97.5 },
    { mode: "fixed" as const, from, to: from + 0.5 + r.below(9) },
  ]);
  const out: ChartChoice = { metric: name(r), kind: r.pick(kKinds), y };
  const second = r.maybe(() => name(r));
  if (second !== undefined) out.second = second;
  const right = r.pick([
    undefined,
    { mode: "zero" as const },
    { mode: "log" as const },
    { mode: "clip" as const, low: 2, high: 97.5 },
    { mode: "fixed" as const, from, to: from + 2 },
  ]);
  if (right !== undefined) out.y2 = right;
  const range = r.maybe(() => ({ from: from / 8, to: from / 8 + 0.25 }));
  if (range !== undefined) out.range = range;
  const runs = r.maybe(() => ["0a1b2c", "ffff"]);
  if (runs !== undefined) out.runs = runs;
  if (r.next() < 0.3) out.pinned = true;
  return out;
}

function grouping(r: Random): Grouping {
  const show = r.pick(["mean", "median", "sum"] as const);
  return {
    by: r.pick(["workload", "experiment", `param:${name(r)}`, `tag:${name(r)}`]),
    show,
    band: r.pick(kBands.filter((band) => goesWith(show, band))),
  };
}

describe("the address of a board", () => {
  it("keeps every chart's choice, whatever its metric is called", () => {
    const r = random(7);
    for (let i = 0; i < 2000; i++) {
      const one = choice(r);
      expect(parseChoice(choiceText(one))).toEqual(one);
    }
  });

  it("keeps groups, smoothing and regions", () => {
    const r = random(11);
    for (let i = 0; i < 500; i++) {
      const one = grouping(r);
      expect(parseGrouping(groupingText(one))).toEqual(one);
      const amount = r.next();
      const smoothing = { method: r.pick(["ema", "gaussian", "mean"] as const), amount };
      if (amount > 1e-6) expect(parseSmoothing(smoothingText(smoothing))).toEqual(smoothing);
      const from = Number((r.next() * 1e4).toFixed(6));
      const region = { from, to: Number((from + 1 + r.next()).toFixed(6)) };
      expect(parseRegion(regionText(region))).toEqual(region);
    }
  });

  it("has no deviation around a median", () => {
    const median = { by: "workload", show: "median", band: "range" };
    expect(parseGrouping("workload~median~ci")).toEqual(median);
    expect(parseGrouping("workload~median~quartiles")?.band).toBe("quartiles");
  });

  it("keeps pins, with and without the chart that was clicked", () => {
    const r = random(19);
    for (let i = 0; i < 200; i++) {
      const pin = { at: r.below(1000) / 8 - 50, chart: r.maybe(() => name(r)) ?? null };
      expect(parsePin(pinText(pin))).toEqual(pin);
    }
    expect(parsePin("x")).toBeNull();
    expect(parsePin("")).toBeNull();
    expect(parsePhase("1570b0:11.3")).toEqual({ run: "1570b0", id: "11.3" });
    expect(parsePhase("loss")).toBeNull();
  });

  it("brings every chart back to the board's range", () => {
    expect(together(["loss~log~range:1..2", "x"])).toEqual(["loss~log", "x"]);
  });

  it("says the same both ways, whole", () => {
    const r = random(13);
    for (let i = 0; i < 1000; i++) {
      const x = r.pick(kAxes);
      const group = r.maybe(() => groupingText(grouping(r)));
      const said = boardSearch({
        run: r.maybe(() => [name(r), "b"]),
        workload: r.maybe(() => ["w"]),
        metric: r.maybe(() => [choiceText(choice(r)), choiceText(choice(r))]),
        x,
        xmetric: name(r),
        align: r.maybe(() => r.pick(["step", "epoch:3"])),
        smooth: r.maybe(() => "ema:0.9"),
        group,
        singles: r.maybe(() => true),
        base: r.maybe(() => name(r)),
        compare: r.maybe(() => r.pick(["difference", "ratio"])),
        hide: r.maybe(() => [name(r), name(r)]),
        sel: r.maybe(() => "1..2"),
        sync: r.maybe(() => "off"),
        height: r.maybe(() => 96 + r.below(1105)),
        enlarged: r.maybe(() => quoted(name(r))),
        a: r.maybe(() => r.below(99) / 8),
        b: r.maybe(() => -r.below(99) / 8),
        pin: r.maybe(() => pinText({ at: r.below(99) / 4, chart: r.maybe(() => name(r)) ?? null })),
        phase: r.maybe(() => `0a1b2c:${r.below(9)}.${r.below(9)}`),
        media: r.maybe(() => true),
        mstep: r.maybe(() => r.below(100)),
        mname: r.maybe(() => "val/sample"),
        mdiff: r.maybe(() => ["first", "previous", "0123456789abcdef".repeat(2)][r.below(3)]),
        mall: r.maybe(() => true),
        ...(r.next() < 0.5 ? { from: 1.5, to: 2.25 } : {}),
      });
      expect(boardSearch(parseSearch(stringifySearch({ ...said })))).toEqual(said);
    }
  });

  it("takes anything without an error and keeps nothing that means nothing", () => {
    const r = random(17);
    const keys = Object.keys(
      boardSearch({ run: "a", metric: "b", x: "run", from: 1, to: 2, hide: "c", sel: "1..2" }),
    ).concat(
      "sync",
      "a",
      "b",
      "pin",
      "phase",
      "smooth",
      "group",
      "align",
      "compare",
      "singles",
      "base",
      "v",
      "tab",
      "path",
    );
    const words = [
      ...kNames,
      "",
      "-1",
      "NaN",
      "1e999",
      "..",
      "1..",
      "ema:",
      "ema:2",
      "param:",
      "~~",
    ];
    for (let i = 0; i < 1000; i++) {
      const raw = Object.fromEntries(
        keys.map((key) => [key, r.next() < 0.3 ? [r.pick(words), r.pick(words)] : r.pick(words)]),
      );
      for (const parse of [viewSearch, boardSearch, runSearch]) {
        const once = parse(raw);
        expect(parse(parseSearch(stringifySearch({ ...once })))).toEqual(once);
      }
    }
  });
});
