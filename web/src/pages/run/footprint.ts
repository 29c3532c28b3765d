// The footprint of a run in words, as `corral explain` has them (src/cli/footprint_text.cpp). Pure.
import type {
  Component,
  Cost,
  DeviceUse,
  Efficiency,
  EnergyPart,
  Footprint,
  ProfileValue,
  UnitEnergy,
} from "../../api/footprint";
import { formatNumber, formatValue, kThin, percent, plural } from "../../format/units";

const kLabels: Record<Component, string> = {
  gpu: "GPU",
  cpu: "CPU",
  dram: "DRAM",
  platform: "platform (apart)",
};

export const componentWords = (component: Component) => kLabels[component];
export const methodWords = ({ method }: EnergyPart) =>
  method === "counter" ? "counter" : "power integrated";
const joulesWords = (joules: number) => formatValue(joules, "J");
export const wholeWords = ({ joules }: EnergyPart) => joulesWords(joules);

// The run's part of a sensor's energy.
export function ownWords({ component, joules, split, unsplit }: EnergyPart): string {
  if (component === "platform") return "–";
  if (split !== null) return `${joulesWords(split.joules)} (modelled, by ${split.by})`;
  return unsplit === null ? joulesWords(joules) : `${joulesWords(joules)} (not split: ${unsplit})`;
}

// "not measured: CPU, DRAM (no RAPL counters here)"; empty if all is.
export function missingWords({ missing }: Pick<Footprint, "missing">): string {
  const reasons = new Map<string, string[]>();
  for (const { component, reason } of missing)
    reasons.set(reason, [...(reasons.get(reason) ?? []), kLabels[component]]);
  const texts = [...reasons].map(([reason, of]) => `${of.join(", ")} (${reason})`);
  return texts.length === 0 ? "" : `not measured: ${texts.join("; ")}`;
}

export function unitWords({ unit, count, joules, from, reason }: UnitEnergy): string {
  if (count === null || joules === null)
    return `per ${unit}: not available: ${count === null ? reason : "no energy"}`;
  return `per ${unit}: ${joulesWords(joules)} (${plural(count, unit)}, from ${from})`;
}

function costWords({ total, currency, energy, time, ...prices }: Cost): string {
  const known = (name: string, price: number | null, part: number | null) =>
    price === null
      ? []
      : [part === null ? `${name} not measured` : `${name} ${formatNumber(part, 4)}`];
  const parts = [
    ...known("energy", prices.price_per_kwh, energy),
    ...known("time", prices.price_per_hour, time),
  ];
  return `${formatNumber(total, 4)} ${currency ?? ""} (${parts.join(", ")})`;
}

// Emissions and money, as far as the user gave what they need.
export function priceWords({ pue, kwh, emissions, cost }: Footprint): string[] {
  const words: string[] = [];
  if (emissions !== null) {
    const energy = `${formatNumber(kwh ?? 0, 4)}${kThin}kWh, ${pue === null ? "without a PUE" : `PUE ${pue}`}`;
    const { co2e_g, intensity_g_per_kwh, intensity_source, intensity_year } = emissions;
    const source = `${intensity_source}, ${intensity_year}`;
    words.push(
      `${formatNumber(co2e_g, 4)}${kThin}g CO2e: ${energy}, ` +
        `${intensity_g_per_kwh}${kThin}g/kWh (${source})`,
    );
  }
  if (cost !== null) words.push(costWords(cost));
  return words;
}

function deviceWords({ source, hours, activity, metric, idle_hours }: DeviceUse): string {
  const given = `${source}: ${formatNumber(hours, 3)} device hours`;
  if (activity === null) return `${given}, their use was not recorded`;
  const kind = metric === "host.gpu.busy" ? "utilization (how often, not how much)" : "SM activity";
  const idle = idle_hours === null ? "" : `, ${formatNumber(idle_hours, 3)}${kThin}h idle`;
  return `${given}, ${percent(activity)} ${kind}${idle}`;
}

// As `profile_line` there: what is known of a device's use, then what is not, by reason.
function profileWords(source: string, profile: readonly ProfileValue[]): string {
  const mine = profile.filter((one) => one.source === source);
  const known = mine.flatMap(({ name, value, unit }) =>
    value === null ? [] : [`${name} ${formatValue(value, unit, 3)}`],
  );
  const missing = new Map<string, string[]>();
  for (const { name, value, reason } of mine)
    if (value === null) missing.set(reason ?? "", [...(missing.get(reason ?? "") ?? []), name]);
  const without = [...missing].map(
    ([reason, names]) => `not available: ${names.join(", ")} (${reason})`,
  );
  return `profile of ${source}: ${[...(known.length > 0 ? [known.join(", ")] : []), ...without].join("; ")}`;
}

// The parts that the run used of what it was given; empty: nothing is known.
export function efficiencyWords({ devices, cpus, memory, profile }: Efficiency): string[] {
  const words = devices.map(deviceWords);
  if (cpus.used !== null)
    words.push(
      `CPUs: ${formatNumber(cpus.used, 3)} used of ${cpus.allowed ?? "an unknown number"}`,
    );
  if (memory.peak_bytes !== null) {
    const limit =
      memory.limit_bytes === null ? "an unknown limit" : formatValue(memory.limit_bytes, "B");
    words.push(`memory: peak ${formatValue(memory.peak_bytes, "B")} of ${limit}`);
  }
  // CPUs and memory are above; without a GPU there is no more to say.
  if (profile.length > 0) words.push(...devices.map(({ source }) => profileWords(source, profile)));
  return words;
}
