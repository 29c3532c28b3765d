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
  preparing: "its environment is being made",
  running: "has not ended yet",
  finished: "ended by itself, with exit status 0",
  failed: "ended with another exit status",
  killed: "ended by a signal that was not Corral's",
  "out-of-memory": "ended for lack of memory, the machine's or a device's",
  neighbour: "the MPS server ended it, because another run on the device faulted",
  "not-started": "its command, environment or place could not be had",
  limit: "ended at a limit the user set",
  stopped: "ended by its workload's end rule",
  interrupted: "ended by Ctrl-C or SIGTERM",
  unknown: "ended, but nobody was there to see how: exit status unknown",
};
// The words of a run's status, which covers several outcomes.
const kStatuses: Record<string, string> = {
  finished: "ended by itself, with exit status 0; or a client said so",
  failed:
    "ended with another exit status or by a signal, or could not be started; or a client said so",
  stopped:
    "was told to end: by Ctrl-C or SIGTERM (interrupted), at a limit the user set (limit), by its workload's end rule (stopped), or as KILLED by a client",
};

const titleOf = (state: string, meaning: string | undefined) =>
  meaning === undefined ? stateWords(state) : `${stateWords(state)}: ${meaning}`;
const own = (table: Record<string, string>, key: string) =>
  Object.hasOwn(table, key) ? table[key] : undefined;

// The word and what it says: of an outcome or a state of a plan, and of a status.
export const stateTitle = (state: string): string => titleOf(state, own(kEnds, state));
export const statusTitle = (status: string): string =>
  titleOf(status, own(kStatuses, status) ?? own(kEnds, status));

// The name of a run's outcome, with its meaning.
export const endTitle = (run: { status: string; outcome?: string | null }): string =>
  run.outcome == null || run.status === "running"
    ? statusTitle(run.status)
    : stateTitle(run.outcome);
