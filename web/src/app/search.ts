// What the address says, both ways. Plain `key=value` pairs, lists as repeated keys, so that a link stays
// readable and can be typed. Pure.
import { type ViewSearch, viewSearch } from "../board/view";

// Facets that a run has one value of, and those with a key of their own.
export const kFacets = ["status", "collocation", "device", "model", "host"] as const;
export type Facet = (typeof kFacets)[number] | `params.${string}` | `tags.${string}`;
export const isFacet = (key: string): key is Facet =>
  /^(params|tags)\../s.test(key) || kFacets.some((facet) => facet === key);

// `q`: words or comparisons; `workload`: an id, or "none" for runs without one; `sort`: keys of columns, "-"
// before one for descending; `col`: columns and their widths (pages/runs/columns.ts). A facet's values are
// alternatives, "" is "not set".
export type RunsSearch = {
  q?: string;
  experiment?: string;
  workload?: string;
  sort?: string[];
  col?: string[];
} & { [facet in Facet]?: string[] };

// `with`: ids of the other runs drawn; absent for the default choice, one empty word for none.
export type RunTab = "charts" | "about" | "output" | "files" | "diff";
export const kRunTabs: readonly RunTab[] = ["charts", "about", "output", "files", "diff"];

// `tab`: absent for charts. `path`: the file that is open; `find`: what is looked for in the output; `against`:
// the run that this one is compared to.
export interface RunSearch extends ViewSearch {
  with?: string[];
  tab?: RunTab;
  path?: string;
  find?: string;
  against?: string;
}

// A board of any selection. `slot`: places in the palette of runs that have another than their usual one, as `ID:3`.
// `v`: the state is stored on the server under this id.
export interface BoardSearch extends ViewSearch {
  run?: string[];
  workload?: string[];
  slot?: string[];
  v?: string;
}

type Raw = Record<string, unknown>;

export function parseSearch(text: string): Raw {
  const out: Raw = {};
  const pairs = new URLSearchParams(text);
  for (const key of new Set(pairs.keys())) {
    const all = pairs.getAll(key);
    out[key] = all.length > 1 ? all : all[0];
  }
  return out;
}

export function stringifySearch(search: Raw): string {
  const pairs = new URLSearchParams();
  for (const [key, value] of Object.entries(search)) {
    if (value === undefined || value === null) continue;
    for (const one of Array.isArray(value) ? value : [value]) pairs.append(key, String(one));
  }
  const text = pairs.toString();
  return text === "" ? "" : `?${text}`;
}

const list = (value: unknown): string[] | undefined =>
  value === undefined ? undefined : (Array.isArray(value) ? value : [value]).map(String);

const word = (value: unknown): string | undefined =>
  value === undefined ? undefined : String(value);

function defined<T extends object>(search: T): T {
  return Object.fromEntries(Object.entries(search).filter(([, v]) => v !== undefined)) as T;
}

export function runsSearch(raw: Raw): RunsSearch {
  const out: Record<string, unknown> = {
    q: word(raw.q),
    experiment: word(raw.experiment),
    workload: word(raw.workload),
    sort: list(raw.sort),
    col: list(raw.col),
  };
  for (const [key, value] of Object.entries(raw)) if (isFacet(key)) out[key] = list(value);
  return defined(out) as RunsSearch;
}

export function runSearch(raw: Raw): RunSearch {
  const tab = kRunTabs.find((one) => one === raw.tab);
  return defined({
    ...viewSearch(raw),
    with: list(raw.with),
    tab: tab === "charts" ? undefined : tab,
    path: word(raw.path),
    find: word(raw.find),
    against: word(raw.against),
  }) as RunSearch;
}

const kSlot = /^([0-9a-f]{6,32}):(\d{1,3})$/;

function slotsOf(value: unknown): string[] | undefined {
  const found = (list(value) ?? []).filter((one) => kSlot.test(one));
  return found.length === 0 ? undefined : found;
}

// The place in the palette that the address gives a run.
export function slotFor({ slot = [] }: BoardSearch, run: string): number | undefined {
  const found = slot.flatMap((one) => {
    const [, id = "", place = ""] = kSlot.exec(one) ?? [];
    return id !== "" && run.startsWith(id) ? [Number(place)] : [];
  });
  return found[0];
}

export function boardSearch(raw: Raw): BoardSearch {
  return defined({
    run: list(raw.run),
    workload: list(raw.workload),
    slot: slotsOf(raw.slot),
    ...viewSearch(raw),
    v: word(raw.v),
  }) as BoardSearch;
}
