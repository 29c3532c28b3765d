import { afterEach, expect, it, vi } from "vitest";
import { paint } from "./canvas";
import type { Mark } from "./marks";

// A context that records its calls.
function recorded(marks: Mark[], ratio = 1): string[] {
  const log: string[] = [];
  const state: Record<string, unknown> = { canvas: document.createElement("canvas") };
  const context = new Proxy(state, {
    get: (target, name: string) =>
      target[name] ??
      ((...args: unknown[]) =>
        log.push(`${name}(${args.map((arg) => (typeof arg === "object" ? "" : arg))})`)),
    set: (target, name: string, value) => {
      target[name] = value;
      log.push(`${name}=${value}`);
      return true;
    },
  });
  const canvas = document.createElement("canvas");
  vi.spyOn(canvas, "getContext").mockReturnValue(context as unknown as CanvasRenderingContext2D);
  paint(canvas, { width: 100, height: 50, marks }, ratio);
  return log;
}

afterEach(() => vi.unstubAllGlobals());

const line: Mark = {
  kind: "line",
  points: Float64Array.of(0, 1, Number.NaN, Number.NaN, 2, 3, 4, 5),
  colour: "#112233",
  width: 1.15,
  dash: [],
};

it("lifts the pen at NaN and strokes thin lines as hairlines of the device", () => {
  const log = recorded([line]);
  expect(log.filter((call) => /To\(/.test(call))).toEqual([
    "moveTo(0,1)",
    "moveTo(2,3)",
    "lineTo(4,5)",
  ]);
  expect(log).toContain("lineWidth=1");
  expect(recorded([line], 2)).toContain("lineWidth=1.15");
  expect(recorded([{ ...line, width: 0.5 }], 2)).toContain("lineWidth=0.5");
});

it("leaves neither transparency nor dashes behind", () => {
  const log = recorded([{ ...line, alpha: 0.3, dash: [3, 2] }, line]);
  expect(log.filter((call) => call.startsWith("globalAlpha"))).toEqual([
    "globalAlpha=0.3",
    "globalAlpha=1",
    "globalAlpha=1",
  ]);
  expect(log.filter((call) => call.startsWith("setLineDash")).length).toBe(2);
});

it("closes each part of a band", () => {
  const upper = Float64Array.of(0, 1, 2, 1, Number.NaN, Number.NaN, 5, 1, 6, 1);
  const lower = Float64Array.of(0, 9, 2, 9, Number.NaN, Number.NaN, 5, 9, 6, 9);
  const log = recorded([{ kind: "band", upper, lower, colour: "#112233", alpha: 0.4 }]);
  expect(log.filter((call) => call === "closePath()").length).toBe(2);
  expect(log.filter((call) => call.startsWith("fill(")).length).toBe(1);
});

it("strokes bars of one device pixel and fills the outline of wider ones", () => {
  const bars = Float64Array.of(0, 1, 9, 1, 2, 8, 5, 3, 7);
  const mark = { kind: "bars", bars, width: 1, colour: "#112233", alpha: 0.4 } as const;
  const narrow = recorded([mark]).filter((call) => /To\(|stroke\(/.test(call));
  expect(narrow.slice(0, 2)).toEqual(["moveTo(0.5,1)", "lineTo(0.5,9)"]);
  expect(narrow.length).toBe(7);
  const wide = recorded([mark], 2);
  expect(wide.filter((call) => call === "closePath()").length).toBe(2);
  expect(wide.filter((call) => call.startsWith("fill(")).length).toBe(1);
});

it("draws cells as one image, in the colours of the table", () => {
  const made: Uint8ClampedArray[] = [];
  vi.stubGlobal(
    "ImageData",
    class {
      constructor(pixels: Uint8ClampedArray) {
        made.push(pixels);
      }
    },
  );
  const cells = Uint8Array.of(0, 1, 2, 1);
  const log = recorded([
    {
      kind: "cells",
      x: 0,
      y: 0,
      width: 20,
      height: 20,
      columns: 2,
      rows: 2,
      cells,
      colours: ["#010203", "#ff0080"],
    },
  ]);
  expect([...(made[0] as Uint8ClampedArray)]).toEqual([
    0, 0, 0, 0, 1, 2, 3, 255, 255, 0, 128, 255, 1, 2, 3, 255,
  ]);
  expect(log).toContain("imageSmoothingEnabled=false");
  expect(log.filter((call) => call.startsWith("drawImage")).length).toBe(1);
});

it("draws every sign and every hatching", () => {
  for (const shape of [
    "circle",
    "ring",
    "square",
    "triangle",
    "diamond",
    "cross",
    "plus",
  ] as const) {
    const points = Float64Array.of(5, 5, 9, 9);
    const log = recorded([
      { kind: "markers", points, shape, colour: "#112233", background: "#ffffff", size: 6 },
    ]);
    expect(
      log.filter((call) => /^(arc|closePath|lineTo)\(/.test(call)).length,
      shape,
    ).toBeGreaterThanOrEqual(2);
    expect(
      log.some((call) => /^(fill|stroke)\(/.test(call)),
      shape,
    ).toBe(true);
  }
  const box = {
    kind: "rect",
    x: 0,
    y: 0,
    width: 20,
    height: 20,
    colour: "#112233",
    alpha: 1,
    radius: 0,
    hatch: true,
  } as const;
  const strokes = (["diagonal", "back", "cross", "level", "upright", "grid"] as const).map(
    (pattern) =>
      recorded([{ ...box, pattern }])
        .filter((call) => /To\(/.test(call))
        .join(),
  );
  expect(new Set(strokes).size).toBe(6);
});
