import { describe, expect, it } from "vitest";
import { drawChart } from "./chart";
import { kFixedFont } from "./font";
import { curveAt, lineAt, nearestLine, pairAt } from "./hit";
import { chartLine, curve, lineData, pointColumns } from "./testing";
import { kLight } from "./theme";

describe("lineAt", () => {
  it("reads curves by column, pairs by the nearest x, columns by the nearest point", () => {
    const ramp = curve((i) => (i === 7 ? Number.NaN : i));
    expect(curveAt(ramp, 5.9)).toBe(5);
    expect(curveAt(ramp, 7.5)).toBeNull();
    expect(curveAt(ramp, 100)).toBeNull();
    const pairs = { x: Float64Array.of(9, 1, 5, 5), y: Float64Array.of(90, 10, 50, 51) };
    expect(pairAt(pairs, 5.2, 1)).toBe(51);
    expect(pairAt(pairs, 8.2, 1)).toBe(90);
    expect(pairAt(pairs, 3, 1)).toBeNull();
    expect(pairAt({ x: new Float64Array(), y: new Float64Array() }, 3, 1)).toBeNull();
    const columns = lineData(pointColumns([[4, 44]]));
    expect(lineAt(chartLine("a", { data: columns }), 4.5, 1)).toBe(44);
    expect(lineAt(chartLine("a", { data: columns, curve: ramp }), 4.5, 1)).toBe(4);
  });
});

describe("nearestLine", () => {
  it("is the line that passes next to the pointer, never a hidden one", () => {
    const lines = [10, 20, 80].map((v) => chartLine(`${v}`, { curve: curve(() => v) }));
    const range = { from: 0, to: 100 };
    const spec = { width: 400, height: 180, ...range, unit: "%", zoomed: false, theme: kLight };
    const picture = drawChart(lines, spec, kFixedFont);
    const y = (v: number) => picture.plot.y + (1 - v / 100) * picture.plot.height;
    expect(nearestLine(lines, picture, { x: 100, y: y(22), range })).toBe("20");
    expect(nearestLine(lines, picture, { x: 100, y: y(78), range })).toBe("80");
    expect(nearestLine(lines, picture, { x: 100, y: y(50), range })).toBeNull();
    const hidden = lines.map((line) => ({ ...line, hidden: line.key === "20" }));
    expect(nearestLine(hidden, picture, { x: 100, y: y(17), range })).toBe("10");
  });
});
