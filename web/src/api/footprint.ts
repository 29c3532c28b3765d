// The energy of a run, and how much it used of what it was given (docs/analysis.md). Asked for where it is shown.
import { useQuery } from "@tanstack/react-query";
import { getJson } from "./client";
import type { TimeWindow } from "./explain";
import { isBusy, kLate } from "./late";

export type Component = "gpu" | "cpu" | "dram" | "platform";

// A sensor. `joules` are the whole sensor's; the run's part is that of `split`, if there is one.
export interface EnergyPart {
  component: Component;
  source: string;
  joules: number;
  method: "counter" | "power";
  metric: string;
  coverage: number;
  split: { joules: number; share: number; method: "modelled"; by: string } | null;
  // Why it is not split, where something for it is missing.
  unsplit: string | null;
}

export interface UnitEnergy {
  unit: string;
  // null for a reason.
  count: number | null;
  joules: number | null;
  from: string | null;
  reason: string | null;
}

export interface Emissions {
  co2e_g: number;
  intensity_g_per_kwh: number;
  intensity_source: string | null;
  intensity_year: number | null;
}

export interface Cost {
  total: number;
  currency: string | null;
  energy: number | null;
  time: number | null;
  price_per_kwh: number | null;
  price_per_hour: number | null;
}

export interface DeviceUse {
  source: string;
  hours: number;
  activity: number | null;
  metric: string | null;
  idle_hours: number | null;
}

export interface Efficiency {
  devices: DeviceUse[];
  cpus: { allowed: number | null; used: number | null };
  memory: { peak_bytes: number | null; limit_bytes: number | null };
  // The profile card, by device (`source`).
  profile: ProfileValue[];
}

export interface ProfileValue {
  name: string;
  source: string | null;
  // null for a reason.
  value: number | null;
  unit: string;
  reason: string | null;
}

export interface Footprint extends TimeWindow {
  provisional: boolean;
  summary: string;
  warnings: string[];
  // null: nothing was measured.
  joules: number | null;
  modelled: boolean;
  parts: EnergyPart[];
  missing: { component: Component; reason: string }[];
  units: UnitEnergy[];
  pue: number | null;
  kwh: number | null;
  emissions: Emissions | null;
  cost: Cost | null;
  efficiency: Efficiency;
}

// live.ts asks again when there are new data.
export function useFootprint(id: string) {
  const { data, error, isFetching, failureReason } = useQuery({
    queryKey: ["footprint", id],
    queryFn: ({ signal }) => getJson<Footprint>(`/runs/${id}/footprint`, {}, signal),
    ...kLate,
  });
  return { data, error, busy: isFetching && isBusy(failureReason) };
}
