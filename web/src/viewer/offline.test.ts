// A zoomed offline board draws and names what is in sight, nothing of what lies beside it.
import { describe, expect, it } from "vitest";
import { drawChart } from "../charts/chart";
import { lastValue } from "../charts/ends";
import { kFixedFont } from "../charts/font";
import { valuesOf } from "../charts/range";
import type { ChartLine } from "../charts/spec";
import { chartLine, curve, lineData, pointColumns } from "../charts/testing";
import { kLight } from "../charts/theme";
import { type OfflineBoard, packLine } from "../export/offline";
import { viewedBoard } from "./offline";

// One value per unit of [0, 100), each as large as its place.
const rising = pointColumns(Array.from({ length: 100 }, (_, i) => [i, i]));
const resumed = { ...rising, segments: Uint32Array.of(0, 30, 60) };

const kLines: Record<string, ChartLine> = {
  measured: chartLine("a", { data: lineData(rising) }),
  resumed: chartLine("a", { data: lineData(resumed) }),
  computed: chartLine("a", { curve: curve((i) => i, { band: 0.25 }) }),
  pairs: chartLine("a", {
    pairs: { x: Float64Array.from(rising.first), y: Float64Array.from(rising.first) },
  }),
};

function viewed(line: ChartLine) {
  const about = { name: "loss", unit: "", second: null, kind: "line", marks: [] } as const;
  const axes = { y: { mode: "auto" }, y2: { mode: "auto" } } as const;
  const layers = [{ from: 0, to: 100, lines: [packLine(line, "#82a6ff")] }];
  const chart = { ...about, ...axes, from: 0, to: 100, layers };
  const board: OfflineBoard = {
    ...{ title: "", link: "", made: "", words: "" },
    x: { kind: "time" },
    charts: [chart],
  };
  return viewedBoard(board).charts[0];
}

describe.each(Object.entries(kLines))("a %s line", (_, line) => {
  const at = (range: { from: number; to: number }) =>
    viewed(line)?.lines({ range, pixels: 100, dark: false })[0] as ChartLine;

  it("is whole over the whole range", () => {
    expect(lastValue(at({ from: 0, to: 100 }))).toBe(99);
  });

  it("ends where the window does, which is as high as what is in it", () => {
    const range = { from: 20, to: 40.5 };
    const seen = at(range);
    expect(lastValue(seen)).toBe(40);
    const values = valuesOf([seen], range);
    expect(values?.low).toBeGreaterThanOrEqual(19.5);
    expect(values?.high).toBeLessThanOrEqual(41);
    const spec = { width: 400, height: 200, ...range, unit: "", zoomed: true, theme: kLight };
    const { axis } = drawChart([seen], spec, kFixedFont);
    expect(axis?.to).toBeLessThan(60);
  });
});

it("keeps a line interrupted where its steps went back", () => {
  const chart = viewed(kLines.resumed as ChartLine);
  const seen = chart?.lines({ range: { from: 20, to: 70 }, pixels: 100, dark: false })[0];
  expect(Array.from(seen?.data?.columns.segments ?? [])).toEqual([0, 10, 40]);
});
