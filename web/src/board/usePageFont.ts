// Measures with the page's own font; renewed once the font file has arrived, so that layouts settle.
import { useEffect, useMemo, useState } from "react";
import { canvasFont, type FontMetrics, kFixedFont } from "../charts/font";

let measuring: CanvasRenderingContext2D | null = null;

// In the document, because a canvas takes the style of its figures from where it stands.
function measuringContext(): CanvasRenderingContext2D | null {
  if (measuring === null) {
    const canvas = document.createElement("canvas");
    canvas.className = "measuring";
    canvas.width = 1;
    canvas.height = 1;
    canvas.setAttribute("aria-hidden", "true");
    document.body.append(canvas);
    measuring = canvas.getContext("2d");
  }
  return measuring;
}

export function usePageFont(): FontMetrics {
  const [loads, setLoads] = useState(0);
  useEffect(() => {
    let gone = false;
    const faces = ['400 11px "Inter Variable"', '600 11px "Inter Variable"'];
    void Promise.all(faces.map((face) => document.fonts?.load(face))).then(() => {
      if (!gone) setLoads((count) => count + 1);
    });
    return () => {
      gone = true;
    };
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: widths measured before the font came are wrong
  return useMemo(() => {
    const context = measuringContext();
    return context === null ? kFixedFont : canvasFont(context);
  }, [loads]);
}
