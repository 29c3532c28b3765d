import { describe, expect, it } from "vitest";
import { kFixedFont } from "./font";
import type { DotsMark, LineMark, MarkersMark, RectMark } from "./marks";
import { drawSequence, type SequenceData } from "./sequence";
import { flat, textsOf } from "./testing";
import { kLight } from "./theme";

const values = [10, 11, null, 30, 12, 20, 21].map((value, i) => ({
  key: String(i),
  words: `run ${i}`,
  value,
  hollow: i === 3,
}));
const data: SequenceData = {
  values,
  stretches: [
    { first: 0, last: 4, mean: 11, low: 10, high: 12, series: 0 },
    { first: 5, last: 6, mean: 20.5, low: null, high: null, series: 1 },
  ],
  changes: [{ lastBefore: 4, firstAfter: 5, ratio: 1.863, confirmed: false }],
  labels: [{ first: 0, last: 6, text: "7 runs" }],
};
const spec = { width: 700, height: 240, unit: "s", theme: kLight };
const drawn = (of: SequenceData) => drawSequence(of, spec, kFixedFont);
const of = <Kind extends string>(kind: Kind, part: SequenceData = data) =>
  flat(drawn(part).marks).filter((mark) => mark.kind === kind);

describe("runs in their order", () => {
  it("are points at equal distances, in the colour of their stretch", () => {
    const dots = of("dots") as DotsMark[];
    expect(dots.length).toBe(5);
    const [a, b] = dots.map(({ points }) => points[0] as number) as [number, number];
    expect(dots[2]?.points[0]).toBeCloseTo(a + 4 * (b - a), 6);
    expect(dots.map(({ colour }) => kLight.series.indexOf(colour))).toEqual([0, 0, 0, 1, 1]);
  });

  it("are rings where they are not like others, and crosses on the axis without a value", () => {
    const { plot } = drawn(data);
    const [cross, ring] = of("markers") as MarkersMark[];
    expect([cross?.shape, ring?.shape]).toEqual(["cross", "ring"]);
    expect(cross?.points[1]).toBe(plot.y + plot.height);
    expect(ring?.points[1]).toBeLessThan(plot.y + plot.height / 2);
  });

  it("have the mean of each stretch as a step, with its interval if there is one", () => {
    const steps = (of("line") as LineMark[]).filter(({ width }) => width === 1.4);
    expect(steps.length).toBe(2);
    expect(steps[0]?.points[2]).toBeCloseTo(steps[1]?.points[0] as number, 6);
    const bands = (of("rect") as RectMark[]).filter(({ alpha }) => alpha === 0.12);
    expect(bands.length).toBe(1);
    expect(bands[0]?.y).toBeLessThan(steps[0]?.points[1] as number);
  });

  it("show a change between the two runs that it lies between, dashed while it is suspected", () => {
    const [range] = (of("rect") as RectMark[]).filter(({ alpha }) => alpha === 0.14);
    const dots = of("dots") as DotsMark[];
    expect(range?.x).toBeCloseTo(dots[2]?.points[0] as number, 6);
    expect((range?.x ?? 0) + (range?.width ?? 0)).toBeCloseTo(dots[3]?.points[0] as number, 6);
    const dashes = (part: SequenceData) =>
      (of("line", part) as LineMark[]).filter(({ dash }) => dash.length > 0).length;
    expect(dashes(data)).toBe(1);
    const confirmed = data.changes?.map((one) => ({ ...one, confirmed: true })) ?? [];
    expect(dashes({ ...data, changes: confirmed })).toBe(0);
    expect(textsOf(drawn(data).marks)).toEqual(expect.arrayContaining(["1.86 × ?", "7 runs", "s"]));
  });

  it("stay readable beside an outlier, which stands at the edge where it does not fit", () => {
    const far = values.map((one) => (one.hollow ? { ...one, value: 3000 } : one));
    const picture = drawn({ ...data, values: far });
    const ring = flat(picture.marks).find(
      (mark): mark is MarkersMark => mark.kind === "markers" && mark.shape === "ring",
    );
    expect(ring?.points[1]).toBe(picture.plot.y);
    expect(picture.notes).toEqual(["1 value beyond the axis, at its edge"]);
    expect(drawn(data).notes).toEqual([]);
    const [a, b] = of("dots", { ...data, values: far }) as [DotsMark, DotsMark];
    expect((a.points[1] as number) - (b.points[1] as number)).toBeGreaterThan(2);
  });

  it("stay readable beside an interval that nothing limits", () => {
    const wild = data.stretches.map((one) => ({ ...one, low: -1e6, high: 1e6 }));
    const [a, b] = of("dots", { ...data, stretches: wild }) as [DotsMark, DotsMark];
    expect((a.points[1] as number) - (b.points[1] as number)).toBeGreaterThan(2);
  });

  it("are small and faint where there are many, so that the steps on them are seen", () => {
    const many = Array.from({ length: 400 }, (_, i) => ({
      key: `${i}`,
      words: "",
      value: 10 + (i % 3),
    }));
    const marks = flat(drawn({ values: many, stretches: data.stretches, labels: [] }).marks);
    const dot = marks.find((mark): mark is DotsMark => mark.kind === "dots") as DotsMark;
    expect([dot.radius, dot.alpha]).toEqual([1.5, 0.45]);
    expect((of("dots")[0] as DotsMark).alpha).toBeUndefined();
    expect(marks.at(-1)?.kind).toBe("line");
  });

  it("have a place each that a pointer can hit, and none is drawn of no runs", () => {
    const { boxes, plot } = drawn(data);
    expect(boxes.map(({ words }) => words)).toEqual(values.map(({ words }) => words));
    for (const { x, width } of boxes)
      expect(x + width / 2 > plot.x && x + width / 2 < plot.x + plot.width).toBe(true);
    expect(drawn({ values: [], stretches: [], labels: [] }).boxes).toEqual([]);
  });
});
