// Follows the server's event stream. `runs` and `data` events mark what the page shows as out of date; the
// page then asks again. Data of one run is asked for at most once a second.
import type { Query, QueryClient } from "@tanstack/react-query";
import { create } from "zustand";
import { kStreamUrl } from "./client";

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

const kThrottle = 1000;
const kListThrottle = 2000;
const kRetry = 3000;

function setState(state: LiveState["state"]): void {
  if (useLive.getState().state !== state) useLive.setState({ state, since: Date.now() });
}

export function startLive(client: QueryClient): () => void {
  let source: EventSource | null = null;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let flush: ReturnType<typeof setTimeout> | undefined;
  let stopped = false;
  let lostOnce = false;
  let lastFlush = 0;
  let lastList = 0;
  const fresh = new Set<string>();

  const flushData = () => {
    flush = undefined;
    lastFlush = Date.now();
    const revisions = { ...useLive.getState().revisions };
    for (const id of fresh) {
      revisions[id] = (revisions[id] ?? 0) + 1;
      for (const what of ["metrics", "phases"]) {
        void client.invalidateQueries({ queryKey: [what, id] });
      }
      void client.invalidateQueries({ predicate: (query) => isRun(query, id) });
    }
    fresh.clear();
    useLive.setState({ revisions });
    if (lastFlush - lastList >= kListThrottle) {
      lastList = lastFlush;
      void client.invalidateQueries({ queryKey: ["runs"] });
    }
  };
  const onData = (event: MessageEvent<string>) => {
    for (const id of idsOf(event.data)) fresh.add(id);
    flush ??= setTimeout(flushData, Math.max(0, kThrottle - (Date.now() - lastFlush)));
  };
  const onRuns = (event: MessageEvent<string>) => {
    for (const what of ["runs", "experiments", "workloads", "workload-runs"]) {
      void client.invalidateQueries({ queryKey: [what] });
    }
    onData(event);
  };
  const open = () => {
    source = new EventSource(kStreamUrl);
    source.onopen = () => {
      setState("live");
      // Events of the time without a stream are lost; everything shown may be old.
      if (lostOnce) void client.invalidateQueries();
      lostOnce = false;
    };
    source.onerror = () => {
      lostOnce = true;
      setState("offline");
      source?.close();
      if (!stopped) retry = setTimeout(open, kRetry);
    };
    source.addEventListener("data", onData);
    source.addEventListener("runs", onRuns);
  };
  open();
  return () => {
    stopped = true;
    source?.close();
    clearTimeout(retry);
    clearTimeout(flush);
  };
}

// A run's page may be open under a name or a prefix of the id.
function isRun(query: Query, id: string): boolean {
  const [what, key] = query.queryKey;
  return (
    what === "run" && (key === id || (query.state.data as { id?: string } | undefined)?.id === id)
  );
}

function idsOf(text: string): string[] {
  try {
    const { runs } = JSON.parse(text) as { runs?: unknown };
    return Array.isArray(runs) ? runs.filter((id) => typeof id === "string") : [];
  } catch {
    return [];
  }
}
