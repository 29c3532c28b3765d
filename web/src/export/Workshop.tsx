// The figure workshop: how a chart leaves the page, with a preview that is the figure itself.

import { useEffect, useMemo, useState } from "react";
import { urlOf } from "../api/client";
import { download, fileName } from "../app/download";
import { Choice, NumberField, Switch } from "../app/fields";
import { useModal } from "../app/useModal";
import { type ChartFigure, type FigureSource, makeFigure } from "./figure";
import { pdfFile, svgOf } from "./files";
import { pixelsOf } from "./pixels";
import { type FigureOptions, kLimits, kPresets, optionsOf } from "./presets";

export interface WorkshopProps {
  // Starts every file's name.
  name: string;
  source: FigureSource;
  // The runs whose points stand behind the chart, for a CSV of all of them.
  full: { run: string; label: string; metric: string }[];
  close: () => void;
}

type Format = "pdf" | "svg" | "png" | "jpeg" | "csv";
const kFormats: readonly (readonly [Format, string])[] = [
  ["pdf", "PDF, vectors"],
  ["svg", "SVG, vectors"],
  ["png", "PNG, 300 dpi"],
  ["jpeg", "JPEG, 300 dpi"],
  ["csv", "CSV, as drawn"],
];

async function fileOf(format: Format, figure: ChartFigure): Promise<Blob> {
  switch (format) {
    case "pdf":
      return pdfFile(figure);
    case "svg":
      return new Blob([await svgOf(figure)], { type: "image/svg+xml" });
    case "csv":
      return new Blob([figure.csv], { type: "text/csv" });
    default:
      return pixelsOf(figure, `image/${format}`);
  }
}

export function Workshop({ name, source, full, close }: WorkshopProps) {
  const dialog = useModal();
  const [options, setOptions] = useState<FigureOptions>(() => optionsOf(kPresets[0] as never));
  const [said, setSaid] = useState("");
  const figure = useMemo(() => makeFigure(source, options), [source, options]);
  const act = (doing: Promise<string>) =>
    void doing
      .then(setSaid)
      .catch((reason: unknown) => setSaid(reason instanceof Error ? reason.message : "It failed."));
  const save = async (format: Format) => {
    const file = `${fileName(name, "figure")}.${format === "jpeg" ? "jpg" : format}`;
    download(await fileOf(format, figure), file);
    return `Saved ${file}.`;
  };
  return (
    <dialog
      ref={dialog}
      className="dialog workshop"
      onClose={close}
      aria-label={`Export ${name}`}
      data-testid="workshop"
    >
      <header>
        <h2>Export {name}</h2>
        <button type="button" className="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </header>
      <div className="dialog-body workshop-body">
        <div className="form">
          <Look options={options} change={setOptions} />
          <Ways verb="export" ways={kFormats} go={(format) => act(save(format))} />
          <Ways verb="copy" ways={kCopies} go={(format) => act(copy(format, figure))} />
          <FullData full={full} />
          <p className="quiet" role="status">
            {said}
          </p>
        </div>
        <div>
          <Preview figure={figure} />
          <p className="quiet mono cut" title={`SHA-256 of the drawn numbers: ${figure.hash}`}>
            data {figure.hash.slice(0, 16)}
          </p>
        </div>
      </div>
    </dialog>
  );
}

interface WaysProps<Way extends string> {
  verb: string;
  ways: readonly (readonly [Way, string])[];
  go: (way: Way) => void;
}

function Ways<Way extends string>({ verb, ways, go }: WaysProps<Way>) {
  return (
    <div className="form-row wrap">
      {ways.map(([way, words]) => (
        <button
          key={way}
          type="button"
          className="button"
          data-testid={`${verb}-${way}`}
          onClick={() => go(way)}
        >
          {words}
        </button>
      ))}
    </div>
  );
}

interface LookProps {
  options: FigureOptions;
  change: (to: (now: FigureOptions) => FigureOptions) => void;
}

// Everything that can be chosen about the figure.
function Look({ options, change }: LookProps) {
  const [preset, setPreset] = useState("screen");
  const set = (part: Partial<FigureOptions>) => change((now) => ({ ...now, ...part }));
  return (
    <>
      <Choice
        label="Size"
        value={preset}
        options={kPresets.map(({ key, label }) => [key, label] as const)}
        change={(key) => {
          const found = kPresets.find((one) => one.key === key);
          setPreset(key);
          if (found) change(({ title, axes }) => ({ ...optionsOf(found), title, axes }));
        }}
      />
      <Sizes options={options} set={set} />
      <Choice
        label="Names"
        value={options.legend}
        options={[
          ["ends", "at the lines' ends"],
          ["top", "in a row above"],
          ["none", "none"],
        ]}
        change={(legend) => set({ legend })}
      />
      <Choice
        label="Colours"
        value={options.palette}
        options={[
          ["corral", "as on the page"],
          ["okabe-ito", "Okabe and Ito"],
          ["tol", "Tol, bright"],
        ]}
        change={(palette) => set({ palette })}
      />
      <label className="form-line">
        <span>Title</span>
        <input
          type="text"
          value={options.title}
          onChange={(event) => set({ title: event.currentTarget.value })}
        />
      </label>
      <Switch label="Axis titles" on={options.axes} set={(axes) => set({ axes })} />
      <Switch
        label="Monochrome"
        on={options.monochrome}
        set={(monochrome) => set({ monochrome })}
      />
      <Switch label="Markers" on={options.markers} set={(markers) => set({ markers })} />
      <Switch label="Dark" on={options.dark} set={(dark) => set({ dark })} />
    </>
  );
}

type Copied = "png" | "svg" | "csv";
const kCopies: readonly (readonly [Copied, string])[] = [
  ["png", "Copy picture"],
  ["svg", "Copy SVG"],
  ["csv", "Copy CSV"],
];
const kCopiedWords: Record<Copied, string> = {
  png: "Picture copied.",
  svg: "SVG copied.",
  csv: "CSV copied.",
};

async function copy(format: Copied, figure: ChartFigure): Promise<string> {
  if (navigator.clipboard === undefined || typeof ClipboardItem === "undefined")
    return "Clipboard not available in this browser; download it instead.";
  // The promise goes along, or the browser would take the click for long past once the picture is made.
  if (format === "png") {
    const png = pixelsOf(figure, "image/png");
    await navigator.clipboard.write([new ClipboardItem({ "image/png": png })]);
  } else {
    const text = fileOf(format, figure).then(
      async (file) => new Blob([await file.text()], { type: "text/plain" }),
    );
    await navigator.clipboard.write([new ClipboardItem({ "text/plain": text })]);
  }
  return kCopiedWords[format];
}

interface PartProps {
  options: FigureOptions;
  set: (part: Partial<FigureOptions>) => void;
}

function Sizes({ options, set }: PartProps) {
  const { width, height, textSize, lineWidth } = options;
  const within = (value: number, [low, high]: readonly [number, number]) =>
    Math.min(high, Math.max(low, value));
  return (
    <>
      <div className="form-line">
        <span>Width, height (pt)</span>
        <span className="form-pair">
          <NumberField
            label="Width"
            value={width}
            change={(v) => set({ width: within(v, kLimits.width) })}
          />
          <NumberField
            label="Height"
            value={height}
            change={(v) => set({ height: within(v, kLimits.height) })}
          />
        </span>
      </div>
      <div className="form-line">
        <span>Text, lines (pt)</span>
        <span className="form-pair">
          <NumberField
            label="Text size"
            value={textSize}
            change={(v) => set({ textSize: within(v, kLimits.textSize) })}
          />
          <NumberField
            label="Line width"
            value={lineWidth}
            change={(v) => set({ lineWidth: within(v, kLimits.lineWidth) })}
          />
        </span>
      </div>
    </>
  );
}

function FullData({ full }: { full: WorkshopProps["full"] }) {
  return (
    <details>
      <summary>All points as CSV</summary>
      {full.map(({ run, label, metric }) => (
        <p key={`${run} ${metric}`}>
          <a
            className="link"
            download
            href={urlOf(`/runs/${run}/export?format=csv&metric=${encodeURIComponent(metric)}`)}
          >
            {label}: {metric}
          </a>
        </p>
      ))}
    </details>
  );
}

// The very file, as an image, so that nothing in it can run or style the page.
function Preview({ figure }: { figure: ChartFigure }) {
  const [url, setUrl] = useState("");
  useEffect(() => {
    let newest = true;
    void svgOf(figure).then(
      (svg) => newest && setUrl(`data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`),
      () => {},
    );
    return () => {
      newest = false;
    };
  }, [figure]);
  if (url === "") return null;
  return <img src={url} alt="Preview of the figure" data-testid="export-preview" />;
}
