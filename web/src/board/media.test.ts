import { expect, it } from "vitest";
import type { MediaEntry, MediaKind } from "../api/media";
import {
  barsOf,
  difference,
  mediaRows,
  type Pixels,
  positionOf,
  readHistogram,
  readTable,
  rebinned,
  referenceOf,
  spread,
  stepAt,
  stepsOf,
} from "./media";

const entry = (name: string, steps: (number | null)[], kind: MediaKind = "image"): MediaEntry => ({
  name,
  kind,
  count: steps.length,
  steps: steps.map((step) => ({
    step: step === null ? null : String(step),
    path: `media/${name}@${step}`,
    size: "1",
  })),
});

it("puts one name of several runs into a row, in the order of the runs", () => {
  const rows = mediaRows([
    [entry("b10", [1]), entry("b9", [1, 5])],
    undefined,
    [entry("b9", [2]), entry("b9", [3], "text")],
  ]);
  expect(rows.map(({ name, kind }) => `${name} ${kind}`)).toEqual([
    "b9 image",
    "b9 text",
    "b10 image",
  ]);
  expect(rows[0]?.entries.map((one) => one?.steps.length ?? null)).toEqual([2, null, 1]);
  expect(stepsOf(rows)).toEqual([1, 2, 3, 5]);
  expect(mediaRows([[entry("Val/a", [1]), entry("b", [1])]], "val")).toHaveLength(1);
});

it("shows the newest value at or before a step", () => {
  const steps = [0, 10, 20];
  expect(positionOf(steps, undefined)).toBe(2);
  expect(positionOf(steps, 19)).toBe(1);
  expect(positionOf(steps, -5)).toBe(0);
  const one = entry("a", steps);
  expect(stepAt(one, undefined)?.step).toBe("20");
  expect(stepAt(one, 19)?.step).toBe("10");
  expect(stepAt(one, -1)).toBeNull();
  expect(stepAt(entry("a", [null]), 3)?.step).toBeNull();
  expect(stepAt(null, 3)).toBeNull();
});

it("finds the image that another is compared to", () => {
  const [row] = mediaRows([[entry("a", [0, 10, 20])], [entry("a", [5])]]);
  if (row === undefined) throw new Error("no row");
  const shown = stepAt(row.entries[0] ?? null, 20);
  if (shown === null) throw new Error("no step");
  const at = { run: 0, shown, step: 20 };
  expect(referenceOf(row, at, { way: "previous", base: -1 })?.shown.step).toBe("10");
  expect(referenceOf(row, at, { way: "first", base: -1 })?.shown.step).toBe("0");
  expect(referenceOf(row, at, { way: "id", base: 1 })).toMatchObject({
    run: 1,
    shown: { step: "5" },
  });
  expect(referenceOf(row, at, { way: "id", base: 0 })).toBeNull();
  const first = { run: 0, shown: row.entries[0]?.steps[0] as typeof shown, step: 0 };
  expect(referenceOf(row, first, { way: "first", base: -1 })).toBeNull();
  expect(referenceOf(row, first, { way: "previous", base: -1 })).toBeNull();
});

it("reads a histogram as the format says, and nothing else", () => {
  expect(readHistogram('{"edges":[0,1,3],"counts":[2,4],"not_finite":1}')).toEqual({
    edges: [0, 1, 3],
    counts: [2, 4],
    notFinite: 1,
  });
  expect(readHistogram('{"edges":[],"counts":[],"not_finite":3}')?.notFinite).toBe(3);
  for (const text of [
    "",
    "[]",
    "null",
    '{"edges":[0,1],"counts":[1,2]}',
    '{"edges":[1,0],"counts":[1]}',
    '{"edges":[0,1],"counts":[-1]}',
    '{"edges":[0,"1"],"counts":[1]}',
    `{"edges":[0],"counts":[${"1,".repeat(5000)}1]}`,
  ])
    expect(readHistogram(text), text.slice(0, 40)).toBeNull();
});

it("compares bars of unequal width by their area", () => {
  const bars = barsOf({ edges: [0, 1, 3], counts: [2, 4], notFinite: 0 });
  expect(bars.map(({ height }) => height)).toEqual([1, 1]);
  expect(rebinned({ edges: [0, 1, 3], counts: [2, 4], notFinite: 0 }, 0, 3, 3)).toEqual([2, 2, 2]);
  expect(rebinned({ edges: [1, 1], counts: [7], notFinite: 0 }, 0, 2, 4)).toEqual([0, 0, 7, 0]);
  expect(spread([0, 1, 2, 3, 4, 5, 6], 3)).toEqual([0, 3, 6]);
});

it("reads a table, whatever its cells are", () => {
  expect(readTable('{"columns":["a",1],"data":[[1,"<b>"],[null,{"x":1}]]}')).toEqual({
    columns: ["a", "1"],
    rows: [
      ["1", "<b>"],
      ["", '{"x":1}'],
    ],
  });
  for (const text of ["{", '{"columns":1,"data":[]}', '{"columns":[],"data":[1]}'])
    expect(readTable(text)).toBeNull();
});

const pixels = (width: number, height: number, bytes: number[]): Pixels => ({
  width,
  height,
  data: new Uint8ClampedArray(bytes),
});

it("shows where two images differ, and how much", () => {
  const a = pixels(2, 1, [10, 20, 30, 255, 0, 0, 0, 255]);
  const b = pixels(2, 1, [10, 70, 30, 255, 0, 0, 0, 255]);
  const found = difference(a, b);
  expect(found).toMatchObject({ most: 50, differing: 0.5, gain: 5.1 });
  expect(found?.mean).toBeCloseTo(50 / 6);
  expect([...(found?.data ?? [])]).toEqual([0, 255, 0, 255, 0, 0, 0, 255]);
  expect(difference(a, a)).toMatchObject({ most: 0, gain: 1, differing: 0 });
  expect(difference(a, pixels(1, 2, [...a.data]))).toBeNull();
});

it("sees a difference of transparency, and none of invisible colours", () => {
  const clear = pixels(1, 1, [9, 9, 9, 0]);
  expect(difference(clear, pixels(1, 1, [200, 9, 9, 0]))?.most).toBe(0);
  expect(difference(clear, pixels(1, 1, [0, 0, 0, 255]))?.most).toBe(255);
});
