// An offline board as the viewer draws it: of every chart the finest layer that holds all visible data, and of that the
// visible part. Pure.
import type { Columns } from "../api/columns";
import type { LineData } from "../charts/gap";
import type { ChartLine, CurveData, PairData } from "../charts/spec";
import {
  type OfflineBoard,
  type OfflineChart,
  type OfflineLayer,
  unpackLine,
} from "../export/offline";
import type { Range, ViewedBoard, ViewedChart } from "./board";

const spanOf = ({ from, to }: Range) => to - from;

// A thousandth beyond is nothing that one sees.
function layerFor(layers: readonly OfflineLayer[], range: Range): OfflineLayer | undefined {
  const slack = spanOf(range) / 1000;
  return layers
    .filter(({ from, to }) => from <= range.from + slack && to >= range.to - slack)
    .sort((a, b) => spanOf(a) - spanOf(b))[0];
}

// The columns that touch a range.
function cutColumns(data: LineData, range: Range): LineData {
  const { columns: c } = data;
  const pixel = (data.to - data.from) / data.width;
  const touches = (i: number) =>
    data.from + (c.firstX[i] as number) * pixel <= range.to &&
    data.from + (c.lastX[i] as number) * pixel >= range.from;
  const kept = [...c.firstX.keys()].filter(touches);
  if (kept.length === c.firstX.length) return data;
  const segmentOf = (i: number) => c.segments.findLastIndex((begin) => begin <= i);
  const segments = kept.flatMap((i, k) =>
    k === 0 || segmentOf(i) !== segmentOf(kept[k - 1] as number) ? [k] : [],
  );
  const f64 = (from: Float64Array) => Float64Array.from(kept, (i) => from[i] as number);
  const f32 = (from: Float32Array) => Float32Array.from(kept, (i) => from[i] as number);
  const columns: Columns = {
    ...c,
    ...{ first: f64(c.first), min: f64(c.min), max: f64(c.max), last: f64(c.last) },
    ...{ firstX: f32(c.firstX), minX: f32(c.minX), maxX: f32(c.maxX), lastX: f32(c.lastX) },
    counts: Uint32Array.from(kept, (i) => c.counts[i] as number),
    segments: Uint32Array.from(segments),
  };
  return { ...data, columns };
}

function cutCurve(curve: CurveData, range: Range): CurveData {
  const step = (curve.to - curve.from) / curve.value.length;
  const begin = Math.max(0, Math.floor((range.from - curve.from) / step));
  const end = Math.min(curve.value.length, Math.ceil((range.to - curve.from) / step));
  const [from, to] = [curve.from + begin * step, curve.from + end * step];
  const part = (values: Float64Array | null) => values?.subarray(begin, end) ?? null;
  const value = curve.value.subarray(begin, end);
  return { value, low: part(curve.low), high: part(curve.high), from, to };
}

// A pair outside the range interrupts the line.
function cutPairs({ x, y }: PairData, { from, to }: Range): PairData {
  const seen = (at: number) => at >= from && at <= to;
  return { x, y: y.map((v, i) => (seen(x[i] as number) ? v : Number.NaN)) };
}

function cutLine(line: ChartLine, range: Range): ChartLine {
  const { data, curve, pairs } = line;
  return {
    ...line,
    data: data && cutColumns(data, range),
    curve: curve && cutCurve(curve, range),
    pairs: pairs && cutPairs(pairs, range),
  } as ChartLine;
}

function viewedChart(chart: OfflineChart): ViewedChart {
  const { layers, from, to, ...rest } = chart;
  const [whole] = layers;
  const known = new Map<OfflineLayer, readonly ChartLine[]>();
  return {
    ...rest,
    full: whole ? { from: whole.from, to: whole.to } : { from, to },
    range: { from, to },
    note: "",
    hidden: [],
    lines: ({ range, dark }) => {
      const layer = layerFor(layers, range) ?? whole;
      if (layer === undefined) return [];
      const lines = known.get(layer) ?? layer.lines.map((line) => unpackLine(line, dark));
      known.set(layer, lines);
      return lines.map((line) => cutLine(line, range));
    },
  };
}

export const viewedBoard = (board: OfflineBoard): ViewedBoard => ({
  x: board.x,
  linked: true,
  charts: board.charts.map(viewedChart),
});
