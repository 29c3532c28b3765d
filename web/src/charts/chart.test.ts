import { describe, expect, it } from "vitest";
import { type ChartLine, type ChartSpec, drawChart, plotRect, summarise } from "./chart";
import { kFixedFont } from "./font";
import type { Mark, TextMark } from "./marks";
import { toSvg } from "./svg";
import { denseColumns, lineData, pointColumns, rounded } from "./testing";
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
    expect(words(nothing, true)).toContain(
      "Nothing was measured in this range; double-click shows it all.",
    );
    expect(words(nothing, false)).toContain("Too little was measured for a picture.");
    expect(words([line("a", { hidden: true })], false)).toContain(
      "Every line is hidden; click a name at the right.",
    );
  });

  it("is summarised in words", () => {
    expect(summarise("loss", [line("calm-otter")], spec)).toBe(
      "loss. calm-otter: last 0.5, between 0.5 and 2.",
    );
  });
});
