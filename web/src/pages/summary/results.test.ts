import { describe, expect, it } from "vitest";
import type { FoundRun } from "../../api/runSearch";
import type { BarData } from "../../charts/bars";
import { barsOf, captionOf, cellsOf, type Sample } from "./data";
import { cellsCsv, cellWords, latexTable, latexText, samplesCsv } from "./results";

const sample = (id: string, value: number, values: Record<string, string>): Sample => ({
  run: { id, name: id, workload: null, experiment: "e", values } as unknown as FoundRun,
  value,
});
const along = { by: "params.model", group: "params.data" };
const samples = [
  sample("a", 0.91, { "params.model": "res_net", "params.data": "A" }),
  sample("b", 0.93, { "params.model": "res_net", "params.data": "A" }),
  sample("c", 0.5, { "params.model": "vit", "params.data": "B & C" }),
];
const data = barsOf(cellsOf(samples, along));
const words = { metric: "acc_val", of: "last", unit: "%", by: along.by };

describe("a table of results", () => {
  it("has two digits of the interval, and the mean with the same decimals", () => {
    expect(cellWords({ value: 12.34567, low: 12.22, high: 12.47 })).toEqual({
      mean: "12.35",
      half: "0.12",
    });
    expect(cellWords({ value: 1234.5, low: 1000, high: 1469 })).toEqual({
      mean: "1235",
      half: "235",
    });
    expect(cellWords({ value: 0.123456, n: 1 })).toEqual({ mean: "0.1235", half: null });
    expect(cellWords({ value: 0, low: 0, high: 0, n: 2 })).toEqual({ mean: "0", half: "0" });
    expect(cellWords({ value: 1.5e-9 }).mean).toBe("1.50e-9");
  });

  it("is LaTeX that needs no more than booktabs, with every sign quoted", () => {
    expect(latexTable(data, words).split("\n")).toEqual([
      "% last acc_val, %: mean of runs, 95 % interval (Student's t) where n > 1, (n). Needs \\usepackage{booktabs}.",
      "\\begin{tabular}{lrr}",
      "\\toprule",
      "model & data A & data B \\& C \\\\",
      "\\midrule",
      "model res\\_net & $0.92 \\pm 0.13$ (2) & -- \\\\",
      "model vit & -- & $0.5000$ (1) \\\\",
      "\\bottomrule",
      "\\end{tabular}",
      "",
    ]);
    expect(latexText("a\\b{c}$1%\n~^#")).toBe(
      "a\\textbackslash{}b\\{c\\}\\$1\\% \\textasciitilde{}\\textasciicircum{}\\#",
    );
  });

  it("says once how many runs a cell has where all have as many", () => {
    const cells = [[{ value: 2e8, low: 1e8, high: 3e8, n: 3 }]];
    const even: BarData = { categories: ["x\ny"], groups: ["all"], cells };
    const text = latexTable(even, { ...words, metric: "a\nb" });
    expect(text).toContain(
      "% last a b, %: mean of runs, 95 % interval (Student's t) where n > 1, n = 3.",
    );
    expect(text).toContain("x y & $2.00 \\times 10^{8} \\pm 1.00 \\times 10^{8}$ \\\\");
    expect(text).toContain("model & value \\\\");
  });

  it("is CSV of cells and of runs, with names that are no formulas", () => {
    const rows = cellsCsv(data, along).split("\r\n");
    expect(rows[0]).toBe("params.model,params.data,mean,low,high,n");
    expect(rows[1]).toMatch(/^model res_net,data A,0\.92\d*,0\.79\d+,1\.04\d+,2$/);
    expect(rows[2]).toBe("model vit,data B & C,0.5,,,1");
    const some = [{ ...(samples[0] as Sample), size: 7 }, { ...(samples[2] as Sample) }];
    expect(samplesCsv(some, { metric: "=x", size: "power" }).split("\r\n").slice(0, 3)).toEqual([
      "run,id,experiment,workload,params.data,params.model,'=x,power",
      "a,a,e,,A,res_net,0.91,7",
      "c,c,e,,B & C,vit,0.5,",
    ]);
  });

  it("has a caption, and a scatter says what its sizes and colours are", () => {
    const at = { metric: "loss", stacked: false, cells: [] };
    expect(captionOf("table", at)).toMatch(/± 95 % interval/);
    expect(captionOf("scatter", { ...at, size: "power", shade: "speed" })).toBe(
      "a point per run, area: power, colour: speed",
    );
  });
});
