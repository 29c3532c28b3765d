// Follows the server's event stream. `runs`, `data` and `plans` events mark shown data as out of date; the page then
// asks again. Data of one run is asked for at most once a second, the phases of a long run and the document of a long
// plan less often the more there are.
import type { Query, QueryClient, QueryKey } from "@tanstack/react-query";
import { create } from "zustand";
import { ApiError, getJson, kStreamUrl } from "./client";
import { type Explanation, restOfExplanation } from "./explain";

export interface LiveState {
  state: "connecting" | "live" | "offline";
  // Since when, milliseconds.
  since: number;
  // Grows when new data of a run has arrived.
  revisions: Readonly<Record<string, number>>;
}

export const useLive = create<LiveState>(() => ({
  state: "connecting",
  since: Date.now(),
  revisions: {},
}));

// Lists that change only when a run is added, removed or changes its status.
const kLists = [
  "runs",
  "experiments",
  "workloads",
  "workload-runs",
  "run-facets",
  "run-tree",
  "sharing",
];
// Answers about groups of runs, which take the server long.
const kGroups = ["/compare", "/history", "collocation", "workflow"];
const kRestOfGroups = 10_000;
const kExplain = "explain";
const kRare = ["interest", "footprint"];
// Parts of a run that change with its data; those that take the server long have a rest of their own.
const kSlow = [kExplain, ...kRare];
const kOfRun = ["metrics", "phases", "epochs", "events", "health", "notes", "media", ...kSlow];
const kThrottle = 1000;
const kListThrottle = 2000;
const kRetry = 3000;
const kLongestRetry = 12_000; // while the server answers, but gives no stream
const kMsPerPhase = 0.5;
const kMsPerSeries = 15; // in a list of metrics; nearly all change
const kMsPerRun = 0.3; // in a plan
const kMsPerMedium = 1;
const kLongestRest = 30_000;
const kRestOfRare = 60_000;

// Answers that may be long: the longer, the less often they are asked for.
interface Sized {
  phases?: unknown[];
  runs?: unknown[];
  metrics?: unknown[];
  media?: { steps: unknown[] }[];
}

// Returns the milliseconds until a query may be sent again; 0 means now. The request in progress may finish; data that
// arrived meanwhile need another.
export function restOf(query: Pick<Query, "state" | "queryKey">, now: number): number {
  const { fetchStatus, dataUpdatedAt, errorUpdatedAt, data, error } = query.state;
  if (fetchStatus === "fetching") return kThrottle;
  if (query.queryKey[0] === kExplain) {
    const last = Math.max(dataUpdatedAt, errorUpdatedAt);
    return Math.max(0, last + restOfExplanation(data as Explanation | undefined, error) - now);
  }
  if (kRare.includes(query.queryKey[0] as string))
    return Math.max(0, Math.max(dataUpdatedAt, errorUpdatedAt) + kRestOfRare - now);
  if (kGroups.includes(query.queryKey[0] as string))
    return Math.max(0, Math.max(dataUpdatedAt, errorUpdatedAt) + kRestOfGroups - now);
  const { phases, runs, metrics, media } = (data ?? {}) as Sized;
  const rest =
    (phases?.length ?? 0) * kMsPerPhase +
    (runs?.length ?? 0) * kMsPerRun +
    (metrics?.length ?? 0) * kMsPerSeries +
    (media ?? []).reduce((count, { steps }) => count + steps.length, 0) * kMsPerMedium;
  return Math.max(0, dataUpdatedAt + Math.min(kLongestRest, rest) - now);
}

type Timer = ReturnType<typeof setTimeout>;

// Marks answers as out of date, each when its rest is over; those of one run at most once a second.
class Refresher {
  private readonly waiting = new Map<string, Timer>();
  private readonly changed = new Set<string>(); // runs with new data since the last flush
  private flush: Timer | undefined;
  private lastFlush = 0;
  private lastList = 0;
  constructor(private readonly client: QueryClient) {}

  refreshRuns(ids: readonly string[]): void {
    for (const id of ids) this.changed.add(id);
    const rest = Math.max(0, kThrottle - (Date.now() - this.lastFlush));
    this.flush ??= setTimeout(() => this.flushRuns(), rest);
  }

  private flushRuns(): void {
    this.flush = undefined;
    this.lastFlush = Date.now();
    const revisions = { ...useLive.getState().revisions };
    for (const id of this.changed) {
      revisions[id] = (revisions[id] ?? 0) + 1;
      for (const what of kOfRun) this.refresh([what, id]);
      void this.client.invalidateQueries({ predicate: (query) => isRun(query, id) });
    }
    this.changed.clear();
    useLive.setState({ revisions });
    if (this.lastFlush - this.lastList >= kListThrottle) {
      this.lastList = this.lastFlush;
      void this.client.invalidateQueries({ queryKey: ["runs"] });
    }
  }

  refresh(queryKey: QueryKey): void {
    const query = this.client.getQueryCache().find({ queryKey });
    if (query === undefined || this.waiting.has(query.queryHash)) return;
    const rest = restOf(query, Date.now());
    if (rest === 0) {
      void this.client.invalidateQueries({ queryKey, exact: true });
      return;
    }
    const again = () => {
      this.waiting.delete(query.queryHash);
      this.refresh(queryKey);
    };
    this.waiting.set(query.queryHash, setTimeout(again, rest));
  }

  // Marks all that the page shows as out of date.
  refreshAll(): void {
    const isSlow = ({ queryKey }: Query) => kSlow.includes(queryKey[0] as string);
    void this.client.invalidateQueries({ predicate: (query) => !isSlow(query) });
    for (const { queryKey } of this.client.getQueryCache().findAll({ predicate: isSlow }))
      this.refresh(queryKey);
  }

  stop(): void {
    for (const timer of this.waiting.values()) clearTimeout(timer);
    clearTimeout(this.flush);
  }
}

async function serverAnswers(): Promise<boolean> {
  try {
    await getJson("/version", {}, AbortSignal.timeout(kRetry));
    return true;
  } catch (error) {
    return error instanceof ApiError && error.status === 401;
  }
}

function setState(state: LiveState["state"]): void {
  if (useLive.getState().state !== state) useLive.setState({ state, since: Date.now() });
}

export function startLive(client: QueryClient): () => void {
  let source: EventSource | null = null;
  let retry: Timer | undefined;
  let stopped = false;
  let lostOnce = false;
  let refusals = 0;
  const refresher = new Refresher(client);

  const onData = (event: MessageEvent<string>) => refresher.refreshRuns(idsOf(event.data));
  const onRuns = (event: MessageEvent<string>) => {
    for (const what of kLists) {
      void client.invalidateQueries({ queryKey: [what] });
    }
    for (const what of kGroups)
      for (const { queryKey } of client.getQueryCache().findAll({ queryKey: [what] }))
        refresher.refresh(queryKey);
    onData(event);
  };
  const onPlans = (event: MessageEvent<string>) => {
    void client.invalidateQueries({ queryKey: ["plans"] });
    for (const id of idsOf(event.data, "plans")) refresher.refresh(["plan", id]);
  };
  const open = () => {
    source = new EventSource(kStreamUrl);
    source.onopen = () => {
      setState("live");
      // Events of the time without a stream are lost; everything shown may be old.
      if (lostOnce) refresher.refreshAll();
      lostOnce = false;
      refusals = 0;
    };
    source.onerror = async () => {
      lostOnce = true;
      source?.close();
      const answers = await serverAnswers();
      if (stopped) return;
      setState(answers ? "live" : "offline");
      refusals = answers ? refusals + 1 : 0;
      // Other pages have all the streams that a server gives: this one asks now and then. The first
      // time it may be a server that is about to leave.
      if (refusals > 1) refresher.refreshAll();
      retry = setTimeout(open, Math.min(kLongestRetry, kRetry * Math.max(1, refusals)));
    };
    source.addEventListener("data", onData);
    source.addEventListener("runs", onRuns);
    source.addEventListener("plans", onPlans);
  };
  open();
  return () => {
    stopped = true;
    refresher.stop();
    source?.close();
    clearTimeout(retry);
  };
}

// A run's page may be open under a name or a prefix of the id.
function isRun(query: Query, id: string): boolean {
  const [what, key] = query.queryKey;
  return (
    what === "run" && (key === id || (query.state.data as { id?: string } | undefined)?.id === id)
  );
}

function idsOf(text: string, list = "runs"): string[] {
  try {
    const ids = (JSON.parse(text) as Record<string, unknown>)[list];
    return Array.isArray(ids) ? ids.filter((id) => typeof id === "string") : [];
  } catch {
    return [];
  }
}
