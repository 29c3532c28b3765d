import { describe, expect, it } from "vitest";
import type { Phase } from "../api/types";
import { kFixedFont } from "./font";
import { drawLane, isHatched, type Lane, layoutLanes, spanAt } from "./lanes";
import { rounded } from "./testing";
import { kLight } from "./theme";

function phase(id: string, from: number, to: number | null, part: Partial<Phase> = {}): Phase {
  return {
    id,
    parent: null,
    name: "epoch",
    type: "epoch",
    kind: "compute",
    lane: "node7/1/main",
    start_ns: String(1000 + Math.round(from * 1e9)),
    end_ns: to === null ? null : String(1000 + Math.round(to * 1e9)),
    attributes: {},
    ...part,
  };
}

const kPhases = [
  phase("1", 0, 50, { attributes: { index: 1 } }),
  phase("2", 5, 15, { parent: "1", name: "data wait", kind: "wait" }),
  phase("3", 16, 20, { parent: "1", name: "checkpoint", kind: "io" }),
  phase("4", 50, 51, { attributes: { index: 2 } }),
  phase("5", 60, null, { name: "load", lane: "node7/1/loader-0" }),
];

const spec = { width: 400, from: 0, to: 100, colour: "#2f5fd0", theme: kLight };

describe("layoutLanes", () => {
  it("puts every lane apart and the tree's depth in rows", () => {
    const lanes = layoutLanes(kPhases, () => 1000n, 90);
    expect(lanes.map((lane) => [lane.name, lane.depth, lane.spans.length])).toEqual([
      ["node7/1/main", 2, 4],
      ["node7/1/loader-0", 1, 1],
    ]);
    expect(lanes[0]?.spans.map((span) => [span.label, span.depth, span.start, span.end])).toEqual([
      ["epoch 1", 0, 0, 50],
      ["epoch 2", 0, 50, 51],
      ["data wait", 1, 5, 15],
      ["checkpoint", 1, 16, 20],
    ]);
  });

  it("lets an open phase last until now", () => {
    const span = layoutLanes(kPhases, () => 1000n, 90)[1]?.spans[0];
    expect(span).toMatchObject({ start: 60, end: 90, open: true });
  });

  it("survives a loop of parents", () => {
    const loop = [phase("1", 0, 1, { parent: "2" }), phase("2", 0, 1, { parent: "1" })];
    expect(layoutLanes(loop, () => 1000n, 1)[0]?.spans.length).toBe(2);
  });
});

describe("drawLane", () => {
  it("draws what it always drew", async () => {
    const lane = layoutLanes(kPhases, () => 1000n, 90)[0] as Lane;
    const golden = `${JSON.stringify(rounded(drawLane(lane, spec, kFixedFont)), null, 1)}\n`;
    await expect(golden).toMatchFileSnapshot("golden/lane.golden.json");
  });

  it("hatches waiting and writes what fits", () => {
    const lane = layoutLanes(kPhases, () => 1000n, 90)[0] as Lane;
    const { marks } = drawLane(lane, spec, kFixedFont);
    expect(marks.filter((mark) => mark.kind === "rect" && mark.hatch).length).toBe(1);
    expect(marks.flatMap((mark) => (mark.kind === "text" ? [mark.text] : []))).toEqual([
      "epoch 1",
      "50\u2009s",
    ]);
  });

  it("hatches evaluation, whatever it is called", () => {
    const hatched = (name: string, type: string) => {
      const [lane] = layoutLanes([phase("1", 0, 9, { name, type })], () => 1000n, 90);
      return isHatched((lane as Lane).spans[0] as Lane["spans"][0]);
    };
    expect(hatched("evaluation", "phase")).toBe(true);
    expect(hatched("Validate 3", "phase")).toBe(true);
    expect(hatched("pass", "eval")).toBe(true);
    expect(hatched("retest", "epoch")).toBe(false);
  });

  it("crosses what was profiled in ink, with its words on a plate", () => {
    for (const kind of [{ name: "profiled" }, { name: "trace", type: "profiled" }]) {
      const [lane] = layoutLanes([phase("1", 0, 80, kind)], () => 1000n, 90);
      const { marks } = drawLane(lane as Lane, spec, kFixedFont);
      const rects = marks.flatMap((mark) => (mark.kind === "rect" ? [mark] : []));
      expect(rects.map(({ colour, pattern }) => [colour, pattern])).toEqual([
        [kLight.ink3, undefined],
        [kLight.ink3, "cross"],
        [kLight.background, undefined],
        [kLight.background, undefined],
      ]);
      expect(marks.at(-2)).toMatchObject({ kind: "text", text: kind.name });
    }
  });

  it("stays as small as the screen with a million steps", () => {
    const spans = Array.from({ length: 20_000 }, (_, i) => phase(`${i}`, i / 200, (i + 1) / 200));
    const lane = layoutLanes(spans, () => 1000n, 100)[0] as Lane;
    expect(drawLane(lane, spec, kFixedFont).marks.length).toBeLessThan(1000);
  });

  it("finds the span under the pointer", () => {
    const lane = layoutLanes(kPhases, () => 1000n, 90)[0] as Lane;
    expect(spanAt(lane, 10, 5)?.label).toBe("epoch 1");
    expect(spanAt(lane, 10, 25)?.label).toBe("data wait");
    expect(spanAt(lane, 80, 5)).toBeNull();
    expect(spanAt(lane, 10, 5000)).toBeNull();
  });

  it("finds the span on top where some overlap", () => {
    const spans = [phase("a", 0, 100), phase("b", 10, 20), phase("c", 30, 40)];
    const lane = layoutLanes(spans, () => 1000n, 0)[0] as Lane;
    expect([5, 15, 25, 35, 99, 101].map((at) => spanAt(lane, at, 5)?.id)).toEqual([
      "a",
      "b",
      "a",
      "c",
      "a",
      undefined,
    ]);
  });
});
