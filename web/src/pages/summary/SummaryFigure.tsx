// The drawn summary: canvas, places that answer the pointer, the choice of a baseline, a table of the same numbers.

import { useLayoutEffect, useMemo, useRef, useState } from "react";
import type { FoundRun } from "../../api/runSearch";
import { useChartTheme } from "../../app/colours";
import { download } from "../../app/download";
import { Choice } from "../../app/fields";
import { late } from "../../app/late";
import { Scrolling } from "../../app/Scrolling";
import { useWidth } from "../../app/useWidth";
import { usePageFont } from "../../board/usePageFont";
import { type BarCell, type BarData, barTable, drawBars, summariseBars } from "../../charts/bars";
import { boxTable, drawBoxes, summariseBoxes } from "../../charts/box";
import { paint } from "../../charts/canvas";
import type { FontMetrics } from "../../charts/font";
import { drawParallel, parallelTable, summariseParallel } from "../../charts/parallel";
import { drawScatter, scatterTable, summariseScatter } from "../../charts/scatter";
import { boxAt, type SummaryPicture, type SummaryTable } from "../../charts/summary";
import type { ChartTheme } from "../../charts/theme";
import { barsOf, boxesOf, captionOf, cellsOf, parallelOf, pointsOf, type Sample } from "./data";
import { cellsCsv, cellWords, countsOf, latexTable, samplesCsv } from "./results";
import type { SummarySearch } from "./search";

const Importances = late({
  what: "The importance of params",
  load: async () => (await import("./Importances")).Importances,
});

const kHeight = 420;
const kFormats = ["pdf", "svg", "png", "csv"] as const;
type Format = (typeof kFormats)[number];
const kNotSaved = "The server does not answer, so this could not be saved as";

export interface SummaryFigureProps {
  samples: readonly Sample[];
  search: SummarySearch;
  at: {
    metric: string;
    of: string;
    unit: string;
    runs: readonly FoundRun[];
    // The metrics of a scatter's sizes and colours.
    size: { name: string; unit: string } | null;
    shade: { name: string; unit: string } | null;
  };
  set: (part: { base: string | undefined }) => void;
}

interface Drawn {
  picture: SummaryPicture;
  words: string;
  table: SummaryTable;
  // The possible baselines of a ratio.
  bases: string[];
  caption: string;
}

interface Drawing {
  width: number;
  theme: ChartTheme;
  font: FontMetrics;
  // It stands alone, so it names its values.
  titled?: boolean;
}

// A table has no picture.
const pictureOf = ({ kind = "bars" }: SummarySearch) =>
  kind === "table" || kind === "importance" ? "bars" : kind;

function draw(props: SummaryFigureProps, on: Drawing): Drawn {
  const { samples, search, at } = props;
  const { metric, of, unit } = at;
  const label = `${of === "last" ? "last" : of} ${metric}`;
  const style = on.titled ? { style: { title: label } } : {};
  const spec = { width: on.width, height: kHeight, unit, theme: on.theme, label, ...style };
  const along = alongOf(search);
  const kind = pictureOf(search);
  const [xLog, yLog] = (["x", "y"] as const).map((axis) => search.log?.includes(axis) ?? false);
  const stacked = search.stacked ?? false;
  const caption = (cells: BarData["cells"]) =>
    captionOf(kind, { metric, stacked, cells, size: at.size?.name, shade: at.shade?.name });
  const plain = { bases: [], caption: caption([]) };
  switch (kind) {
    case "bars": {
      const data = barsOf(cellsOf(samples, along));
      const several = data.groups.length > 1;
      const bases = several ? [...data.groups] : [...data.categories];
      const base = bases.indexOf(search.base ?? "");
      const bars = {
        ...spec,
        stacked,
        ...(base < 0 ? {} : { baseline: several ? { group: base } : { category: base } }),
      };
      const picture = drawBars(data, bars, on.font);
      return {
        picture,
        words: summariseBars(label, data, bars),
        table: barTable(data, bars),
        bases,
        caption: caption(data.cells),
      };
    }
    case "box": {
      const data = boxesOf(cellsOf(samples, along));
      const picture = drawBoxes(data, { ...spec, yLog: yLog ?? false }, on.font);
      return {
        picture,
        words: summariseBoxes(label, data, spec),
        table: boxTable(data, spec),
        ...plain,
      };
    }
    case "scatter": {
      const { points, groups } = pointsOf(samples, along);
      const xLabel = along.by.replace(/^(params|tags)\./, "");
      const logs = { xLog: xLog ?? false, yLog: yLog ?? false };
      const more = { size: at.size ?? undefined, shade: at.shade ?? undefined };
      const named = along.group === "" ? {} : { groups };
      const scatter = { ...spec, ...logs, ...more, ...named, xLabel };
      const picture = drawScatter(points, scatter, on.font);
      return {
        picture,
        words: summariseScatter(label, points, scatter),
        table: scatterTable(points, scatter),
        ...plain,
      };
    }
    case "parallel": {
      const keys = [...new Set(at.runs.flatMap((run) => Object.keys(run.values)))].filter((key) =>
        key.startsWith("params."),
      );
      const { axes, rows } = parallelOf(samples, { keys, metric, unit });
      const picture = drawParallel(axes, rows, { spec, font: on.font });
      return {
        picture,
        words: summariseParallel(label, axes, rows),
        table: parallelTable(axes, rows),
        ...plain,
      };
    }
  }
}

const alongOf = ({ by = "workload", group = "" }: SummarySearch) => ({ by, group });

// Means of the bars, else a row per run.
function csvOf({ samples, search, at }: SummaryFigureProps): string {
  if (pictureOf(search) === "bars")
    return cellsCsv(barsOf(cellsOf(samples, alongOf(search))), alongOf(search));
  const { metric, size, shade } = at;
  return samplesCsv(samples, { metric, size: size?.name, shade: shade?.name });
}

// As a file, laid out by the font's table.
async function saved(
  format: Format,
  props: SummaryFigureProps,
  { width, theme }: { width: number; theme: ChartTheme },
): Promise<void> {
  if (format === "csv") {
    download(csvOf(props), "summary.csv", "text/csv");
    return;
  }
  const [{ figureOf }, { kInter }, { pdfFile, svgOf }] = await Promise.all([
    import("../../export/figure"),
    import("../../charts/inter"),
    import("../../export/files"),
  ]);
  const { picture, table } = draw(props, { width, theme, font: kInter, titled: true });
  const at = { background: theme.background, link: location.href };
  const figure = figureOf(picture, { ...at, table: [table.head, ...table.rows] });
  if (format === "png") {
    const { pixelsOf } = await import("../../export/pixels");
    download(await pixelsOf(figure, "image/png"), "summary.png");
  }
  if (format === "svg") download(await svgOf(figure), "summary.svg", "image/svg+xml");
  if (format === "pdf") download(await pdfFile(figure), "summary.pdf");
}

export function SummaryFigure(props: SummaryFigureProps) {
  const { kind } = props.search;
  if (kind === "importance") return <Importances {...props} />;
  return kind === "table" ? <Results {...props} /> : <Pictured {...props} />;
}

function Pictured(props: SummaryFigureProps) {
  const [ref, width] = useWidth();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [pointed, setPointed] = useState("");
  const theme = useChartTheme();
  const font = usePageFont();
  const drawn = useMemo(
    () => (width > 0 ? draw(props, { width, theme, font }) : null),
    [props, width, theme, font],
  );
  useLayoutEffect(() => {
    if (canvas.current !== null && drawn !== null)
      paint(canvas.current, drawn.picture, devicePixelRatio);
  }, [drawn]);
  const save = (format: Format) => saved(format, props, { width, theme });
  return (
    <figure ref={ref} data-testid="summary">
      <div className="line-head summary-head">
        <h2>{props.at.metric}</h2>
        <span className="unit">{props.at.unit}</span>
        {drawn !== null && drawn.bases.length > 1 && (
          <Choice
            label="Ratio to"
            value={drawn.bases.includes(props.search.base ?? "") ? (props.search.base ?? "") : ""}
            options={[["", "nothing"], ...drawn.bases.map((name) => [name, name] as const)]}
            change={(name) => props.set({ base: name === "" ? undefined : name })}
          />
        )}
        <span className="badge">
          {pointed !== "" ? pointed : [drawn?.caption, ...(drawn?.picture.notes ?? [])].join(" · ")}
        </span>
        {kFormats.map((format) => (
          <button
            key={format}
            type="button"
            className="button"
            aria-label={`Save as ${format.toUpperCase()}`}
            data-testid={`summary-${format}`}
            onClick={() => void save(format).catch(() => setPointed(`${kNotSaved} ${format}`))}
          >
            {format.toUpperCase()}
          </button>
        ))}
      </div>
      <canvas
        ref={canvas}
        style={{ width, height: kHeight }}
        role="img"
        aria-label={drawn?.words ?? "Loading."}
        onPointerMove={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          const at = [event.clientX - box.left, event.clientY - box.top] as const;
          setPointed(boxAt(drawn?.picture.boxes ?? [], ...at)?.words ?? "");
        }}
        onPointerLeave={() => setPointed("")}
      />
      {drawn !== null && <Table table={drawn.table} />}
    </figure>
  );
}

// The table of rows × columns, each cell with its mean, interval and number of runs.
function Results(props: SummaryFigureProps) {
  const { samples, search, at, set: _ } = props;
  const along = alongOf(search);
  const data = barsOf(cellsOf(samples, along));
  const common = countsOf(data);
  const caption = captionOf("table", { metric: at.metric, stacked: false, cells: [] });
  const several = data.groups.length > 1;
  const latex = () =>
    download(latexTable(data, { ...at, by: along.by }), "summary.tex", "application/x-tex");
  return (
    <figure data-testid="summary">
      <div className="line-head summary-head">
        <h2>{at.metric}</h2>
        <span className="unit">{at.unit}</span>
        <span className="badge">
          {caption}
          {common === null ? "" : ` · n = ${common}`}
        </span>
        <button type="button" className="button" data-testid="summary-tex" onClick={latex}>
          LaTeX
        </button>
        <button
          type="button"
          className="button"
          data-testid="summary-csv"
          onClick={() => download(csvOf(props), "summary.csv", "text/csv")}
        >
          CSV
        </button>
      </div>
      <Scrolling className="results" label="Means by rows and columns">
        <table className="table" data-testid="summary-results">
          <thead>
            <tr>
              <th scope="col">{along.by.replace(/^(params|tags)\./, "")}</th>
              {data.groups.map((name) => (
                <th key={name} scope="col" className="number">
                  {several ? name : `${at.of} ${at.metric}`}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {data.categories.map((name, i) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                {data.groups.map((group, k) => (
                  <td key={group} className="number">
                    <ResultCell cell={data.cells[i]?.[k] ?? null} counted={common === null} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolling>
    </figure>
  );
}

function ResultCell({ cell, counted }: { cell: BarCell | null; counted: boolean }) {
  if (cell === null) return <span className="quiet">–</span>;
  const { mean, half } = cellWords(cell);
  return (
    <>
      {mean}
      {half !== null && <span className="quiet"> ± {half}</span>}
      {counted && <span className="quiet"> n = {cell.n}</span>}
    </>
  );
}

function Table({ table }: { table: SummaryTable }) {
  return (
    <Scrolling className="inspect-table tall" label={"The data as a table"}>
      <table className="table" data-testid="summary-table">
        <thead>
          <tr>
            {table.head.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a row is its place
            <tr key={i}>
              {row.map((cell, k) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: as above
                <td key={k}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolling>
  );
}
