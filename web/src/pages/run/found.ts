// Findings about a run, in words. Pure.
import type {
  DeviceTime,
  Explanation,
  Finding,
  LaneOfEpochs,
  OddEpoch,
  Prediction,
  TimePart,
} from "../../api/explain";
import type { MarkedNote } from "../../api/notes";
import { withShares } from "../../board/timeBar";
import { formatDuration } from "../../format/time";
import { formatCount, formatValue, plural } from "../../format/units";

// "Steady after 12 steps: 320 steps of 9.4 ms ± 400 µs."; empty without both steps and epochs.
export function steadyWords({ steady }: Explanation): string {
  if (steady.steps === 0) return "";
  const spread = steady.steps > 1 ? ` ± ${formatDuration(steady.deviation_s)}` : "";
  const steps = `${plural(steady.steps, steady.unit)} of ${formatDuration(steady.mean_s)}${spread}`;
  if (!steady.is_steady) return `Not steady: ${steady.reason ?? "no reason is known"}; ${steps}.`;
  const after = steady.left_out > 0 ? ` after ${plural(steady.left_out, steady.unit)}` : "";
  return `Steady${after}: ${steps}.`;
}

// "193 of 200 epochs are alike."; empty if too few of them are compared.
export function alikeWords({ regimes }: LaneOfEpochs, lane = ""): string {
  const compared = regimes.filter((regime) => regime.compared);
  const sum = (of: "alike" | "epochs") => compared.reduce((all, one) => all + one[of], 0);
  if (sum("epochs") === 0) return "";
  const within = compared.length > 1 ? ` within ${plural(compared.length, "regime")}` : "";
  const of = lane === "" ? "" : ` of ${lane}`;
  const epochs = plural(sum("epochs"), "epoch");
  return `${formatCount(sum("alike"))} of ${epochs}${of} are alike${within}.`;
}

// "5 s of data wait, usually 2 s"
export function oddWords({ seconds, usual_s, leaf }: OddEpoch): string {
  const of = leaf === null ? "" : ` of ${leaf}`;
  return `${formatDuration(seconds)}${of}, usually ${formatDuration(usual_s)}`;
}

// The lane of which epochs are told in one line: the one with the greatest difference.
export function toldLane(epochs: readonly LaneOfEpochs[]): LaneOfEpochs | null {
  const most = ({ odd }: LaneOfEpochs) =>
    odd[0] === undefined ? -1 : Math.abs(odd[0].seconds - odd[0].usual_s);
  return epochs.reduce<LaneOfEpochs | null>(
    (best, lane) => (best === null || most(lane) > most(best) ? lane : best),
    null,
  );
}

export interface Apart {
  shown: Finding[];
  dismissed: Finding[];
}

// Kept findings come first; dismissed ones stand apart.
export function apart(findings: readonly Finding[], marks: ReadonlyMap<string, MarkedNote>): Apart {
  const marked = (finding: Finding) => marks.get(finding.id)?.mark;
  const shown = findings.filter((one) => marked(one) !== "dismissed");
  const isKept = (one: Finding) => marked(one) === "kept";
  return {
    shown: [...shown.filter(isKept), ...shown.filter((one) => !isKept(one))],
    dismissed: findings.filter((one) => marked(one) === "dismissed"),
  };
}

// Without those that were dismissed.
export function oddOf(lane: LaneOfEpochs, { dismissed }: Apart): OddEpoch[] {
  const gone = dismissed.filter((one) => one.kind === "odd epoch" && one.lane === lane.lane);
  return lane.odd.filter(({ from_ns }) => gone.every((one) => one.from_ns !== from_ns));
}

// The verdicts in one line: all findings but the odd epochs, which have a line of their own.
export function verdictWords({ shown, dismissed }: Apart, summary: string): string {
  const verdicts = shown.filter(({ kind }) => kind !== "odd epoch").map(({ text }) => text);
  if (verdicts.length > 0) return verdicts.join(" ");
  const others = dismissed.filter(({ kind }) => kind !== "odd epoch").length;
  return others > 0 ? `${plural(others, "verdict")} dismissed: see the details.` : summary;
}

export const evidenceWords = (mean: number, unit: string, points: number) =>
  `${formatValue(mean, unit, 3)} (mean of ${plural(points, "point")})`;

export interface WhatIfRow {
  name: string;
  // Parts of the length that was observed, 0 to 1; equal where there is no range. null: not known.
  bounds: { lower: number; upper: number } | null;
  words: string;
}

function boundsWords({ lower_s, upper_s, reason }: Prediction): string {
  if (lower_s === null || upper_s === null) return `not available: ${reason ?? "no reason known"}`;
  const [lower, upper] = [formatDuration(lower_s), formatDuration(upper_s)];
  const range = lower === upper ? upper : `${lower} to ${upper}`;
  return reason === null ? range : `${range} (${reason})`;
}

function predicted(name: string, made: Prediction): WhatIfRow {
  const inside = (ratio: number) => Math.max(0, Math.min(1, ratio));
  const { lower_ratio: lower, upper_ratio: upper } = made;
  const bounds =
    lower === null || upper === null ? null : { lower: inside(lower), upper: inside(upper) };
  return { name, bounds, words: boundsWords(made) };
}

// The length of a step as measured, and the modelled ones. Empty without any bounds; ranks are compared where several
// train.
export function whatIfRows({ what_if, lanes }: Pick<Explanation, "what_if" | "lanes">) {
  if (what_if === null) return [];
  const rows = [predicted("without waits", what_if.without_waits)];
  if (lanes.filter(({ trains }) => trains).length > 1)
    rows.push(predicted("with balanced ranks", what_if.balanced_ranks));
  if (rows.every(({ bounds }) => bounds === null)) return [];
  const now = { name: "now", bounds: { lower: 1, upper: 1 } };
  return [{ ...now, words: formatDuration(what_if.step_s) }, ...rows];
}

// The time of a device as a bar: busy, then why it was idle.
export function deviceParts({ busy_s, idle }: DeviceTime): TimePart[] {
  const parts = [
    { part: "leaf", name: "busy", kind: "compute", seconds: busy_s },
    { part: "leaf", name: "idle: host", kind: "wait", seconds: idle.host_wait_s },
    { part: "untracked", name: "idle: between kernels", kind: null, seconds: idle.kernel_wait_s },
    { part: "untracked", name: "idle: other", kind: null, seconds: idle.other_s },
    { part: "untracked", name: "idle: unknown", kind: null, seconds: idle.unknown_s },
  ] as const;
  return withShares(parts).map((part) => ({ ...part, type: part.name, phases: 0 }));
}

// Kinds that ran side by side add up to more than the device was busy.
export function busyWords(device: DeviceTime): string {
  const kinds = [
    [device.compute_s, "of computation"],
    [device.communication_s, "of communication"],
    [device.memory_s, "of copies"],
  ] as const;
  const words = kinds.flatMap(([seconds, what]) =>
    seconds > 0 ? [`${formatDuration(seconds)} ${what}`] : [],
  );
  if (device.overlap_s > 0)
    words.push(
      `computation and communication side by side for ${formatDuration(device.overlap_s)}`,
    );
  return words.length === 0 ? "" : `Busy with ${words.join(", ")}.`;
}
