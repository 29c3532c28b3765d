// Nanoseconds and counts of 64 bits as the server sends them. `corral plot` runs this code in an engine without BigInt
// and has plot/nanos.ts in its place, with the same functions. Pure.

// `value` is whole.
export const nanos = (value: string | number): bigint => BigInt(value);

// The number nearest to a − b.
export const nanosBetween = (a: bigint, b: bigint): number => Number(a - b);

// `by` is whole.
export const later = (value: bigint, by: number): bigint => value + BigInt(by);

export const readNanos = (view: DataView, at: number): bigint => view.getBigInt64(at, true);

export const readCount = (view: DataView, at: number): number =>
  Number(view.getBigUint64(at, true));
