import { describe, expect, it } from "vitest";
import { ChartFormatError, decodeCharts } from "./columns";
import { type Column, encode } from "./testing";

const kTwo: Column[] = [
  { values: [1, 0.5, 4, 3], x: [0.25, 0.5, 0.625, 0.75], count: 9 },
  { values: [7, 7, 7, 7], x: [2, 2, 2, 2], count: 1 },
];

describe("decodeCharts", () => {
  it("reads every field of every series", () => {
    const answer = decodeCharts(
      encode(10, [
        { id: 17n, columns: kTwo },
        { id: 18n, columns: [] },
        { id: 19n, columns: kTwo.slice(0, 1) },
      ]),
    );
    expect([answer.width, answer.axis, answer.from, answer.to]).toEqual([10, "time", 1000n, 2000n]);
    expect([...answer.series.keys()]).toEqual([17, 18, 19]);
    const first = answer.series.get(17);
    expect(first).toMatchObject({ points: 77, nonFinite: 3, exact: true, rate: true });
    expect([...(first?.first ?? [])]).toEqual([1, 7]);
    expect([...(first?.min ?? [])]).toEqual([0.5, 7]);
    expect([...(first?.max ?? [])]).toEqual([4, 7]);
    expect([...(first?.last ?? [])]).toEqual([3, 7]);
    expect([...(first?.maxX ?? [])]).toEqual([0.625, 2]);
    expect([...(first?.counts ?? [])]).toEqual([9, 1]);
    expect([...(answer.series.get(19)?.lastX ?? [])]).toEqual([0.75]);
    expect(first).toMatchObject({ gaps: [], unknownGap: false });
    expect([...(first?.segments ?? [])]).toEqual([0]);
  });

  it("reads segments, each ascending by itself, and gaps", () => {
    const series = {
      id: 17n,
      columns: [...kTwo, ...kTwo],
      segments: [0, 2],
      gaps: [
        [1_500n, 1_600n],
        [1_700n, 1_800n],
      ] as [bigint, bigint][],
    };
    const columns = decodeCharts(encode(10, [series, { id: 18n, columns: kTwo }])).series.get(17);
    expect([...(columns?.segments ?? [])]).toEqual([0, 2]);
    expect([...(columns?.firstX ?? [])]).toEqual([0.25, 2, 0.25, 2]);
    expect(columns?.gaps).toEqual([
      [5, 6],
      [7, 8],
    ]);
    expect(columns?.unknownGap).toBe(true);
    for (const segments of [[0], [1, 2], [0, 2, 2], [0, 5]]) {
      expect(() => decodeCharts(encode(10, [{ ...series, segments }])), `${segments}`).toThrow(
        ChartFormatError,
      );
    }
  });

  it("refuses an answer cut anywhere", () => {
    const whole = encode(10, [{ id: 17n, columns: kTwo }]);
    for (let size = 0; size < whole.byteLength; size++) {
      expect(() => decodeCharts(whole.slice(0, size)), `cut at ${size}`).toThrow(ChartFormatError);
    }
  });

  it("refuses foreign, newer, overfull and disordered answers", () => {
    const broken = (change: (view: DataView) => void) => () => {
      const buffer = encode(10, [{ id: 17n, columns: kTwo }]);
      change(new DataView(buffer));
      return decodeCharts(buffer);
    };
    expect(broken((view) => view.setUint8(0, 0))).toThrow("not a chart answer");
    expect(broken((view) => view.setUint16(4, 3, true))).toThrow("version 3");
    expect(broken((view) => view.setUint32(8, 1, true))).toThrow("2 columns in a width of 1");
    expect(broken((view) => view.setUint32(56, 0xffffffff, true))).toThrow(ChartFormatError);
    expect(broken((view) => view.setUint16(6, 2, true))).toThrow("cut off");
    expect(broken((view) => view.setUint16(6, 0, true))).toThrow("after its last series");
    expect(broken((view) => view.setBigInt64(24, 1_000n, true))).toThrow("empty range");
    expect(broken((view) => view.setFloat32(32 + 72 + 64, 5, true))).toThrow("out of order");
    expect(broken((view) => view.setUint32(12, 3, true))).toThrow("unknown axis");
  });
});
