// The address of an experiment's overview: its metric, the summary of it, and the meaning of the rows. Pure.
export const kSummaries = ["last", "mean", "min", "max"] as const;
export type Summary = (typeof kSummaries)[number];

export interface ExperimentSearch {
  metric?: string;
  of?: Summary;
  // Rows by model instead of by workload.
  rows?: "model";
}

export function experimentSearch(raw: Record<string, unknown>): ExperimentSearch {
  const of = kSummaries.find((one) => one === raw.of);
  return {
    ...(raw.metric !== undefined && raw.metric !== "" ? { metric: String(raw.metric) } : {}),
    ...(of && of !== "last" ? { of } : {}),
    ...(raw.rows === "model" ? { rows: "model" as const } : {}),
  };
}
