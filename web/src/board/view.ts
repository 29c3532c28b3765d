// The state of a board as the address holds it: the part that the page of a run and the board of a selection share.
// Values that mean nothing are left out rather than refused. Pure.
import type { Smoothing } from "../api/lines";
import { defined, list, type Raw, word } from "../app/search";
import { quoted, unquoted } from "./quote";

// `workload`, `run`: seconds since the start of each; `wall`: UTC; `condensed`: seconds, with one epoch for all that are
// alike; `metric`: another metric's values.
export type Axis = "workload" | "run" | "wall" | "step" | "epoch" | "condensed" | "metric";
export const kAxes: readonly Axis[] = [
  "workload",
  "run",
  "wall",
  "step",
  "epoch",
  "condensed",
  "metric",
];

// `std`, `ci`: around a mean.
export type Band = "none" | "range" | "quartiles" | "std" | "ci";
export const kBands: readonly Band[] = ["none", "range", "quartiles", "std", "ci"];
export type GroupValue = "mean" | "median" | "sum";

// `by`: workload, experiment, or `param:NAME`, `tag:NAME`.
export interface Grouping {
  by: string;
  show: GroupValue;
  band: Band;
}

export interface ViewSearch {
  from?: number;
  to?: number;
  // Charts, as choice.ts writes them; absent for the default choice, one empty word for none.
  metric?: string[];
  x?: Axis;
  // With `x=metric`: which.
  xmetric?: string;
  // Zero of the time axes: `step` (the first step) or `epoch:K`.
  align?: string;
  smooth?: string;
  group?: string;
  // The param or tag that gives the runs their colours, as in a grouping.
  colour?: string;
  // Single runs beneath their groups.
  singles?: boolean;
  // Key of the line (a run's id or `group:LABEL`) that the others are compared to.
  base?: string;
  compare?: "difference" | "ratio";
  // Keys of lines that are switched off.
  hide?: string[];
  // The region looked into: `from..to` on the axis.
  sel?: string;
  // Times of all hosts as their clocks had them; absent: corrected.
  clocks?: "raw";
  // Every chart is zoomed by itself; absent: all share the range.
  sync?: "off";
  // Charts below headings; absent: if there are many. `fold`: keys of the closed ones.
  sections?: "on" | "off";
  fold?: string[];
  // Only charts whose names match.
  find?: string;
  // Height of each chart's picture, CSS pixels; absent: the usual one, or for a single chart what the window leaves.
  height?: number;
  // Key of the chart that fills the window.
  enlarged?: string;
  // The two marked places.
  a?: number;
  b?: number;
  // The position of the pinned values, with the clicked chart after a colon: `12.5:loss`.
  pin?: string;
  // The phase looked into: `RUN:ID`.
  phase?: string;
  // Media: the board's section is open; the step, absent for the newest; a part of their names; what images are compared
  // to (`first`, `previous` or a run's id); histograms of all steps instead of one.
  media?: true;
  mstep?: number;
  mname?: string;
  mdiff?: string;
  mall?: true;
}

export const kLeastHeight = 96;
export const kMostHeight = 1200;

export interface Pin {
  at: number;
  chart: string | null;
}

const kSmooth = /^(ema|gaussian|mean):(\d+(?:\.\d+)?(?:e-?\d+)?)$/;

// `ema:0.9` (weight per second or step), `gaussian:12`, `mean:30` (seconds or steps).
export function parseSmoothing(text: string | undefined): Smoothing | null {
  const found = kSmooth.exec(text ?? "");
  if (found === null) return null;
  const amount = Number(found[2]);
  const method = found[1] as Smoothing["method"];
  if (!(amount > 0) || (method === "ema" && amount >= 1)) return null;
  return { method, amount };
}

export const smoothingText = (smoothing: Smoothing | null): string | undefined =>
  smoothing === null ? undefined : `${smoothing.method}:${smoothing.amount}`;

// `workload`, `param:lr~sum`, `experiment~mean~ci`, `tag:a~median~quartiles`. A band that does not go with the value is
// the usual one.
export function parseGrouping(text: string | undefined): Grouping | null {
  if (text === undefined) return null;
  const [by = "", ...options] = text.split("~");
  if (!/^(workload|experiment|(param|tag):[\s\S]+)$/.test(by)) return null;
  const show = (["median", "sum"] as const).find((one) => options.includes(one)) ?? "mean";
  const band = kBands.find((one) => options.includes(one)) ?? "range";
  return { by: unquoted(by), show, band: goesWith(show, band) ? band : "range" };
}

const plainGrouping = (text: string | undefined): Grouping | null => {
  const found = parseGrouping(text);
  return found && { by: found.by, show: "mean", band: "range" };
};

export const goesWith = (show: GroupValue, band: Band): boolean =>
  show === "mean" || (band !== "std" && band !== "ci");

export function groupingText(grouping: Grouping | null): string | undefined {
  if (grouping === null) return undefined;
  const parts = [quoted(grouping.by)];
  if (grouping.show !== "mean") parts.push(grouping.show);
  if (grouping.band !== "range") parts.push(grouping.band);
  return parts.join("~");
}

function range(raw: Raw): { from?: number; to?: number } {
  const [from, to] = [Number(raw.from), Number(raw.to)];
  const known = raw.from !== undefined && Number.isFinite(from) && Number.isFinite(to) && to > from;
  return known ? { from, to } : {};
}

export function parseRegion(text: string | undefined): { from: number; to: number } | null {
  const [from, to] = (text ?? "").split("..").map(Number);
  return from !== undefined && to !== undefined && to > from ? { from, to } : null;
}

function heightOf(value: unknown): number | undefined {
  const height = Math.round(place(value) ?? 0);
  return height >= kLeastHeight && height <= kMostHeight ? height : undefined;
}

// Finite, or nothing.
function place(value: unknown): number | undefined {
  const text = word(value);
  const at = text === undefined || text.trim() === "" ? Number.NaN : Number(text);
  return Number.isFinite(at) ? at : undefined;
}

export function parsePin(text: string | undefined): Pin | null {
  const colon = text?.indexOf(":") ?? -1;
  const at = place(colon < 0 ? text : text?.slice(0, colon));
  if (at === undefined) return null;
  return { at, chart: colon < 0 ? null : (text?.slice(colon + 1) ?? null) };
}

export const pinText = (pin: Pin | null): string | undefined =>
  pin === null ? undefined : pin.chart === null ? String(pin.at) : `${pin.at}:${pin.chart}`;

export function parsePhase(text: string | undefined): { run: string; id: string } | null {
  const found = /^([0-9a-f]+):([\s\S]+)$/.exec(text ?? "");
  return found === null ? null : { run: found[1] as string, id: found[2] as string };
}

export const regionText = (region: { from: number; to: number } | null): string | undefined =>
  region === null ? undefined : `${rounded(region).from}..${rounded(region).to}`;

// Settings that name a place or a range on one axis, and have no meaning on another.
export const kNoPlace = {
  from: undefined,
  to: undefined,
  sel: undefined,
  a: undefined,
  b: undefined,
  pin: undefined,
} as const;

// A millionth of a second, or of a shorter range (a metric as axis may be of any size), is finer than any pixel.
export function rounded(range: { from: number; to: number }): { from: number; to: number } {
  return { from: roundedPlace(range.from, range), to: roundedPlace(range.to, range) };
}

export function roundedPlace(at: number, { from, to }: { from: number; to: number }): number {
  const digits = Math.min(100, Math.max(6, 5 - Math.floor(Math.log10(to - from))));
  return Number(at.toFixed(digits));
}

export function viewSearch(raw: Raw): ViewSearch {
  const axis = kAxes.find((one) => one === raw.x);
  const smooth = parseSmoothing(word(raw.smooth));
  const group = parseGrouping(word(raw.group));
  const out: Record<string, unknown> = {
    ...range(raw),
    metric: list(raw.metric),
    x: axis === "workload" ? undefined : axis,
    xmetric: axis === "metric" ? word(raw.xmetric) : undefined,
    align: /^(step|epoch:\d+)$/.test(word(raw.align) ?? "") ? word(raw.align) : undefined,
    smooth: smoothingText(smooth),
    group: groupingText(group),
    colour: groupingText(plainGrouping(word(raw.colour))),
    singles: group !== null && String(raw.singles) === "true" ? true : undefined,
    base: word(raw.base),
    compare: ["difference", "ratio"].find((as) => as === raw.compare),
    hide: list(raw.hide),
    sel: parseRegion(word(raw.sel)) === null ? undefined : word(raw.sel),
    clocks: raw.clocks === "raw" ? "raw" : undefined,
    sync: raw.sync === "off" ? "off" : undefined,
    sections: (["on", "off"] as const).find((one) => one === raw.sections),
    fold: list(raw.fold),
    find: word(raw.find) === "" ? undefined : word(raw.find),
    height: heightOf(raw.height),
    enlarged: word(raw.enlarged),
    a: place(raw.a),
    b: place(raw.b),
    pin: parsePin(word(raw.pin)) === null ? undefined : word(raw.pin),
    phase: parsePhase(word(raw.phase)) === null ? undefined : word(raw.phase),
    media: String(raw.media) === "true" ? true : undefined,
    mstep: place(raw.mstep),
    mname: word(raw.mname),
    mdiff: /^(first|previous|[0-9a-f]{32})$/.test(word(raw.mdiff) ?? "")
      ? word(raw.mdiff)
      : undefined,
    mall: String(raw.mall) === "true" ? true : undefined,
  };
  return defined(out) as ViewSearch;
}

// A board of any selection. `slot`: places in the palette of runs that have another than their usual one, as `ID:3`.
// `v`: the state is stored on the server under this id.
export interface BoardSearch extends ViewSearch {
  run?: string[];
  workload?: string[];
  slot?: string[];
  v?: string;
}

const kSlot = /^([0-9a-f]{6,32}):(\d{1,3})$/;

function slotsOf(value: unknown): string[] | undefined {
  const found = (list(value) ?? []).filter((one) => kSlot.test(one));
  return found.length === 0 ? undefined : found;
}

// The place in the palette that the address gives a run.
export function slotFor({ slot = [] }: BoardSearch, run: string): number | undefined {
  const found = slot.flatMap((one) => {
    const [, id = "", place = ""] = kSlot.exec(one) ?? [];
    return id !== "" && run.startsWith(id) ? [Number(place)] : [];
  });
  return found[0];
}

export function boardSearch(raw: Raw): BoardSearch {
  return defined({
    run: list(raw.run),
    workload: list(raw.workload),
    slot: slotsOf(raw.slot),
    ...viewSearch(raw),
    v: word(raw.v),
  }) as BoardSearch;
}
