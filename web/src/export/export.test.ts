import { describe, expect, it } from "vitest";
import { denseColumns } from "../charts/testing";
import { csvField, drawnCsv } from "./csv";
import { offlineBound, offlineHtml, packLine, unpackLine } from "./offline";
import { readShare } from "./share";

const columns = {
  ...denseColumns([
    [1, 0, 9, 2],
    [2, -5, 3, 3],
    [3, 1, 4, 4],
  ]),
  segments: Uint32Array.of(0, 2),
  gaps: [[1.5, 1.75]] as const,
};

const drawn = {
  key: "a",
  label: "a",
  colour: "#111111",
  dash: [4, 2],
  hidden: false,
  data: { columns, from: 0, to: 3, width: 3, spacing: 0.5 },
};

describe("the offline page", () => {
  it("has the same columns, interrupted in the same places", () => {
    const back = unpackLine(JSON.parse(JSON.stringify(packLine(drawn, "#eeeeee"))), true);
    expect(back.colour).toBe("#eeeeee");
    const { data } = back;
    expect(data).toMatchObject({ from: 0, to: 3, width: 3, spacing: 0.5 });
    for (const part of ["first", "min", "max", "last", "firstX", "minX", "maxX", "lastX"] as const)
      expect([...(data?.columns[part] ?? [])]).toEqual([...columns[part]]);
    expect([...(data?.columns.counts ?? [])]).toEqual([...columns.counts]);
    expect([...(data?.columns.segments ?? [])]).toEqual([0, 2]);
    expect(data?.columns.gaps).toEqual([[1.5, 1.75]]);
  });

  it("has groups with their bands, pairs, second axes and notes", () => {
    const value = Float64Array.of(1, Number.NaN, 3);
    const [low, high] = [Float64Array.of(0, Number.NaN, 2), Float64Array.of(2, Number.NaN, 4)];
    const pairs = { x: Float64Array.of(3, 1, Number.NaN), y: Float64Array.of(1, 2, Number.NaN) };
    const line = {
      ...drawn,
      data: null,
      curve: { value, low, high, from: -1, to: 5 },
      pairs,
      axis: 1 as const,
      note: "n = 3",
      faint: true,
    };
    const { hidden: _, ...rest } = line;
    expect(unpackLine(JSON.parse(JSON.stringify(packLine(line, "#e"))), false)).toEqual({
      ...rest,
      hidden: false,
    });
    const bare = { ...line, curve: { ...line.curve, low: null, high: null } };
    expect(unpackLine(packLine(bare, "#e"), false).curve).toEqual(bare.curve);
  });

  it("is at most as large as was said", () => {
    const n = 4096;
    const full = denseColumns(Array.from({ length: n }, (_, i) => [i / 3, -i, i, i / 7] as const));
    const value = Float64Array.from({ length: 1024 }, (_, i) => i / 3);
    const line = {
      ...drawn,
      data: { columns: full, from: 0, to: 1, width: n, spacing: 0 },
      curve: { value, low: null, high: null, from: 0, to: 1 },
    };
    const { length } = JSON.stringify(packLine(line, "#e"));
    const bound = (lines: number) =>
      offlineBound({ columns: lines, curves: lines, pairs: 0, layers: 1 });
    expect(length).toBeLessThan(bound(1));
    // And not much less: it is the columns that make it large.
    expect(length).toBeGreaterThan((bound(1) - bound(0)) * 0.98);
  });

  it("is not left by what a run is called", () => {
    const title = "</title><script>alert(1)</script>";
    const x = { kind: "time" as const };
    const board = { title, link: "", made: "", words: "", x, charts: [] };
    const html = offlineHtml(board, "const end = '</script>';");
    expect(html.match(/<script/g)).toHaveLength(2);
    expect(html.match(/<\/script/g)).toHaveLength(2);
  });
});

describe("a share file", () => {
  it("leads to a page of this server or nowhere", () => {
    const file = (path: unknown, corral: unknown = 1) => readShare({ corral, path });
    expect(file("/board?run=a&x=step")).toEqual({ path: "/board?run=a&x=step" });
    expect(file("/runs/abc?tab=about")).toEqual({ path: "/runs/abc?tab=about" });
    for (const path of ["//elsewhere.example", "https://e.example/board", "/boards", 3, undefined])
      expect(file(path)).toHaveProperty("wrong");
    expect(file("/board", 2)).toHaveProperty("wrong");
    expect(readShare(null)).toHaveProperty("wrong");
    expect(readShare("text")).toHaveProperty("wrong");
  });
});

describe("a field of CSV", () => {
  it("is no formula in a spreadsheet when it is a name", () => {
    const command = "cmd|' /C calc'!A0";
    expect(csvField(`=${command}`)).toBe(`'=${command}`);
    expect(csvField("+SUM(A1:A9)")).toBe("'+SUM(A1:A9)");
    expect(csvField("-2+3")).toBe("'-2+3");
    expect(csvField("@here")).toBe("'@here");
    expect(csvField("\tx")).toBe("'\tx");
    expect(csvField('=HYPERLINK("http://x")')).toBe('"\'=HYPERLINK(""http://x"")"');
  });
  it("is as it was when it is a number or an ordinary name", () => {
    for (const value of [-1, -0.5, 1e-7, "-1", "+2.5e-3", "-.5", "-Infinity", "a=b", "loss", ""])
      expect(csvField(value)).toBe(String(value));
    expect(csvField(null)).toBe("");
    expect(csvField(undefined)).toBe("");
  });
});

describe("the drawn numbers as CSV", () => {
  it("quotes names, leaves hidden lines out, and has as many fields in every row", () => {
    const line = { colour: "", dash: [], hidden: false };
    const data = { columns, from: 0, to: 3, width: 3, spacing: 0 };
    const value = Float64Array.of(1, Number.NaN, 3);
    const curve = { value, low: null, high: null, from: 0, to: 3 };
    const pairs = { x: Float64Array.of(1), y: Float64Array.of(2) };
    const rows = drawnCsv(
      [
        { ...line, key: "a", label: "aa", data },
        { ...line, key: "b", label: "bb", data: null, curve },
        { ...line, key: "c", label: 'c "c", c', data: null, pairs },
        { ...line, key: "d", label: "hidden", data, hidden: true },
      ],
      "step",
    )
      .trim()
      .split("\r\n");
    expect(rows[0]).toBe("line,kind,step,value,low,low_at,high,high_at,last,last_at,points");
    const fields = rows.slice(0, -1).map((row) => row.split(",").length);
    expect(new Set(fields)).toEqual(new Set([11]));
    expect(rows.filter((row) => row.startsWith("aa,column,"))).toHaveLength(3);
    expect(rows.filter((row) => row.startsWith("bb,computed,"))).toEqual([
      "bb,computed,0.5,1,,,,,,,",
      "bb,computed,2.5,3,,,,,,,",
    ]);
    expect(rows.at(-1)).toBe('"c ""c"", c",pair,1,2,,,,,,,');
    expect(rows.join()).not.toContain("hidden");
  });
});
