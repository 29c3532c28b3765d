// The order of words: numbers by their value and before other words, those with numbers in them as people count. Pure.

const numberOf = (word: string) => (word.trim() === "" ? Number.NaN : Number(word));

export function natural(a: string, b: string): number {
  const [x, y] = [numberOf(a), numberOf(b)];
  const [first, second] = [!Number.isNaN(x), !Number.isNaN(y)];
  if (first && second && x !== y) return x - y;
  if (first !== second) return first ? -1 : 1;
  return a.localeCompare(b, "en", { numeric: true });
}
