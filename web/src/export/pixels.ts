// A figure as pixels, painted by the browser.
import { paint } from "../charts/canvas";
import type { Figure } from "./figure";

const kPixelsPerPoint = 300 / 72;

export async function pixelsOf(figure: Figure, type: "image/png" | "image/jpeg"): Promise<Blob> {
  const { picture, background } = figure;
  const canvas = document.createElement("canvas");
  // In the document, so that the page's font is used.
  canvas.className = "measuring";
  canvas.style.width = `${picture.width}px`;
  canvas.style.height = `${picture.height}px`;
  document.body.append(canvas);
  try {
    const { width, height } = picture;
    const ground = { kind: "rect", x: 0, y: 0, width, height } as const;
    const full = { ...ground, colour: background, alpha: 1, radius: 0, hatch: false };
    paint(canvas, { ...picture, marks: [full, ...picture.marks] }, kPixelsPerPoint);
    return await new Promise((resolve, reject) =>
      canvas.toBlob(
        (blob) => (blob === null ? reject(new Error("the picture is too large")) : resolve(blob)),
        type,
        0.92,
      ),
    );
  } finally {
    canvas.remove();
  }
}
