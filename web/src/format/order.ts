// The order of words: numbers by their value and before other words, those with numbers in them as people count, capital
// letters beside small ones. The same in every engine and language. Pure.

const numberOf = (word: string) => (word.trim() === "" ? Number.NaN : Number(word));

export function natural(a: string, b: string): number {
  const [x, y] = [numberOf(a), numberOf(b)];
  const [first, second] = [!Number.isNaN(x), !Number.isNaN(y)];
  if (first && second && x !== y) return x - y;
  if (first !== second) return first ? -1 : 1;
  return byParts(a.toLowerCase(), b.toLowerCase()) || compared(b, a);
}

const compared = <T>(a: T, b: T) => (a < b ? -1 : a > b ? 1 : 0);

// Sign by sign, digits together by their value.
function byParts(a: string, b: string): number {
  const partsOf = (text: string): string[] => text.match(/\d+|\D/g) ?? [];
  const [x, y] = [partsOf(a), partsOf(b)];
  for (const [i, part] of x.entries()) {
    const other = y[i] ?? "";
    const digits = /^\d/.test(part) && /^\d/.test(other);
    const order = digits ? Number(part) - Number(other) : compared(part, other);
    if (order !== 0) return order;
  }
  return x.length - y.length;
}
