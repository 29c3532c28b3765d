// What the address says, both ways. Plain `key=value` pairs, lists as repeated keys, so that a link stays
// readable and can be typed. Pure.

export interface RunsSearch {
  experiment?: string;
  workload?: string;
  status?: string;
}

// `from` and `to`: seconds since the workload's start. `with`: ids of the other runs drawn, `metric`: names of
// the charts shown; absent for the default choice, one empty word for none.
export interface RunSearch {
  from?: number;
  to?: number;
  with?: string[];
  metric?: string[];
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
  const { experiment, workload, status } = raw;
  return defined({
    experiment: word(experiment),
    workload: word(workload),
    status: word(status),
  }) as RunsSearch;
}

// A range that is no range is left out rather than refused.
export function runSearch(raw: Raw): RunSearch {
  const [from, to] = [Number(raw.from), Number(raw.to)];
  const range = raw.from !== undefined && Number.isFinite(from) && Number.isFinite(to) && to > from;
  return defined({
    from: range ? from : undefined,
    to: range ? to : undefined,
    with: list(raw.with),
    metric: list(raw.metric),
  }) as RunSearch;
}
