// The same reduced series drawn by Corral, uPlot and ECharts, 24 charts each: what measure.mjs calls in the browser.
// Corral draws the server's columns; the others get the four points of each column in order of time, on x shared by
// the series of a chart. A redraw ends when every canvas has given a pixel back, that is, when it is painted.

import { LineChart } from "echarts/charts";
import { GridComponent, TooltipComponent } from "echarts/components";
import * as echarts from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";
import uPlot from "uplot";
import { postBinary } from "../../web/src/api/client";
import { type Columns, decodeCharts } from "../../web/src/api/columns";
import { paint } from "../../web/src/charts/canvas";
import { drawChart, plotRect } from "../../web/src/charts/chart";
import { canvasFont } from "../../web/src/charts/font";
import type { ChartLine } from "../../web/src/charts/spec";
import { kLight, seriesDash } from "../../web/src/charts/theme";

echarts.use([LineChart, GridComponent, TooltipComponent, CanvasRenderer]);

const kWidth = 560;
const kHeight = 180;
const kPlot = plotRect(kWidth, kHeight);
const kSync = "charts";

interface Answer {
  from: number;
  to: number;
  columns: Map<number, Columns>;
}
interface Dataset {
  own: { from: number; to: number; charts: ChartLine[][] };
  uplot: uPlot.AlignedData[];
  echarts: { from: number; to: number; charts: [number, number][][][] };
}
interface Contestant {
  draw(data: Dataset): void;
  canvases(): HTMLCanvasElement[];
  // The element of the first chart that receives pointer moves.
  surface(): Element;
}

async function ask(
  ids: number[],
  at: { origins: string[]; from: number; to: number },
): Promise<Answer> {
  const ns = (seconds: number) => String(Math.round(seconds * 1e9));
  const body = {
    series: ids,
    origins_ns: at.origins,
    axis: "relative",
    from_ns: ns(at.from),
    to_ns: ns(at.to),
    width: kPlot.width,
    mode: "auto",
    exact: true,
  };
  const { signal } = new AbortController();
  const answer = await postBinary("/charts", {
    body,
    accept: "application/x-corral-chart",
    signal,
  });
  return { from: at.from, to: at.to, columns: decodeCharts(answer).series };
}

// First, lesser and greater in order of time, last of every pixel, a quarter of a pixel apart.
function fourPerPixel({ firstX, minX, maxX, first, min, max, last }: Columns): (number | null)[] {
  const y: (number | null)[] = new Array(kPlot.width * 4).fill(null);
  for (let i = 0; i < firstX.length; i++) {
    const at = Math.floor(firstX[i] as number) * 4;
    const [a, b] = (minX[i] as number) <= (maxX[i] as number) ? [min, max] : [max, min];
    y[at] = first[i] as number;
    y[at + 1] = a[i] as number;
    y[at + 2] = b[i] as number;
    y[at + 3] = last[i] as number;
  }
  return y;
}

function ownLines(ids: number[], { from, to, columns }: Answer): ChartLine[] {
  return ids.map((id, i) => ({
    key: String(id),
    label: `run-${i}`,
    colour: kLight.series[i] as string,
    dash: seriesDash(i),
    hidden: false,
    data: { columns: columns.get(id) as Columns, from, to, width: kPlot.width, spacing: 0.1 },
  }));
}

function datasetOf(charts: number[][], answer: Answer): Dataset {
  const { from, to, columns } = answer;
  const step = (to - from) / (kPlot.width * 4);
  const x = Array.from({ length: kPlot.width * 4 }, (_, i) => from + i * step);
  const aligned = charts.map((ids) => ids.map((id) => fourPerPixel(columns.get(id) as Columns)));
  const pairs = (y: (number | null)[]) =>
    y.flatMap((v, i): [number, number][] => (v === null ? [] : [[x[i] as number, v]]));
  return {
    own: { from, to, charts: charts.map((ids) => ownLines(ids, answer)) },
    uplot: aligned.map((ys) => [x, ...ys]),
    echarts: { from, to, charts: aligned.map((ys) => ys.map(pairs)) },
  };
}

function box(): HTMLDivElement {
  const element = document.createElement("div");
  element.style.cssText = `display:inline-block;width:${kWidth}px;height:${kHeight}px`;
  document.body.append(element);
  return element;
}

const canvasesOf = (boxes: Element[]) =>
  boxes.flatMap((element) => [...element.querySelectorAll("canvas")]);

function ownCharts(count: number): Contestant {
  const canvases = Array.from({ length: count }, () => {
    const canvas = document.createElement("canvas");
    box().append(canvas);
    return canvas;
  });
  const font = canvasFont(document.createElement("canvas").getContext("2d") as never);
  const size = { width: kWidth, height: kHeight, theme: kLight, unit: "W", zoomed: false };
  return {
    draw({ own: { from, to, charts } }) {
      const spec = { ...size, from, to };
      for (const [i, lines] of charts.entries())
        paint(canvases[i] as HTMLCanvasElement, drawChart(lines, spec, font), 1);
    },
    canvases: () => canvases,
    surface: () => canvases[0] as Element,
  };
}

function uplotCharts(count: number, first: Dataset): Contestant {
  const right = kWidth - kPlot.x - kPlot.width;
  const options: uPlot.Options = {
    width: kWidth,
    height: kHeight,
    padding: [kPlot.y, right, 0, 0],
    legend: { show: false },
    cursor: { sync: { key: kSync }, points: { show: false } },
    scales: { x: { time: false } },
    axes: [{ size: kHeight - kPlot.y - kPlot.height }, { size: kPlot.x }],
    series: [{}, ...kLight.series.map((stroke) => ({ stroke, width: 1, points: { show: false } }))],
  };
  const boxes = Array.from({ length: count }, box);
  const plots = boxes.map(
    (element, i) => new uPlot(options, first.uplot[i] as uPlot.AlignedData, element),
  );
  return {
    draw({ uplot }) {
      for (const [i, plot] of plots.entries())
        plot.batch(() => plot.setData(uplot[i] as uPlot.AlignedData));
    },
    canvases: () => canvasesOf(boxes),
    surface: () => (plots[0] as uPlot).over,
  };
}

function echartsCharts(count: number): Contestant {
  const boxes = Array.from({ length: count }, box);
  const axis = { axisLine: { show: false }, splitLine: { lineStyle: { color: kLight.grid } } };
  const plots = boxes.map((element) => {
    const plot = echarts.init(element, null, {
      renderer: "canvas",
      width: kWidth,
      height: kHeight,
    });
    plot.group = kSync;
    plot.setOption({
      animation: false,
      grid: { left: kPlot.x, top: kPlot.y, width: kPlot.width, height: kPlot.height },
      tooltip: { trigger: "axis", axisPointer: { type: "line", animation: false } },
      xAxis: { type: "value", ...axis },
      yAxis: { type: "value", scale: true, ...axis },
      series: kLight.series.map((color, i) => ({
        id: i,
        type: "line",
        showSymbol: false,
        lineStyle: { width: 1, color },
        data: [],
      })),
    });
    return plot;
  });
  echarts.connect(kSync);
  return {
    draw({ echarts: { from, to, charts } }) {
      for (const [i, plot] of plots.entries())
        plot.setOption({
          xAxis: { min: from, max: to },
          series: (charts[i] as [number, number][][]).map((data, id) => ({ id, data })),
        });
    },
    canvases: () => canvasesOf(boxes),
    surface: () => canvasesOf(boxes)[0] as Element,
  };
}

const datasets: Dataset[] = [];
let contestants: Record<string, Contestant> = {};

// Takes the series ids of each chart; `axis`: every series' origin and the seconds that are drawn. The second picture
// is of a part, so that no redraw finds the one before it.
async function prepare(charts: number[][], axis: { origins: string[]; seconds: number }) {
  const { origins, seconds } = axis;
  const ids = charts.flat();
  for (const [from, to] of [
    [0, seconds],
    [0.1 * seconds, 0.8 * seconds],
  ] as const)
    datasets.push(datasetOf(charts, await ask(ids, { origins, from, to })));
  contestants = {
    own: ownCharts(charts.length),
    uplot: uplotCharts(charts.length, datasets[0] as Dataset),
    echarts: echartsCharts(charts.length),
  };
  return [...(datasets[0] as Dataset).uplot[0].slice(1)].map(
    (y) => (y as (number | null)[]).filter((v) => v !== null).length,
  );
}

// Milliseconds of script, and of all until the pixels are there.
function redraw(name: string, round: number): { script: number; pixels: number } {
  const one = contestants[name] as Contestant;
  const data = datasets[round % datasets.length] as Dataset;
  const begin = performance.now();
  one.draw(data);
  const drawn = performance.now();
  for (const canvas of one.canvases()) canvas.getContext("2d")?.getImageData(0, 0, 1, 1);
  return { script: drawn - begin, pixels: performance.now() - begin };
}

const surface = (name: string) => (contestants[name] as Contestant).surface();

Object.assign(window, { corralRedraw: { prepare, redraw, surface } });
