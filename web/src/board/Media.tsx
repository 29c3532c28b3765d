// The gallery: what runs logged under one name side by side, at one step for all, which a slider moves.
import { type CSSProperties, useEffect, useRef, useState } from "react";
import { urlOf } from "../api/client";
import { type MediaStep, useMedia } from "../api/media";
import { useChartTheme } from "../app/colours";
import { Choice, Switch, TextField } from "../app/fields";
import { Chevron } from "../app/icons";
import { Failing, Loading, Notice } from "../app/Notice";
import { Scrolling } from "../app/Scrolling";
import { seriesColour } from "../charts/theme";
import { formatCount, plural } from "../format/units";
import { Caption, Cell, DifferenceOf, Distributions, mediumUrl } from "./MediaCells";
import {
  type MediaRow,
  mediaRows,
  positionOf,
  referenceOf,
  stepAt,
  stepsOf,
  stepWords,
} from "./media";
import { useStable, type ViewChange } from "./useBoard";
import type { ViewSearch } from "./view";

const kMaxRuns = 8;
const kFirstRows = 100;
const kSettled = 200; // milliseconds until a moved slider is in the address

interface Named {
  id: string;
  name: string;
  // Place in the palette.
  index: number;
}

export interface MediaProps {
  runs: readonly Named[];
  search: ViewSearch;
  change: (part: (old: ViewSearch) => ViewChange, replace: boolean) => void;
}

function useGallery({ runs, search }: MediaProps) {
  const some = runs.slice(0, kMaxRuns);
  const media = useMedia(useStable(some.map(({ id }) => id)));
  const byRun = some.map(({ id }) => media.byRun[id]);
  const all = mediaRows(byRun);
  const rows = search.mname === undefined ? all : mediaRows(byRun, search.mname);
  return { some, media, all, rows };
}

// The tab of a run.
export function Media(props: MediaProps) {
  const { some, media, all, rows } = useGallery(props);
  if (all.length > 0)
    return (
      <>
        <h2 className="unseen">Media</h2>
        <Gallery {...props} some={some} all={all} rows={rows} />
      </>
    );
  if (media.error) return <Failing error={media.error} retry={() => location.reload()} />;
  if (media.pending) return <Loading what="the media" />;
  return (
    <Notice>
      <p>The run logged no images, sound, video, texts, tables or histograms.</p>
      <p>
        <code>corral.image("sample", pixels, step=step)</code> in the script, or MLflow's{" "}
        <code>log_image</code>, shows one here.
      </p>
    </Notice>
  );
}

// Below the charts of a board, where one of its runs has any.
export function MediaSection(props: MediaProps) {
  const { search, change } = props;
  const { some, all, rows } = useGallery(props);
  if (all.length === 0) return null;
  const open = search.media === true;
  return (
    <section className="phases" aria-label="Media" data-testid="media-section">
      <div className="line-head">
        <h2>
          <button
            type="button"
            className="media-open"
            aria-expanded={open}
            onClick={() => change(() => ({ media: open ? undefined : true }), false)}
          >
            <Chevron open={open} /> Media
          </button>
        </h2>
        <span className="unit">{plural(all.length, "name")}</span>
      </div>
      {open && <Gallery {...props} some={some} all={all} rows={rows} />}
    </section>
  );
}

interface GalleryProps extends MediaProps {
  some: readonly Named[];
  // All rows, and those that the filter leaves.
  all: readonly MediaRow[];
  rows: readonly MediaRow[];
}

function Gallery({ runs, some, all, rows, search, change }: GalleryProps) {
  const steps = useStable(stepsOf(all));
  const [moved, setMoved] = useMoved(search.mstep, change);
  const step = moved ?? undefined;
  const [more, setMore] = useState(false);
  const shown = more ? rows : rows.slice(0, kFirstRows);
  const single = some.length === 1;
  const way = {
    way: search.mdiff ?? "none",
    base: some.findIndex(({ id }) => id === search.mdiff),
  };
  return (
    <div className="media" data-testid="media">
      <div className="media-tools">
        {steps.length > 1 && <Slider steps={steps} step={step} move={setMoved} />}
        <Tools {...{ some, all, search, change }} />
      </div>
      {runs.length > some.length && (
        <p className="quiet">
          The first {some.length} of {formatCount(runs.length)} runs.
        </p>
      )}
      {rows.length === 0 && <p className="quiet">No name has “{search.mname}” in it.</p>}
      <Scrolling className={single ? "media-tiles" : "media-rows"} label="Media by name">
        {shown.map((row) => (
          <Row
            key={`${row.kind}:${row.name}`}
            row={row}
            runs={some}
            step={step}
            to={way.way === "none" || (way.base < 0 && /^[0-9a-f]{32}$/.test(way.way)) ? null : way}
            over={search.mall === true}
          />
        ))}
      </Scrolling>
      {shown.length < rows.length && (
        <button type="button" className="button" onClick={() => setMore(true)}>
          Show all {formatCount(rows.length)} names
        </button>
      )}
    </div>
  );
}

// The step while the slider moves, which then goes into the address; null: the newest.
function useMoved(told: number | undefined, change: MediaProps["change"]) {
  const [moved, setMoved] = useState<number | null>(told ?? null);
  // The step that this has put into the address, where it arrives later: the slider may have moved on by then.
  const sent = useRef(told);
  useEffect(() => {
    if (told === sent.current) return;
    sent.current = told;
    setMoved(told ?? null);
  }, [told]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `change` is another at every drawing
  useEffect(() => {
    const next = moved ?? undefined;
    if (next === told) return;
    const timer = setTimeout(() => {
      sent.current = next;
      change(() => ({ mstep: next }), true);
    }, kSettled);
    return () => clearTimeout(timer);
  }, [moved, told]);
  return [moved, setMoved] as const;
}

interface SliderProps {
  steps: readonly number[];
  step: number | undefined;
  move: (step: number | null) => void;
}

// At its end it follows the newest step.
function Slider({ steps, step, move }: SliderProps) {
  const last = steps.length - 1;
  const at = positionOf(steps, step);
  const words = `step ${steps[at]}${step === undefined ? ", the newest" : ""}`;
  return (
    <label className="media-slider">
      <span>Step</span>
      <input
        type="range"
        min={0}
        max={last}
        step={1}
        value={at}
        aria-label="Step"
        aria-valuetext={words}
        onChange={(event) => {
          const to = event.currentTarget.valueAsNumber;
          move(to === last ? null : (steps[to] ?? null));
        }}
      />
      <output>{words}</output>
    </label>
  );
}

type ToolsProps = Pick<GalleryProps, "some" | "all" | "search" | "change">;

function Tools({ some, all, search, change }: ToolsProps) {
  const has = (kind: string) => all.some((row) => row.kind === kind);
  const options: [string, string][] = [
    ["none", "nothing"],
    ["previous", "the previous step"],
    ["first", "the first step"],
  ];
  if (some.length > 1) options.push(...some.map(({ id, name }): [string, string] => [id, name]));
  const chosen = options.some(([key]) => key === search.mdiff) ? (search.mdiff ?? "none") : "none";
  return (
    <>
      {all.length > 1 && (
        <TextField
          label="Filter names"
          placeholder="Filter names"
          value={search.mname ?? ""}
          change={(text) => change(() => ({ mname: text === "" ? undefined : text }), false)}
        />
      )}
      {has("image") && (
        <Choice
          label="Difference to"
          value={chosen}
          options={options}
          change={(to) => change(() => ({ mdiff: to === "none" ? undefined : to }), false)}
        />
      )}
      {has("histogram") && (
        <Switch
          label="Histograms over all steps"
          on={search.mall === true}
          set={(on) => change(() => ({ mall: on ? true : undefined }), false)}
        />
      )}
    </>
  );
}

interface RowProps {
  row: MediaRow;
  runs: readonly Named[];
  step: number | undefined;
  // The other image of each comparison.
  to: { way: string; base: number } | null;
  // Histograms are drawn over all steps.
  over: boolean;
}

function Row({ row, runs, ...at }: RowProps) {
  return (
    <section aria-label={`${row.name}, ${row.kind}`} className="media-row" data-testid="media-row">
      <h3 className="cut" title={row.name}>
        {row.name} <span className="quiet">{countsWords(row)}</span>
      </h3>
      <div className="media-cells">
        {runs.map((run, i) => (
          <Place key={run.id} row={row} runs={runs} place={i} {...at} />
        ))}
      </div>
    </section>
  );
}

// Says where only some of many steps are listed.
function countsWords({ kind, entries }: MediaRow): string {
  const most = entries.reduce((a, b) => ((b?.count ?? 0) > (a?.count ?? 0) ? b : a), null);
  if (most === null || most.count === 1) return kind;
  const listed = most.steps.length < most.count ? `${formatCount(most.steps.length)} of ` : "";
  return `${kind}, ${listed}${plural(most.count, "step")}`;
}

interface PlaceProps extends Omit<RowProps, "row"> {
  row: MediaRow;
  place: number;
}

function Place({ row, runs, place, step, to, over }: PlaceProps) {
  const theme = useChartTheme();
  const run = runs[place] as Named;
  const entry = row.entries[place] ?? null;
  const shown = stepAt(entry, step);
  const label = `${row.name} of ${run.name}${shown === null ? "" : `, ${stepWords(shown)}`}`;
  const colour = { "--run": seriesColour(theme, run.index) } as CSSProperties;
  const whole = over && row.kind === "histogram" && entry !== null && entry.steps.length > 1;
  return (
    <div className="media-cell" style={colour} data-testid="media-cell">
      {runs.length > 1 && (
        <p className="cut media-run" title={run.name}>
          {run.name}
        </p>
      )}
      {whole && (
        <Distributions run={run.id} steps={entry.steps} label={`${label}, over all steps`} />
      )}
      {!whole && shown !== null && (
        <>
          <Cell run={run.id} kind={row.kind} shown={shown} label={label} />
          <Caption shown={shown} />
          {to !== null && row.kind === "image" && (
            <Against {...{ row, runs, to }} at={{ run: place, shown, step }} />
          )}
        </>
      )}
      {!whole && shown === null && <p className="quiet">{missingWords(entry)}</p>}
    </div>
  );
}

function missingWords(entry: MediaRow["entries"][number]): string {
  const first = entry?.steps[0];
  return first ? `Nothing yet: the first is at ${stepWords(first)}.` : "Not logged by this run.";
}

interface AgainstProps {
  row: MediaRow;
  runs: readonly Named[];
  at: Parameters<typeof referenceOf>[1];
  to: { way: string; base: number };
}

function Against({ row, runs, at, to }: AgainstProps) {
  const other = referenceOf(row, at, to);
  if (other === null) return null;
  const url = (run: number, shown: MediaStep) => urlOf(mediumUrl((runs[run] as Named).id, shown));
  const words =
    other.run === at.run
      ? stepWords(other.shown)
      : `${(runs[other.run] as Named).name}, ${stepWords(other.shown)}`;
  return (
    <DifferenceOf url={url(at.run, at.shown)} other={url(other.run, other.shown)} against={words} />
  );
}
