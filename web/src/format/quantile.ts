// A quantile of sorted values, between two of them in proportion, as R's type 7 and numpy's default. Pure.
export function quantile(sorted: ArrayLike<number>, part: number): number {
  const at = (sorted.length - 1) * part;
  const low = Math.floor(at);
  const [a, b] = [sorted[low] as number, sorted[Math.ceil(at)] as number];
  return a === b ? a : a * (1 - (at - low)) + b * (at - low);
}
