// An offline board as what the viewer draws: of every chart the finest layer that holds all that is in sight. Pure.
import type { ChartLine } from "../charts/spec";
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
      return lines;
    },
  };
}

export const viewedBoard = (board: OfflineBoard): ViewedBoard => ({
  x: board.x,
  linked: true,
  charts: board.charts.map(viewedChart),
});
