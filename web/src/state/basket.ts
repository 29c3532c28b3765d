// The basket: runs and whole workloads chosen for comparison, across experiments. It survives navigation and
// reload, and is the same in all tabs (localStorage and its event). Clearing can be undone until something else
// is chosen.
import { create } from "zustand";
import { followKept, keep, readKept } from "./kept";

// The known data of a run in the basket.
export interface BasketRun {
  id: string;
  name: string;
  experiment_id: string;
  experiment: string;
  workload_id: string;
  workload: string | null;
}

export interface Basket {
  experiments: Readonly<Record<string, { name: string }>>;
  // `whole`: the workload itself was chosen, so that a board shows also the runs it gets later.
  workloads: Readonly<Record<string, { name: string | null; experiment: string; whole: boolean }>>;
  runs: Readonly<Record<string, { name: string; workload: string }>>;
}

export const kEmpty: Basket = { experiments: {}, workloads: {}, runs: {} };

// Leaves out workloads and experiments without runs.
function tidy({ experiments, workloads, runs }: Basket): Basket {
  const used = new Set(Object.values(runs).map((run) => run.workload));
  const kept = Object.entries(workloads).filter(([id]) => used.has(id));
  const homes = new Set(kept.map(([, workload]) => workload.experiment));
  return {
    experiments: Object.fromEntries(Object.entries(experiments).filter(([id]) => homes.has(id))),
    workloads: Object.fromEntries(kept),
    runs,
  };
}

export function withRuns(basket: Basket, added: readonly BasketRun[]): Basket {
  const experiments = { ...basket.experiments };
  const workloads = { ...basket.workloads };
  const runs = { ...basket.runs };
  for (const run of added) {
    experiments[run.experiment_id] = { name: run.experiment };
    workloads[run.workload_id] = {
      name: run.workload,
      experiment: run.experiment_id,
      whole: workloads[run.workload_id]?.whole ?? false,
    };
    runs[run.id] = { name: run.name, workload: run.workload_id };
  }
  return { experiments, workloads, runs };
}

// A workload that loses a run is no longer whole; its other runs stay.
export function withoutRuns(basket: Basket, ids: Iterable<string>): Basket {
  const runs = { ...basket.runs };
  const workloads = { ...basket.workloads };
  for (const id of ids) {
    const run = runs[id];
    if (run === undefined) continue;
    delete runs[id];
    const workload = workloads[run.workload];
    if (workload) workloads[run.workload] = { ...workload, whole: false };
  }
  return tidy({ ...basket, workloads, runs });
}

// All runs of one workload; those missing are added.
export function withWorkload(basket: Basket, all: readonly BasketRun[]): Basket {
  const next = withRuns(basket, all);
  const id = all[0]?.workload_id;
  const workload = id === undefined ? undefined : next.workloads[id];
  if (id === undefined || workload === undefined || workload.name === null) return next;
  return { ...next, workloads: { ...next.workloads, [id]: { ...workload, whole: true } } };
}

export const runsOf = (basket: Basket, workload: string): string[] =>
  Object.keys(basket.runs).filter((id) => basket.runs[id]?.workload === workload);

export const countOf = (basket: Basket): number => Object.keys(basket.runs).length;

export interface BasketGroup {
  id: string;
  name: string;
  count: number;
  workloads: {
    id: string;
    name: string | null;
    whole: boolean;
    runs: { id: string; name: string }[];
  }[];
}

// Experiment > workload > run, each in the order in which it was put in.
export function grouped(basket: Basket): BasketGroup[] {
  const byWorkload = new Map<string, { id: string; name: string }[]>();
  for (const [id, { name, workload }] of Object.entries(basket.runs)) {
    const list = byWorkload.get(workload) ?? [];
    list.push({ id, name });
    byWorkload.set(workload, list);
  }
  const groups = new Map<string, BasketGroup>();
  for (const [id, runs] of byWorkload) {
    const workload = basket.workloads[id];
    if (workload === undefined) continue;
    const { experiment, name, whole } = workload;
    const known = basket.experiments[experiment]?.name ?? experiment;
    const group = groups.get(experiment) ?? {
      id: experiment,
      name: known,
      count: 0,
      workloads: [],
    };
    group.count += runs.length;
    group.workloads.push({ id, name, whole, runs });
    groups.set(experiment, group);
  }
  return [...groups.values()];
}

// The board's part of the address: whole workloads by their id, the others run by run.
export function boardOf(basket: Basket): { workload?: string[]; run?: string[] } {
  const workload = Object.keys(basket.workloads).filter((id) => basket.workloads[id]?.whole);
  const whole = new Set(workload);
  const run = Object.keys(basket.runs).filter((id) => !whole.has(basket.runs[id]?.workload ?? ""));
  return {
    ...(workload.length > 0 ? { workload } : {}),
    ...(run.length > 0 ? { run } : {}),
  };
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

// Reads the stored basket, which another version of the page may have written; invalid entries are dropped.
export function parseBasket(text: string | null): Basket {
  let raw: unknown;
  try {
    raw = JSON.parse(text ?? "null");
  } catch {
    return kEmpty;
  }
  if (!isRecord(raw)) return kEmpty;
  const entries = (value: unknown) =>
    isRecord(value)
      ? Object.entries(value).filter((e): e is [string, Record<string, unknown>] => isRecord(e[1]))
      : [];
  const workloads = entries(raw.workloads).map(([id, w]) => [
    id,
    {
      name: typeof w.name === "string" ? w.name : null,
      experiment: String(w.experiment),
      whole: w.whole === true,
    },
  ]);
  const known = new Set(workloads.map(([id]) => id));
  const runs = entries(raw.runs)
    .filter(([, run]) => known.has(String(run.workload)))
    .map(([id, run]) => [id, { name: String(run.name), workload: String(run.workload) }]);
  const experiments = entries(raw.experiments).map(([id, e]) => [id, { name: String(e.name) }]);
  return tidy({
    experiments: Object.fromEntries(experiments),
    workloads: Object.fromEntries(workloads),
    runs: Object.fromEntries(runs),
  });
}

export interface BasketState {
  basket: Basket;
  // The basket before it was cleared, for undo.
  cleared: Basket | null;
}

const kKey = "corral-basket";

export const useBasket = create<BasketState>(() => ({
  basket: parseBasket(readKept(kKey)),
  cleared: null,
}));

function put(basket: Basket, cleared: Basket | null = null): void {
  useBasket.setState({ basket, cleared });
  keep(kKey, JSON.stringify(basket));
}

const now = () => useBasket.getState().basket;

export const addRuns = (runs: readonly BasketRun[]): void => put(withRuns(now(), runs));
export const addWorkload = (all: readonly BasketRun[]): void => put(withWorkload(now(), all));
export const removeRuns = (ids: Iterable<string>): void => put(withoutRuns(now(), ids));
// A run that is not in it is no matter.
export function renameRun(id: string, name: string): void {
  const basket = now();
  const run = basket.runs[id];
  if (run !== undefined && run.name !== name)
    put({ ...basket, runs: { ...basket.runs, [id]: { ...run, name } } });
}
export const clearBasket = (): void => put(kEmpty, now());
export const forgetCleared = (): void => useBasket.setState({ cleared: null });

export function undoClear(): void {
  const { cleared } = useBasket.getState();
  if (cleared !== null) put(cleared);
}

// Another tab changed it.
export const followOtherTabs = (): (() => void) =>
  followKept(kKey, (text) => useBasket.setState({ basket: parseBasket(text), cleared: null }));
