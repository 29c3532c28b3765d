// The runs whose device, CPUs or host is known. Pure.
import type { ShownRun } from "./model";

const kTags = ["corral.devices", "corral.cpus", "corral.plan"];

export const hasPlace = (run: Pick<ShownRun, "tags">): boolean =>
  kTags.some((tag) => {
    const value = run.tags[tag];
    return value !== undefined && value !== "" && value !== "[]";
  });
