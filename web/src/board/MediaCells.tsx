// One value of the gallery: an image, a player, a text, a table or bars. Nothing of a run is ever HTML, and files
// are read when their cell comes into view.
import { useQueries, useQuery } from "@tanstack/react-query";
import { type CSSProperties, type ReactNode, useEffect, useRef, useState } from "react";
import { fileUrl } from "../api/artifacts";
import { getText, urlOf } from "../api/client";
import type { MediaKind, MediaStep } from "../api/media";
import { Scrolling } from "../app/Scrolling";
import { formatCount, formatNumber, formatValue, kThin, plural } from "../format/units";
import {
  barsOf,
  countOf,
  type Difference,
  difference,
  type Histogram,
  type Pixels,
  readHistogram,
  readTable,
  rebinned,
  spread,
  stepWords,
} from "./media";

const kMaxText = 64 << 10;
const kMaxJson = 4 << 20;
const kMaxRows = 200;
const kMaxPixels = 16 << 20; // a larger image is not compared
const kFewPixels = 128; // an image of at most so many is enlarged without blur
const kMaxColumns = 60; // steps of a histogram
const kValueBins = 48;
const kKept = 5 * 60_000;

// True once the element is near the visible part of the page.
function useSeen() {
  const place = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    const element = place.current;
    if (element === null || seen) return;
    const observer = new IntersectionObserver(
      (found) => found.some((one) => one.isIntersecting) && setSeen(true),
      { rootMargin: "300px" },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, [seen]);
  return { place, seen };
}

const contentQuery = (url: string, most: number, enabled: boolean) => ({
  queryKey: ["medium", url, most],
  queryFn: ({ signal }: { signal: AbortSignal }) => getText(url, most, signal),
  staleTime: kKept,
  enabled,
});

interface ContentProps {
  url: string;
  // Bytes: of the file, and to be read at most.
  bytes: number;
  most: number;
  children: (content: { text: string; size: number }) => ReactNode;
}

function Content({ url, bytes, most, children }: ContentProps) {
  const { place, seen } = useSeen();
  const answer = useQuery({
    ...contentQuery(url, most, seen && bytes > 0),
    placeholderData: (before: { text: string; size: number } | undefined) => before,
  });
  return (
    <div ref={place} className="media-content">
      {answer.error && <p className="quiet">{answer.error.message}</p>}
      {bytes === 0 && children({ text: "", size: 0 })}
      {bytes > 0 && answer.data && !answer.error && children(answer.data)}
    </div>
  );
}

// A value that replaces another has its address, save for its size.
export const mediumUrl = (run: string, { path, size }: MediaStep) =>
  `${fileUrl(run, path)}?v=${size}`;

export interface CellProps {
  run: string;
  kind: MediaKind;
  shown: MediaStep;
  // "val/sample of first, step 10"
  label: string;
}

export function Cell({ run, kind, shown, label }: CellProps) {
  const path = mediumUrl(run, shown);
  const url = urlOf(path);
  const bytes = Number(shown.size);
  switch (kind) {
    case "image":
      return <Picture url={url} smaller={thumbnailOf(shown, url)} label={label} />;
    case "audio":
      // biome-ignore lint/a11y/useMediaCaption: a run logs no captions
      return <audio controls preload="none" src={url} aria-label={label} />;
    case "video":
      // biome-ignore lint/a11y/useMediaCaption: a run logs no captions
      return <video controls preload="metadata" src={url} aria-label={label} />;
    case "text":
      return (
        <Content url={path} bytes={bytes} most={kMaxText}>
          {({ text, size }) => <Text text={text} size={size} label={label} />}
        </Content>
      );
    case "table":
      return (
        <Content url={path} bytes={bytes} most={kMaxJson}>
          {({ text }) => <Table text={text} label={label} />}
        </Content>
      );
    default:
      return (
        <Content url={path} bytes={bytes} most={kMaxJson}>
          {({ text }) => <Bars text={text} label={label} />}
        </Content>
      );
  }
}

export function Caption({ shown }: { shown: MediaStep }) {
  return (
    <p className="quiet media-caption">
      {stepWords(shown)} · {formatValue(Number(shown.size), "B", 3)}
    </p>
  );
}

const kSmallImage = 32 << 10; // bytes; the server sends it as it is
const kCellWidth = 480; // CSS pixels, at most

// The server's thumbnail of an image, or the image itself where it makes none.
function thumbnailOf({ path, size }: MediaStep, url: string): string {
  if (Number(size) <= kSmallImage || !/\.(png|jpe?g)$/i.test(path)) return url;
  return `${url}&width=${devicePixelRatio > 1 ? 2 * kCellWidth : kCellWidth}`;
}

function Picture({ url, smaller, label }: { url: string; smaller: string; label: string }) {
  const [failed, setFailed] = useState<readonly string[]>([]);
  if (failed.includes(url)) return <p className="quiet">Not an image that the browser can show.</p>;
  const source = failed.includes(smaller) ? url : smaller;
  return (
    <a href={url} target="_blank" rel="noreferrer" className="media-picture">
      <img
        src={source}
        alt={label}
        loading="lazy"
        decoding="async"
        onLoad={({ currentTarget: image }) =>
          image.classList.toggle(
            "few",
            Math.max(image.naturalWidth, image.naturalHeight) <= kFewPixels,
          )
        }
        onError={() => setFailed((before) => [...before, source])}
      />
    </a>
  );
}

function Text({ text, size, label }: { text: string; size: number; label: string }) {
  return (
    <>
      <Scrolling className="media-text" label={label}>
        <pre className="mono">{text === "" ? "(empty)" : text}</pre>
      </Scrolling>
      {size > kMaxText && (
        <p className="quiet">
          The first {formatValue(kMaxText, "B", 3)} of {formatValue(size, "B", 3)}.
        </p>
      )}
    </>
  );
}

function Table({ text, label }: { text: string; label: string }) {
  const table = readTable(text);
  if (table === null) return <p className="quiet">Not a table.</p>;
  const { columns, rows } = table;
  return (
    <>
      <Scrolling className="media-table" label={label}>
        <table className="table">
          <thead>
            <tr>
              {columns.map((name, i) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: columns may share a name
                <th key={i} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, kMaxRows).map((row, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a row is its place
              <tr key={i}>
                {columns.map((_, k) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: as above
                  <td key={k}>{row[k] ?? ""}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolling>
      {rows.length > kMaxRows && (
        <p className="quiet">
          {formatCount(kMaxRows)} of {formatCount(rows.length)} rows.
        </p>
      )}
    </>
  );
}

const value = (number: number) => formatNumber(number, 4);

function Ends({ from, to, children }: { from: string; to: string; children?: ReactNode }) {
  return (
    <p className="media-ends quiet">
      <span>{from}</span>
      <span>{children}</span>
      <span>{to}</span>
    </p>
  );
}

function countWords(histogram: Histogram): string {
  const lost =
    histogram.notFinite > 0 ? `, ${formatCount(histogram.notFinite)} NaN or infinite` : "";
  return `${plural(countOf(histogram), "value")}${lost}`;
}

function Bars({ text, label }: { text: string; label: string }) {
  const histogram = readHistogram(text);
  if (histogram === null) return <p className="quiet">Not a histogram.</p>;
  const { edges } = histogram;
  const [low, high] = [edges[0], edges.at(-1)];
  if (low === undefined || high === undefined)
    return <p className="quiet">{countWords(histogram)}.</p>;
  const width = high - low || 1;
  return (
    <>
      <svg viewBox="0 0 100 40" preserveAspectRatio="none" role="img" aria-label={label}>
        {barsOf(histogram).map((bar) => (
          <rect
            key={bar.from}
            x={((bar.from - low) / width) * 100}
            width={Math.max(0.2, ((bar.to - bar.from) / width) * 100 - 0.2)}
            y={40 - bar.height * 40}
            height={bar.height * 40}
          >
            <title>{`${value(bar.from)} to ${value(bar.to)}: ${formatCount(bar.count)}`}</title>
          </rect>
        ))}
      </svg>
      <Ends from={value(low)} to={value(high)}>
        {countWords(histogram)}
      </Ends>
    </>
  );
}

// A histogram over the steps: a column for each, darker where more of its values are.
export function Distributions({
  run,
  steps,
  label,
}: {
  run: string;
  steps: MediaStep[];
  label: string;
}) {
  const { place, seen } = useSeen();
  const some = spread(steps, kMaxColumns);
  const answers = useQueries({
    queries: some.map((one) => contentQuery(mediumUrl(run, one), kMaxJson, seen)),
    combine: (all) => ({
      pending: all.some((one) => one.isPending),
      texts: all.map((one) => one.data?.text ?? ""),
    }),
  });
  const columns = answers.texts.map(readHistogram);
  const edges = columns.flatMap((one) => (one === null || one.edges.length === 0 ? [] : [one]));
  const low = Math.min(...edges.map((one) => one.edges[0] as number));
  const high = Math.max(...edges.map((one) => one.edges.at(-1) as number));
  const [first, last] = [some[0], some.at(-1)];
  return (
    <div ref={place} className="media-content">
      {!answers.pending && edges.length === 0 && <p className="quiet">No values.</p>}
      {edges.length > 0 && first && last && (
        <>
          <p className="quiet">
            {value(low)} to {value(high)}
          </p>
          <Heat columns={columns} low={low} high={high} label={label} />
          <Ends from={stepWords(first)} to={stepWords(last)}>
            {some.length < steps.length
              ? `${some.length} of ${formatCount(steps.length)} steps`
              : ""}
          </Ends>
        </>
      )}
    </div>
  );
}

interface HeatProps {
  columns: readonly (Histogram | null)[];
  low: number;
  high: number;
  label: string;
}

function Heat({ columns, low, high, label }: HeatProps) {
  const width = 100 / columns.length;
  const height = 40 / kValueBins;
  return (
    <svg
      viewBox="0 0 100 40"
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
      shapeRendering="crispEdges"
    >
      {columns.map((one, x) => {
        const bins =
          one === null ? [] : rebinned(one, low, high > low ? high : low + 1, kValueBins);
        const most = Math.max(Number.MIN_VALUE, ...bins);
        return bins.map((count, row) =>
          count === 0 ? null : (
            <rect
              // biome-ignore lint/suspicious/noArrayIndexKey: a cell is its place
              key={`${x}:${row}`}
              x={x * width}
              width={width}
              y={40 - (row + 1) * height}
              height={height}
              style={{ fillOpacity: 0.1 + (0.9 * count) / most } as CSSProperties}
            />
          ),
        );
      })}
    </svg>
  );
}

// ---- the difference of two images

async function pixelsOf(url: string): Promise<Pixels> {
  const image = new Image();
  image.src = url;
  await image.decode();
  const { naturalWidth: width, naturalHeight: height } = image;
  if (width * height === 0) throw new Error("an image has no size");
  if (width * height > kMaxPixels) throw new Error("an image has over 16 million pixels");
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext("2d", { willReadFrequently: true });
  if (context === null) throw new Error("the browser gives no canvas");
  context.drawImage(image, 0, 0);
  return context.getImageData(0, 0, width, height);
}

type Compared = { found: Difference } | { words: string };

async function compare(url: string, other: string): Promise<Compared> {
  const [a, b] = await Promise.all([pixelsOf(url), pixelsOf(other)]);
  const found = difference(a, b);
  if (found !== null) return { found };
  return {
    words: `The sizes differ: ${a.width} × ${a.height} and ${b.width} × ${b.height} pixels.`,
  };
}

export interface DifferenceOfProps {
  url: string;
  other: string;
  // "step 10 of first"
  against: string;
}

export function DifferenceOf({ url, other, against }: DifferenceOfProps) {
  const { place, seen } = useSeen();
  const answer = useQuery({
    queryKey: ["media-difference", url, other],
    queryFn: () => compare(url, other),
    staleTime: kKept,
    gcTime: 0, // pixels
    retry: false,
    enabled: seen,
    placeholderData: (before: Compared | undefined) => before,
  });
  return (
    <div ref={place} className="media-content" data-testid="media-difference">
      {answer.error && (
        <p className="quiet">Cannot be compared to {against}: one of the images cannot be read.</p>
      )}
      {answer.data && "words" in answer.data && <p className="quiet">{answer.data.words}</p>}
      {answer.data && "found" in answer.data && (
        <Drawn found={answer.data.found} against={against} />
      )}
    </div>
  );
}

function Drawn({ found, against }: { found: Difference; against: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const picture = new ImageData(found.width, found.height);
    picture.data.set(found.data);
    canvas.current?.getContext("2d")?.putImageData(picture, 0, 0);
  }, [found]);
  const words = differenceWords(found);
  return (
    <>
      <canvas
        ref={canvas}
        width={found.width}
        height={found.height}
        className={Math.max(found.width, found.height) <= kFewPixels ? "few" : undefined}
        role="img"
        aria-label={`Difference to ${against}: ${words}`}
      />
      <p className="quiet media-caption">
        to {against}: {words}
      </p>
    </>
  );
}

function differenceWords({ mean, most, gain, differing }: Difference): string {
  if (most === 0) return "equal";
  const bright = gain > 1.005 ? `, shown ${formatNumber(gain, 2)} × brighter` : "";
  const share = `${formatNumber(differing * 100, 3)}${kThin}% of the pixels`;
  return `${share}, mean ${formatNumber(mean, 3)} and max ${formatNumber(most, 3)} of 255${bright}`;
}
