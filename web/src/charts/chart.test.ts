import { describe, expect, it } from "vitest";
import { type ChartLine, type ChartSpec, drawChart, plotRect, summarise } from "./chart";
import { kFixedFont } from "./font";
import { heatRowAt } from "./heat";
import type { CellsMark, LineMark, Mark, MarkersMark, Rect, TextMark } from "./marks";
import { multiplesHeight } from "./multiples";
import { toSvg } from "./svg";
import { curve, denseColumns, flat, lineData, pointColumns, rounded, textsOf } from "./testing";
import { kLight } from "./theme";

const spec: ChartSpec = {
  width: 360,
  height: 188,
  from: 0,
  to: 100,
  unit: "",
  zoomed: false,
  theme: kLight,
};

function line(key: string, part: Partial<ChartLine> = {}): ChartLine {
  const data = lineData(
    pointColumns([
      [0, 2],
      [50, 1],
      [100, 0.5],
    ]),
  );
  return {
    key,
    label: key,
    colour: "#2f5fd0",
    dash: [],
    hidden: false,
    data: { ...data, spacing: 50 },
    ...part,
  };
}

const wavy = (shift: number) =>
  lineData(
    denseColumns(
      Array.from({ length: 30 }, (_, i) => {
        const v = 1 + Math.sin((i + shift) / 5);
        return [v, v - 0.2, v + 0.3, v];
      }),
    ),
  );
const pairs = { x: Float64Array.of(5, 40, 20), y: Float64Array.of(0.1, 0.8, 1.5) };

const texts = (marks: readonly Mark[]) =>
  marks.filter((mark): mark is TextMark => mark.kind === "text");

describe("drawChart", () => {
  it("draws what it always drew", async () => {
    const dense = lineData(
      denseColumns(
        Array.from({ length: 20 }, (_, i) => [i / 10, i / 10 - 0.2, i / 10 + 0.3, i / 10]),
      ),
    );
    const lines = [
      line("calm-otter"),
      line("brisk-heron", { colour: "#ad4b05", dash: [11, 1.6], data: dense }),
    ];
    const picture = drawChart(lines, spec, kFixedFont);
    const golden = `${JSON.stringify(rounded(picture), null, 1)}\n`;
    await expect(golden).toMatchFileSnapshot("golden/chart.golden.json");
    await expect(toSvg(picture, kLight.background)).toMatchFileSnapshot("golden/chart.golden.svg");
  });

  it("shares the plot's edges between charts of any unit", () => {
    const bytes = line("a", {
      data: lineData(
        pointColumns([
          [0, 1e9],
          [99, 9e12],
        ]),
      ),
    });
    const plots = [
      drawChart([line("a")], spec, kFixedFont),
      drawChart([bytes], { ...spec, unit: "B" }, kFixedFont),
    ];
    expect(plots[0]?.plot).toEqual(plots[1]?.plot);
    expect(plots[0]?.plot).toEqual(plotRect(360, 188));
  });

  it("writes names and last values at the lines' ends, never on one another", () => {
    const lines = ["a", "b", "c"].map((key) => line(key));
    const { labels, marks } = drawChart(lines, spec, kFixedFont);
    expect(labels.map((label) => label.key)).toEqual(["a", "b", "c"]);
    const tops = labels.map((label) => label.y).sort((x, y) => x - y);
    expect((tops[1] as number) - (tops[0] as number)).toBeGreaterThan(12);
    expect(texts(marks).filter((mark) => mark.text === "0.5").length).toBeGreaterThanOrEqual(3);
  });

  it("leaves hidden lines out of picture and axis, but keeps their names", () => {
    const huge = line("huge", { hidden: true, data: lineData(pointColumns([[0, 1e6]])) });
    const { axis, labels } = drawChart([line("a"), huge], spec, kFixedFont);
    expect(axis?.to).toBeLessThan(10);
    expect(labels.find((label) => label.key === "huge")?.hidden).toBe(true);
  });

  it("shortens the last value before the name", () => {
    const written = (label: string) => {
      const lines = [
        line(label, {
          data: lineData(
            pointColumns([
              [0, 1],
              [9, 0.000995],
            ]),
          ),
        }),
      ];
      return texts(drawChart(lines, spec, kFixedFont).marks)
        .slice(-2)
        .map((mark) => mark.text);
    };
    expect(written("short")).toEqual(["short", "0.000995"]);
    expect(written("width-32x")).toEqual(["width-32x", "0.001"]);
  });

  it("says so when there is nothing in the range", () => {
    const nothing = [line("a", { data: lineData(pointColumns([])) })];
    const words = (lines: ChartLine[], zoomed: boolean) =>
      texts(drawChart(lines, { ...spec, zoomed }, kFixedFont).marks).map((mark) => mark.text);
    expect(drawChart(nothing, spec, kFixedFont).axis).toBeNull();
    expect(words(nothing, true)).toContain("No data in this range; double-click to reset the zoom");
    expect(words(nothing, false)).toContain("Not enough data to plot");
    expect(words([line("a", { hidden: true })], false)).toContain(
      "All lines are hidden; click a name on the right to show it",
    );
  });

  const kinds: [string, ChartLine[], Partial<ChartSpec>][] = [
    ["step", [line("a")], { kind: "step" }],
    ["band", [line("a", { data: wavy(60) })], { kind: "band" }],
    ["scatter", [line("a"), line("p", { data: null, pairs })], { kind: "scatter" }],
    [
      "heat",
      [0, 1, 2].map((i) => line(`r${i}`, { data: wavy(10 * i), hidden: i === 1 })),
      { kind: "heat" },
    ],
    [
      "multiples",
      [0, 1, 2].map((i) => line(`r${i}`, { data: wavy(10 * i) })),
      { kind: "multiples" },
    ],
    ["curve", [line("a", { data: wavy(8), curve: curve((i) => i / 50) })], {}],
    [
      "group",
      [
        line("s", { faint: true }),
        line("g", { data: null, note: "n = 3", curve: curve((i) => 1 + i / 99, { band: 0.2 }) }),
      ],
      {},
    ],
    [
      "log",
      [line("a", { data: null, curve: curve((i) => 10 ** (-i / 25)) })],
      { y: { mode: "log" } },
    ],
    [
      "clip",
      [line("a", { data: null, curve: curve((i) => (i === 9 ? 99 : i / 50)) })],
      { y: { mode: "clip" } },
    ],
    [
      "axes",
      [line("a"), line("b", { axis: 1 })],
      { unit2: "W", y2: { mode: "fixed", from: 0, to: 400 } },
    ],
    [
      "marks",
      [line("a")],
      {
        marks: [
          { at: 20, label: "epoch 2" },
          { at: 21, label: "note" },
          { at: 400, label: "no" },
        ],
      },
    ],
    [
      "mono",
      ["a", "b", "c"].map((key) => line(key)),
      { style: { monochrome: true, legend: "top", title: "Loss", textSize: 8 } },
    ],
  ];

  it.each(kinds)("draws %s as it always did", async (name, lines, part) => {
    const picture = drawChart(lines, { ...spec, width: 300, height: 120, ...part }, kFixedFont);
    const svg = toSvg(picture, kLight.background).replaceAll("><", ">\n<");
    await expect(`${svg}\n<!-- ${picture.notes.join("; ")} -->\n`).toMatchFileSnapshot(
      `golden/kind-${name}.svg`,
    );
  });

  it("keeps the page's plot for every kind that shares its time axis", () => {
    const plots = kinds
      .filter(([name]) => name !== "multiples" && name !== "mono")
      .map(([, lines, part]) => drawChart(lines, { ...spec, ...part }, kFixedFont).plot);
    for (const plot of plots) expect(plot).toEqual(plotRect(360, 188));
  });

  it("draws a curve strongly over its faint points, and a single run faintly behind its group", () => {
    const strokes = (lines: ChartLine[]) =>
      flat(drawChart(lines, spec, kFixedFont).marks).filter(
        (mark) => mark.kind === "line" && mark.colour === "#2f5fd0",
      ) as LineMark[];
    const [under, over] = strokes([line("a", { data: wavy(8), curve: curve((i) => i / 50) })]);
    expect(under?.alpha).toBeCloseTo(0.3);
    expect(over?.alpha).toBeUndefined();
    expect(over?.width).toBeGreaterThan(under?.width as number);
    const [first, second] = strokes([
      line("group", { data: null, curve: curve(() => 1) }),
      line("single", { faint: true }),
    ]);
    expect(first?.alpha).toBeLessThan(0.5);
    expect(second?.alpha).toBeUndefined();
  });

  it("gives each line its own axis", () => {
    const watts = line("w", { axis: 1, data: null, curve: curve(() => 300) });
    const picture = drawChart([line("a"), watts], { ...spec, unit2: "W" }, kFixedFont);
    expect(picture.axis?.to).toBeLessThan(5);
    expect(picture.axis2?.to).toBeGreaterThanOrEqual(300);
    expect(drawChart([watts], { ...spec, unit2: "W" }, kFixedFont).axis).toBeNull();
    expect(summarise("both", [watts], { unit: "", unit2: "W" })).toContain("300 W");
  });

  it("keeps the names of lines whole beside a right axis, and gives up their values", () => {
    const name = "resnet18-a";
    const watts = line("w", { axis: 1, data: null, curve: curve(() => 300) });
    const words = (lines: ChartLine[], part = {}) =>
      textsOf(drawChart(lines, { ...spec, ...part }, kFixedFont).marks);
    const long = line("a", { label: name });
    expect(words([long, watts], { unit2: "W" })).toContain(name);
    expect(words([line("a", { label: "a" }), watts], { unit2: "W" })).toContain("a");
    expect(words([long])).toContain(name);
  });

  it("keeps the name of a small plot clear of the values of the one above", () => {
    const lines = Array.from({ length: 3 }, (_, i) => line(`r${i}`));
    const { plots, labels } = drawChart(
      lines,
      { ...spec, kind: "multiples", width: 300, height: 180 },
      kFixedFont,
    );
    plots.slice(1).forEach((plot, i) => {
      const above = plots[i];
      if (above === undefined || above.y === plot.y) return;
      // Half of a value's height reaches below the plot; letters fill three quarters of a name's.
      const top = (labels[i + 1]?.y ?? 0) + 11 * 0.27;
      expect(top).toBeGreaterThan(above.y + above.height + 11 * 0.37 + 2);
    });
    expect(plots.length).toBe(3);
  });

  it("marks what happened, with words where there is room", () => {
    const marks = [
      { at: 20, label: "epoch 2" },
      { at: 21, label: "node failed" },
      { at: 900, label: "later" },
    ];
    const words = textsOf(drawChart([line("a")], { ...spec, marks }, kFixedFont).marks);
    expect(words).toContain("node failed");
    expect(words).not.toContain("epoch 2");
    expect(words).not.toContain("later");
  });

  it("tells any number of lines apart without colour, and names them", () => {
    const lines = Array.from({ length: 40 }, (_, i) =>
      line(`run ${i}`, { data: null, curve: curve(() => i) }),
    );
    const style = { monochrome: true, legend: "top" } as const;
    const { marks, labels } = drawChart(lines, { ...spec, height: 600, style }, kFixedFont);
    expect(labels.length).toBe(40);
    const signs = flat(marks).filter((mark) => mark.kind === "markers");
    expect(signs.length).toBe(80);
    const looks = flat(marks).flatMap((mark) =>
      mark.kind === "line" && mark.points.length > 100 ? [`${mark.colour} ${mark.dash}`] : [],
    );
    expect(new Set(looks).size).toBe(15);
    expect(new Set(looks.map((look, i) => look + (signs[2 * i] as MarkersMark).shape)).size).toBe(
      40,
    );
  });

  it("has a row of colour for each of very many lines, dark to light", () => {
    const lines = Array.from({ length: 80 }, (_, i) =>
      line(`r${i}`, { data: null, curve: curve(() => i) }),
    );
    const picture = drawChart(lines, { ...spec, kind: "heat" }, kFixedFont);
    const cells = flat(picture.marks).find((mark) => mark.kind === "cells") as CellsMark;
    expect([cells.rows, cells.columns]).toEqual([80, picture.plot.width]);
    const level = (row: number) => cells.cells[row * cells.columns + 50] as number;
    expect(level(0)).toBe(1);
    expect(level(79)).toBeGreaterThan(level(40));
    expect(picture.labels.length).toBeLessThan(20);
    expect(picture.notes[0]).toBe("colour = max of a column");
    const bottom = picture.plot.y + picture.plot.height;
    expect(heatRowAt(lines, picture.plot, bottom - 0.1)?.key).toBe("r79");
  });

  it("leaves no stripes between columns that are wider than its cells", () => {
    const some = line("a", { data: { ...wavy(1), to: 30, width: 30 } });
    const { marks } = drawChart([some], { ...spec, to: 30, kind: "heat" }, kFixedFont);
    const { cells } = flat(marks).find((mark) => mark.kind === "cells") as CellsMark;
    expect(cells.subarray(1, -1).includes(0)).toBe(false);
  });

  it("leaves gaps of a row empty, and holds a value until the next", () => {
    const some = line("a", {
      data: {
        ...lineData(
          pointColumns([
            [10, 1],
            [11, 1],
            [12, 1],
            [60, 2],
          ]),
        ),
        spacing: 1,
      },
    });
    const { marks, plot } = drawChart([some], { ...spec, kind: "heat" }, kFixedFont);
    const { cells } = flat(marks).find((mark) => mark.kind === "cells") as CellsMark;
    const at = (x: number) => cells[Math.floor((x / 100) * plot.width) + 1] as number;
    expect(at(11.2)).toBeGreaterThan(0);
    expect(at(40)).toBe(0);
  });

  it("shares axes between small plots, and says when some do not fit", () => {
    const lines = Array.from({ length: 12 }, (_, i) =>
      line(`r${i}`, { data: null, curve: curve(() => i) }),
    );
    const height = multiplesHeight(12, 360);
    const fitting = drawChart(lines, { ...spec, height, kind: "multiples" }, kFixedFont);
    expect(fitting.plots.length).toBe(12);
    expect(new Set(fitting.plots.map((plot) => `${plot.width} ${plot.height}`)).size).toBe(1);
    expect(fitting.notes).toEqual([]);
    const tight = drawChart(lines, { ...spec, height: 90, kind: "multiples" }, kFixedFont);
    expect(tight.notes[0]).toMatch(/^\d of 12 lines shown$/);
  });

  it("shades a window behind the lines, of every kind of chart, and says it in words", () => {
    const windows = [{ from: 20, to: 60, label: "profiled" }];
    const shaded = (part: Partial<ChartSpec>) => {
      const picture = drawChart([line("a")], { ...spec, windows, ...part }, kFixedFont);
      const clip = picture.marks.flatMap((mark) => (mark.kind === "clip" ? mark.marks : []));
      const hatched = clip.flatMap((mark) => (mark.kind === "rect" && mark.hatch ? [mark] : []));
      return { plot: picture.plots[0] as Rect, clip, hatched, words: texts(clip) };
    };
    const { plot, clip, hatched, words } = shaded({});
    const begin = plot.x + plot.width * 0.2;
    expect(hatched[0]?.x).toBeCloseTo(begin);
    expect(hatched[0]?.width).toBeCloseTo(plot.width * 0.4);
    expect(hatched[0]).toMatchObject({ y: plot.y, height: plot.height, colour: kLight.ink3 });
    expect(words[0]?.text).toBe("profiled");
    expect(words[0]?.x).toBeGreaterThan(begin);
    expect(clip.findIndex(({ kind }) => kind === "line")).toBeGreaterThan(
      clip.indexOf(words[0] as Mark),
    );
    for (const kind of ["heat", "multiples", "scatter"] as const)
      expect(shaded({ kind }).hatched.length).toBe(1);
    // Far out a sliver with the word beside it; what is out of sight is nothing.
    const far = shaded({ windows: [{ from: 50, to: 50.001, label: "profiled" }] });
    expect(far.hatched[0]?.width).toBe(3);
    expect(far.words[0]?.x).toBeGreaterThan(plot.x + plot.width / 2 + 3);
    // At the right edge the word is at the left; of windows in one place the words are above one another.
    const edge = { from: 99, to: 100, label: "profiled: b" };
    const both = shaded({ windows: [{ ...edge, from: 98 }, edge] }).words;
    expect(both.every((word) => word.x < plot.x + plot.width * 0.98)).toBe(true);
    expect(new Set(both.map(({ y }) => y)).size).toBe(2);
    expect(shaded({ from: 70, to: 100 }).hatched.length).toBe(0);
    const said = (part: object) => summarise("loss", [line("a")], { ...spec, windows, ...part });
    expect(said({})).toContain("Part of it was profiled.");
    expect(said({ from: 70 })).not.toContain("profiled");
  });

  it("is summarised in words", () => {
    expect(summarise("loss", [line("calm-otter")], spec)).toBe(
      "loss. calm-otter: last 0.5, between 0.5 and 2.",
    );
  });
});
