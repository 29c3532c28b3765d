// The outcomes of runs in words, and the colour of each. A run's outcome says more than its status where a plan or a
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
  preempted: "stopped",
  cancelled: "stopped",
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

// The state of a run in words: its status while it runs, then its outcome.
export const endOf = (run: { status: string; outcome?: string | null }): string =>
  run.status === "running" ? run.status : (run.outcome ?? run.status);

const kEnds: Record<string, string> = {
  waiting: "has not begun yet",
  preparing: "its environment is being created",
  running: "has not ended yet",
  finished: "finished with exit status 0",
  failed: "finished with a nonzero exit status",
  killed: "killed by a signal that Corral did not send",
  "out-of-memory": "ran out of memory, of the host or a device",
  neighbour: "killed by the MPS server after a fault of another run on the device",
  "not-started": "could not start: its command, environment or device is not available",
  limit: "stopped at a limit that the user set, or at its job's time limit",
  stopped: "stopped by its workload's end rule",
  interrupted: "stopped by Ctrl-C or SIGTERM",
  preempted: "its job gave its nodes to another one, or starts again",
  cancelled: "its job was cancelled",
  unknown: "ended without a supervisor: exit status unknown",
};
// The words of a run's status, which covers several outcomes.
const kStatuses: Record<string, string> = {
  finished: "finished with exit status 0, or reported as finished by a client",
  failed:
    "finished with a nonzero exit status, was killed or could not start, or reported as failed by a client",
  stopped:
    "stopped by Ctrl-C or SIGTERM (interrupted), at a limit that the user set (limit), by its workload's end rule (stopped), with its job (preempted, cancelled), or reported as KILLED by a client",
};

const titleOf = (state: string, meaning: string | undefined) =>
  meaning === undefined ? stateWords(state) : `${stateWords(state)}: ${meaning}`;
const own = (table: Record<string, string>, key: string) =>
  Object.hasOwn(table, key) ? table[key] : undefined;

// The word and its meaning: of an outcome or a state of a plan, and of a status.
export const stateTitle = (state: string): string => titleOf(state, own(kEnds, state));
export const statusTitle = (status: string): string =>
  titleOf(status, own(kStatuses, status) ?? own(kEnds, status));

// The name of a run's outcome, with its meaning.
export const endTitle = (run: { status: string; outcome?: string | null }): string =>
  run.outcome == null || run.status === "running"
    ? statusTitle(run.status)
    : stateTitle(run.outcome);
