// Findings about a run, in words. Pure.
import type { Explanation, LaneOfEpochs, OddEpoch } from "../../api/explain";
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

export const evidenceWords = (mean: number, unit: string, points: number) =>
  `${formatValue(mean, unit, 3)} (mean of ${plural(points, "point")})`;
