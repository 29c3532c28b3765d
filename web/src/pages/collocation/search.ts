// The address of a collocation: a plan, a workload or an experiment, and what tells its jobs apart. Pure.
import { kRunGroups, type RunGroupKind } from "../../api/collocation";
import { defined, type Raw, word } from "../../app/search";

export type CollocationSearch = { [kind in RunGroupKind]?: string } & {
  // A field such as params.model; absent: the command.
  job?: string;
};

export function collocationSearch(raw: Raw): CollocationSearch {
  const kind = kRunGroups.find((one) => word(raw[one]));
  const job = word(raw.job)?.trim() || undefined;
  return defined({ ...(kind ? { [kind]: word(raw[kind]) } : {}), job }) as CollocationSearch;
}
