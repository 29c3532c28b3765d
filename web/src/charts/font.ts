// The layout needs one thing of a font: the width of a text. The page measures with a canvas, tests count.
import { cutMiddle } from "../format/text";

export interface FontMetrics {
  width(text: string, size: number, weight: number): number;
}

export const kFamily = '"Inter Variable", Inter, system-ui, sans-serif';

// Every glyph as wide as a tabular figure: for tests, and where nothing can measure.
export const kFixedFont: FontMetrics = {
  width: (text, size, weight) => text.length * size * (weight >= 600 ? 0.6 : 0.56),
};

export function canvasFont(context: CanvasRenderingContext2D): FontMetrics {
  const known = new Map<string, number>();
  return {
    width(text, size, weight) {
      const key = `${weight} ${size} ${text}`;
      let width = known.get(key);
      if (width === undefined) {
        context.font = `${weight} ${size}px ${kFamily}`;
        width = context.measureText(text).width;
        if (known.size > 5000) known.clear();
        known.set(key, width);
      }
      return width;
    },
  };
}

// Cut in the middle until it fits; "" when not even two letters do.
export function fitText(
  text: string,
  room: number,
  at: { font: FontMetrics; size: number; weight: number },
) {
  const { font, size, weight } = at;
  if (font.width(text, size, weight) <= room) return text;
  for (let keep = text.length - 1; keep >= 2; keep--) {
    const tail = Math.floor(keep / 2);
    const cut = cutMiddle(text, keep - tail, tail);
    if (font.width(cut, size, weight) <= room) return cut;
  }
  return "";
}
