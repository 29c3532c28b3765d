// A drawn picture of runs: a canvas, and over it a link for each of its places. Tab stops at one of them; the arrow keys
// move between them.
import { type KeyboardEvent, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useChartTheme } from "../../app/colours";
import { boardHref, useGo } from "../../app/links";
import { useWidth } from "../../app/useWidth";
import { usePageFont } from "../../board/usePageFont";
import { paint } from "../../charts/canvas";
import type { HitBox, SummaryPicture } from "../../charts/summary";
import type { Drawing } from "./contents";

export interface FigureProps {
  label: string;
  caption: string;
  testid: string;
  draw: (on: Drawing) => SummaryPicture;
  // The runs that a place stands for. Absent: its words are all there is.
  runsOf?: (key: string) => readonly string[];
}

export function Figure({ label, caption, testid, draw, runsOf }: FigureProps) {
  const [ref, width] = useWidth();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [pointed, point] = useState("");
  const theme = useChartTheme();
  const font = usePageFont();
  const picture = useMemo(
    () => (width > 0 ? draw({ width, theme, font }) : null),
    [draw, width, theme, font],
  );
  useLayoutEffect(() => {
    if (canvas.current !== null && picture !== null)
      paint(canvas.current, picture, devicePixelRatio);
  }, [picture]);
  const words = runsOf ? [] : (picture?.boxes.map((box) => box.words) ?? []);
  const told = pointed === "" ? [caption, ...(picture?.notes ?? [])].join(" · ") : pointed;
  return (
    <figure data-testid={testid}>
      <div ref={ref} className="plot" style={{ height: picture?.height }}>
        <canvas ref={canvas} role="img" aria-label={[label, ...words].join(". ")} />
        {runsOf && picture && <Places boxes={picture.boxes} runsOf={runsOf} point={point} />}
      </div>
      <p className="quiet cut" title={told} data-testid={`${testid}-words`}>
        {told}
      </p>
    </figure>
  );
}

interface PlacesProps {
  boxes: readonly HitBox[];
  runsOf: (key: string) => readonly string[];
  point: (words: string) => void;
}

const kSteps: Record<string, number> = {
  ArrowRight: 1,
  ArrowLeft: -1,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
};

function Places({ boxes, runsOf, point }: PlacesProps) {
  const go = useGo();
  const list = useRef<HTMLUListElement>(null);
  const [active, setActive] = useState(0);
  const stop = Math.min(active, boxes.length - 1);
  const press = (event: KeyboardEvent) => {
    const step = kSteps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = Math.min(Math.max(stop + step, 0), boxes.length - 1);
    setActive(next);
    list.current?.querySelectorAll("a")[next]?.focus();
  };
  return (
    <ul ref={list} className="places" aria-label="Runs">
      {boxes.map(({ key, words, x, y, width, height }, i) => (
        <li key={key}>
          <a
            href={hrefOf(runsOf(key))}
            tabIndex={i === stop ? 0 : -1}
            style={{ left: x, top: y, width, height }}
            onClick={go}
            onKeyDown={press}
            onPointerEnter={() => point(words)}
            onPointerLeave={() => point("")}
            onFocus={() => {
              setActive(i);
              point(words);
            }}
            onBlur={() => point("")}
          >
            <span className="unseen">{words}</span>
          </a>
        </li>
      ))}
    </ul>
  );
}

// Runs that count once together open as a board.
function hrefOf(runs: readonly string[]): string {
  return runs.length === 1 ? `/runs/${runs[0]}` : boardHref({ run: [...runs] });
}
