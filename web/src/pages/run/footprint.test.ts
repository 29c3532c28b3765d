import { expect, it } from "vitest";
import { ApiError } from "../../api/client";
import type { EnergyPart, Footprint } from "../../api/footprint";
import { kLate } from "../../api/late";
import {
  efficiencyWords,
  methodWords,
  missingWords,
  ownWords,
  priceWords,
  unitWords,
} from "./footprint";

const gpu: EnergyPart = {
  component: "gpu",
  source: "gpu0",
  joules: 300_000,
  method: "counter",
  metric: "host.gpu.energy",
  coverage: 0.998,
  split: null,
  unsplit: null,
};

it("the run's part of a sensor says how it was found", () => {
  expect(ownWords(gpu)).toBe("300\u2009kJ");
  const split = { joules: 225_000, share: 0.75, method: "modelled", by: "SM use" } as const;
  expect(ownWords({ ...gpu, split })).toBe("225\u2009kJ (modelled, by SM use)");
  expect(ownWords({ ...gpu, unsplit: "no idle power" })).toBe(
    "300\u2009kJ (not split: no idle power)",
  );
  expect(ownWords({ ...gpu, component: "platform" })).toBe("–");
  expect(methodWords(gpu)).toBe("counter");
  expect(methodWords({ ...gpu, method: "power" })).toBe("power integrated");
});

it("what was not measured is told by its reason", () => {
  expect(missingWords({ missing: [] })).toBe("");
  const missing = [
    { component: "cpu", reason: "no RAPL" },
    { component: "dram", reason: "no RAPL" },
    { component: "gpu", reason: "no device" },
  ] as const;
  expect(missingWords({ missing: [...missing] })).toBe(
    "not measured: CPU, DRAM (no RAPL); GPU (no device)",
  );
});

it("energy per unit, or why there is none", () => {
  const unit = { unit: "epoch", count: 200, joules: 2050, from: "phases", reason: null };
  expect(unitWords(unit)).toBe("per epoch: 2.05\u2009kJ (200 epochs, from phases)");
  expect(unitWords({ ...unit, count: null, joules: null, from: null, reason: "no epochs" })).toBe(
    "per epoch: not available: no epochs",
  );
  expect(unitWords({ ...unit, joules: null })).toBe("per epoch: not available: no energy");
});

it("emissions and money, only as far as they were given", () => {
  const none = { pue: null, kwh: 0.1367, emissions: null, cost: null } as Footprint;
  expect(priceWords(none)).toEqual([]);
  const emissions = {
    co2e_g: 54.68,
    intensity_g_per_kwh: 400,
    intensity_source: "operator",
    intensity_year: 2024,
  };
  const cost = {
    total: 0.735,
    currency: "EUR",
    energy: null,
    time: 0.694,
    price_per_kwh: 0.3,
    price_per_hour: 2.5,
  };
  expect(priceWords({ ...none, emissions, cost })).toEqual([
    "54.68\u2009g CO2e: 0.1367\u2009kWh, without a PUE, 400\u2009g/kWh (operator, 2024)",
    "0.735 EUR (energy not measured, time 0.694)",
  ]);
  expect(priceWords({ ...none, pue: 1.2, emissions })[0]).toMatch(/kWh, PUE 1.2, /);
  expect(priceWords({ ...none, cost: { ...cost, price_per_kwh: null } })).toEqual([
    "0.735 EUR (time 0.694)",
  ]);
});

it("what was used of what was given; nothing where nothing is known", () => {
  const unknown = {
    devices: [],
    cpus: { allowed: null, used: null },
    memory: { peak_bytes: null, limit_bytes: null },
    profile: [],
  };
  expect(efficiencyWords(unknown)).toEqual([]);
  const device = {
    source: "gpu0",
    hours: 0.2778,
    activity: 0.6,
    metric: "host.gpu.sm.active",
    idle_hours: 0.0694,
  };
  expect(
    efficiencyWords({
      devices: [
        device,
        { ...device, metric: "host.gpu.busy" },
        { ...device, activity: null, idle_hours: null },
      ],
      cpus: { allowed: 8, used: 1.5 },
      memory: { peak_bytes: 6 * 2 ** 30, limit_bytes: null },
      profile: [],
    }),
  ).toEqual([
    "gpu0: 0.278 device hours, 60\u2009% SM activity, 0.0694\u2009h idle",
    "gpu0: 0.278 device hours, 60\u2009% utilization (how often, not how much), 0.0694\u2009h idle",
    "gpu0: 0.278 device hours, their use was not recorded",
    "CPUs: 1.5 used of 8",
    "memory: peak 6\u2009GiB of an unknown limit",
  ]);
});

it("a profile has what is known of each device, and why the rest is not", () => {
  const value = { source: "gpu0", value: null, unit: "share", reason: "no DCGM" };
  const { devices, ...rest } = {
    devices: ["gpu0", "gpu1"].map((source) => ({
      source,
      hours: 1,
      activity: null,
      metric: null,
      idle_hours: null,
    })),
    cpus: { allowed: null, used: null },
    memory: { peak_bytes: null, limit_bytes: null },
  };
  const profile = [
    { ...value, name: "sm_active", value: 0.8, reason: null },
    { ...value, name: "gpu_memory_peak", value: 2 ** 32, unit: "B", reason: null },
    { ...value, name: "sm_occupancy" },
    { ...value, name: "dram_active" },
    { ...value, name: "sm_active", source: "gpu1" },
  ];
  expect(efficiencyWords({ devices, ...rest, profile }).slice(2)).toEqual([
    "profile of gpu0: sm_active 80\u2009%, gpu_memory_peak 4\u2009GiB; " +
      "not available: sm_occupancy, dram_active (no DCGM)",
    "profile of gpu1: not available: sm_active (no DCGM)",
  ]);
});

it("a busy server is asked again, ever more rarely; other errors are told at once", () => {
  const busy = new ApiError("busy", 503, "");
  expect([0, 11, 12].map((count) => kLate.retry(count, busy))).toEqual([true, true, false]);
  expect(kLate.retry(0, new ApiError("gone", 404, ""))).toBe(false);
  expect([0, 1, 2, 9].map(kLate.retryDelay)).toEqual([2000, 4000, 8000, 30_000]);
});
