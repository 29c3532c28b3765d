// Pieces of the bar that shows where a run's time went. Pure.
import type { LaneTimes, TimePart } from "../api/explain";
import { isHatched } from "../charts/lanes";
import { formatDuration } from "../format/time";
import { percent, plural } from "../format/units";

export interface Piece {
  key: string;
  name: string;
  share: number;
  // Waiting and evaluation, as in the lanes.
  hatched: boolean;
  // In no phase.
  plain: boolean;
  // As much as fits.
  label: string;
  title: string;
}

const kMostPieces = 12;
const kSmallest = 0.004;
const kRoomForName = 0.11;
const kRoomForShare = 0.045;

function labelOf({ name, share }: Pick<Piece, "name" | "share">): string {
  if (share >= kRoomForName) return `${name} ${percent(share)}`;
  return share >= kRoomForShare ? percent(share) : "";
}

function pieceOf(part: TimePart): Piece {
  const { name, share } = part;
  const hatched =
    part.kind !== null && isHatched({ kind: part.kind, type: part.type ?? "", label: name });
  const often = part.phases > 0 ? `, ${plural(part.phases, "phase")}` : "";
  const title = `${name}: ${percent(share)}, ${formatDuration(part.seconds)}${often}`;
  const key = `${part.part} ${part.kind} ${part.type}`;
  return { key, name, share, hatched, plain: part.part !== "leaf", label: labelOf(part), title };
}

// In the order of the parts; the small ones together are one, the last.
export function piecesOf(parts: readonly TimePart[]): Piece[] {
  const greatest = parts.toSorted((a, b) => b.share - a.share).slice(0, kMostPieces);
  const isShown = (part: TimePart) => part.share >= kSmallest && greatest.includes(part);
  const shown = parts.filter(isShown);
  const rest = parts.filter((part) => !isShown(part));
  const pieces = shown.map(pieceOf);
  if (rest.length === 0) return pieces;
  const share = rest.reduce((sum, part) => sum + part.share, 0);
  const title = rest
    .slice(0, kMostPieces)
    .map((part) => pieceOf(part).title)
    .join("\n");
  const name = plural(rest.length, "other");
  const label = labelOf({ name, share });
  pieces.push({ key: "rest", name, share, hatched: false, plain: true, label, title });
  return pieces;
}

// The parts of one lane, the greatest share first.
export function partsOfLane(lane: LaneTimes): TimePart[] {
  const outside = (part: TimePart["part"], seconds: number) => ({
    part,
    name: part,
    type: null,
    kind: null,
    seconds,
    phases: 0,
  });
  const parts = [
    ...lane.leaves.map((leaf) => ({ ...leaf, part: "leaf" as const })),
    outside("start-up", lane.start_up_s),
    outside("untracked", lane.untracked_s),
    outside("shutdown", lane.shutdown_s),
  ];
  return withShares(parts).sort((a, b) => b.share - a.share);
}

// Those that took time, with the share of each.
export function withShares<T extends { seconds: number }>(
  parts: readonly T[],
): (T & { share: number })[] {
  const total = parts.reduce((sum, { seconds }) => sum + seconds, 0);
  return parts.flatMap((part) =>
    part.seconds > 0 ? [{ ...part, share: part.seconds / total }] : [],
  );
}

// In the order of the first run's parts, so that bars below each other compare.
export function inOrderOf(first: readonly TimePart[], parts: readonly TimePart[]): TimePart[] {
  const place = new Map(first.map(({ name }, i) => [name, i]));
  return parts.toSorted(
    (a, b) => (place.get(a.name) ?? first.length) - (place.get(b.name) ?? first.length),
  );
}
