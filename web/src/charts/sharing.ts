// Lanes of devices: the runs over time, simultaneous runs below one another, their shared time hatched behind them.
// layoutShared places them in time, drawShared makes the drawing list. Pure.
import type { Sharing, SharingLane } from "../api/sharing";
import { secondsSince } from "../format/time";
import type { FontMetrics } from "./font";
import { kRow, kRowPitch } from "./lanes";
import type { Mark, Picture } from "./marks";
import type { ChartTheme } from "./theme";

export interface Stay {
  run: string;
  name: string;
  own: boolean;
  start: number;
  end: number;
  row: number;
}

export interface SharedTime {
  start: number;
  end: number;
  names: string[];
}

export interface SharedLane {
  key: string;
  // "gpu0", "CPUs 0-3".
  title: string;
  // "3g.20gb", "on node7"; empty where the title says all.
  about: string;
  instance: boolean;
  rows: number;
  stays: Stay[];
  overlaps: SharedTime[];
  source: SharingLane;
}

function titleOf(lane: SharingLane): string {
  if (lane.kind === "cpus")
    return lane.name.includes("-") || lane.name.includes(",")
      ? `CPUs ${lane.name}`
      : `CPU ${lane.name}`;
  return lane.kind === "host" ? `host ${lane.name}` : lane.name;
}

function aboutOf(lane: SharingLane, hosts: number): string {
  const where = hosts > 1 && lane.kind !== "host" ? ` on ${lane.host}` : "";
  // It stands right below its device.
  if (lane.kind === "instance") return `${lane.profile ?? "instance"}${where}`;
  return where.trim();
}

// Every stay in the highest row that is free by then.
function placed(stays: readonly Omit<Stay, "row">[]): { stays: Stay[]; rows: number } {
  const ends: number[] = [];
  const out = [...stays]
    .sort((a, b) => a.start - b.start)
    .map((stay) => {
      const free = ends.findIndex((end) => end <= stay.start);
      const row = free < 0 ? ends.length : free;
      ends[row] = stay.end;
      return { ...stay, row };
    });
  return { stays: out, rows: Math.max(1, ends.length) };
}

export function layoutShared(sharing: Sharing, originNs: bigint): SharedLane[] {
  const hosts = new Set(sharing.lanes.map((lane) => lane.host)).size;
  const nameOf = (at: number) => sharing.runs[at]?.name ?? "";
  return sharing.lanes.map((lane) => {
    const { stays, rows } = placed(
      lane.stays.map((stay) => ({
        run: sharing.runs[stay.run]?.id ?? "",
        name: nameOf(stay.run),
        own: sharing.runs[stay.run]?.own ?? false,
        start: secondsSince(stay.start_ns, originNs),
        end: secondsSince(stay.end_ns, originNs),
      })),
    );
    return {
      key: `${lane.host} ${lane.kind} ${lane.device ?? ""} ${lane.name}`,
      title: titleOf(lane),
      about: aboutOf(lane, hosts),
      instance: lane.kind === "instance",
      rows,
      stays,
      overlaps: lane.overlaps.map((overlap) => ({
        start: secondsSince(overlap.start_ns, originNs),
        end: secondsSince(overlap.end_ns, originNs),
        names: overlap.runs.map(nameOf),
      })),
      source: lane,
    };
  });
}

export interface SharedSpec {
  width: number;
  from: number;
  to: number;
  theme: ChartTheme;
  // The colour of a run on the charts; null if it is not drawn there.
  colourOf: (run: string) => string | null;
}

export const sharedHeight = (lane: SharedLane): number =>
  lane.rows * kRowPitch - (kRowPitch - kRow);

const kText = 11;

export function drawShared(lane: SharedLane, spec: SharedSpec, font: FontMetrics): Picture {
  const height = sharedHeight(lane);
  const x = (s: number) => ((s - spec.from) / (spec.to - spec.from)) * spec.width;
  const box = (start: number, end: number) => {
    const left = Math.max(0, x(start));
    return { x: left, width: Math.min(spec.width, x(end)) - left };
  };
  const shades = lane.overlaps.flatMap((overlap) => {
    const at = box(overlap.start, overlap.end);
    return at.width > 0 ? [{ kind: "rect", ...at, y: 0, height, radius: 0 } as const] : [];
  });
  const marks: Mark[] = shades.map((shade) => ({
    ...shade,
    colour: spec.theme.ink1,
    alpha: 0.06,
    hatch: false,
  }));
  const words: Mark[] = [];
  // A span narrower than a pixel is skipped if that pixel is already drawn.
  const drawnTo: number[] = [];
  for (const stay of lane.stays) {
    const { x: left, width: wide } = box(stay.start, stay.end);
    const right = left + wide;
    if (wide < 0 || left >= spec.width || right < (drawnTo[stay.row] ?? 0) + 0.5) continue;
    drawnTo[stay.row] = right;
    const width = Math.max(wide - (wide > 4 ? 1 : 0), 0.75);
    const y = stay.row * kRowPitch;
    const colour = spec.colourOf(stay.run) ?? spec.theme.ink3;
    const bar = { kind: "rect", x: left, y, width, height: kRow, hatch: false } as const;
    marks.push({ ...bar, colour, alpha: stay.own ? 0.24 : 0.12, radius: Math.min(2, width / 2) });
    words.push(...wordsOn(stay, { left, y, width, theme: spec.theme }, font));
  }
  const hatches = shades.map(
    (shade): Mark => ({ ...shade, colour: spec.theme.ink3, alpha: 0.4, hatch: true }),
  );
  return { width: spec.width, height, marks: [...marks, ...hatches, ...words] };
}

// The run's name, if it fits, on a plate: the background may be hatched.
function wordsOn(
  stay: Stay,
  { left, y, width, theme }: { left: number; y: number; width: number; theme: ChartTheme },
  font: FontMetrics,
): Mark[] {
  const length = font.width(stay.name, kText, 400);
  if (length > width - 10) return [];
  const plate = { x: left + 3, y: y + 2, width: length + 6, height: kRow - 4, radius: 2 };
  const text = { x: left + 6, y: y + 13, text: stay.name, size: kText, weight: 400 };
  return [
    { kind: "rect", ...plate, colour: theme.background, alpha: 0.75, hatch: false },
    { kind: "text", ...text, colour: theme.ink2, anchor: "start" },
  ];
}

export type SharedFound =
  | { kind: "stay"; stay: Stay; shared: SharedTime | null }
  | { kind: "shared"; shared: SharedTime };

// Returns what lies at a position of the picture: a run, else the time that some shared.
export function sharedAt(lane: SharedLane, seconds: number, y: number): SharedFound | null {
  const row = Math.floor(y / kRowPitch);
  const holds = (span: { start: number; end: number }) =>
    seconds >= span.start && seconds < span.end;
  const shared = lane.overlaps.find(holds) ?? null;
  const stay = lane.stays.find((one) => one.row === row && holds(one));
  if (stay !== undefined) return { kind: "stay", stay, shared };
  return shared && { kind: "shared", shared };
}
