// How runs end in words, and how each word is coloured. A run's outcome says more than its status where a plan or a
// supervisor recorded one. Pure.

// The classes of base.css that colour a state.
export type Tone = "running" | "finished" | "failed" | "stopped" | "unknown" | "waiting";

const kTones: Record<string, Tone> = {
  waiting: "waiting",
  preparing: "running",
  running: "running",
  finished: "finished",
  failed: "failed",
  killed: "failed",
  "out-of-memory": "failed",
  neighbour: "failed",
  "not-started": "failed",
  limit: "stopped",
  stopped: "stopped",
  interrupted: "stopped",
  skipped: "stopped",
  unknown: "unknown",
};

export const toneOf = (state: string): Tone =>
  Object.hasOwn(kTones, state) ? (kTones[state] as Tone) : "unknown";

const kWords: Record<string, string> = {
  "out-of-memory": "out of memory",
  "not-started": "not started",
};

export const stateWords = (state: string): string =>
  Object.hasOwn(kWords, state) ? (kWords[state] as string) : state;

// What is said of a run: while it runs its status, then how it ended.
export const endOf = (run: { status: string; outcome?: string | null }): string =>
  run.status === "running" ? run.status : (run.outcome ?? run.status);
