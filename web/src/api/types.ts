// The server's JSON, as docs/api.md writes it. Times are decimal strings of nanoseconds, UTC.

export type Status = "running" | "finished" | "failed" | "stopped" | "unknown";
// Archived runs are left out of lists and stay; those in the trash are removed after 30 days.
export type RunState = "active" | "archived" | "trashed";
// Non-finite values travel as the strings "NaN", "Infinity", "-Infinity".
export type Num = number | string | null;

export interface Experiment {
  id: string;
  name: string;
  created_ns: string;
  runs: number;
  running: number;
}

export interface Workload {
  id: string;
  name: string | null;
  experiment_id: string;
  created_ns: string;
  runs: string[];
}

export interface Run {
  id: string;
  name: string;
  experiment_id: string;
  experiment: string;
  workload_id: string;
  workload: string | null;
  status: Status;
  // The outcome in words, if the supervisor reported one: "out-of-memory".
  outcome?: string | null;
  start_ns: string;
  end_ns: string | null;
  duration_s: number | null;
  exit_code: number | null;
  exit_signal: number | null;
  host: string;
  // The user who recorded it, where the store has users.
  creator?: string | null;
  // Absent from servers of earlier versions, and so is the time of its move to the trash.
  state?: RunState;
  trashed_ns?: string | null;
  // null when no supervisor recorded the run: a client logged it, or it was imported.
  command: string[] | null;
  loss: { metric: string; value: Num; step: number | string | null } | null;
}

export interface RunPage {
  runs: Run[];
  next: string | null;
  total: number;
}

export type Plain = string | number | boolean | null;

// One of the processes of a job that recorded a run together.
export interface RunMember {
  member: number;
  attempt: number;
  rank: number | null;
  host: string;
  status: Status;
  outcome: string | null;
  reason: string | null;
  start_ns: string;
  end_ns: string | null;
  exit_code: number | null;
  exit_signal: number | null;
}

export interface RunDetail extends Run {
  params: Record<string, Plain>;
  tags: Record<string, Plain>;
  info: Record<string, Plain>;
  end_reason: string | null;
  unavailable: { source: string; reason: string }[];
  drops: { points: number; frames: number; ticks: number };
  neighbours: { id: string; name: string }[];
  workload_start_ns: string;
  // Parts of its health that are a problem; absent from servers of earlier versions.
  health_problems?: number;
  // Absent from servers of earlier versions.
  has_phases?: boolean;
  // When a run in the trash is removed for good.
  removal_ns?: string | null;
  // The newest attempt first, then by rank; empty for a run of one process. Absent from servers of earlier versions.
  members?: RunMember[];
}

export interface Metric {
  series: number;
  name: string;
  source: string;
  owner: "run" | "workload" | "host";
  host?: string; // name of the host, for a host's series
  unit: string;
  rate_unit: string | null;
  kind: "gauge" | "counter";
  aggregation: string;
  group: string;
  description: string;
  points: number;
  // null where nothing was measured.
  first_ns: string | null;
  last_ns: string | null;
  // null where no point has a step.
  first_step: string | null;
  last_step: string | null;
  last: Num;
  min: Num;
  max: Num;
  mean: Num;
  nan: number;
}

export interface Phase {
  id: string;
  parent: string | null;
  name: string;
  type: string;
  kind: "compute" | "wait" | "io" | "comm" | "control";
  lane: string;
  start_ns: string;
  end_ns: string | null;
  attributes: Record<string, Plain>;
}

export interface LogChunk {
  stream: string;
  offset: string;
  time_ns: string;
  text: string;
}

export interface LogPage {
  chunks: LogChunk[];
  next: string | null;
  end: Record<string, string>;
  gaps: { stream: string; from: string; to: string }[];
}

// Returns null for values that are missing or not finite.
export function finite(value: Num | undefined): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

export type Statistic = "last" | "mean" | "min" | "max";

// Summaries of metrics by run: the asked statistics of each, null: the run has none.
export interface RunSummaries {
  summaries: {
    run: string;
    values: Record<
      string,
      ({ unit: string; rate: boolean; shared: boolean } & Partial<Record<Statistic, Num>>) | null
    >;
  }[];
}
