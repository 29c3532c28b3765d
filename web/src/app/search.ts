// Addresses, both ways. Plain `key=value` pairs, lists as repeated keys, so that a link stays readable and can be
// typed. Each page defines its address in its own search.ts. Pure.
export type Raw = Record<string, unknown>;

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

export const list = (value: unknown): string[] | undefined =>
  value === undefined ? undefined : (Array.isArray(value) ? value : [value]).map(String);

export const word = (value: unknown): string | undefined => list(value)?.[0];

// Without the parts that are left open.
export function defined<T extends object>(search: T): T {
  return Object.fromEntries(Object.entries(search).filter(([, v]) => v !== undefined)) as T;
}
