// A dial: one value between its ends, as a bar. Pure.
import type { FontMetrics } from "./font";
import type { Mark } from "./marks";
import { plotRect } from "./plot";

export interface DialData {
  value: number;
  from: number;
  to: number;
}

export interface DialSpec {
  width: number;
  height: number;
  colour: string;
}

export function drawDial(data: DialData, spec: DialSpec, font: FontMetrics): Mark[] {
  const plot = plotRect(spec.width, spec.height);
  const part = Math.min(1, Math.max(0, (data.value - data.from) / (data.to - data.from)));
  const room = Math.max(0, plot.width - font.width(String(data.value), 11, 400));
  const bars = Float64Array.from([plot.x, plot.y, plot.y + plot.height]);
  return [{ kind: "bars", bars, width: room * part, colour: spec.colour, alpha: 1 }];
}
