// Long names keep their beginning and their end. Pure.

// The first `head` and the last `tail` letters; signs of two code units stay whole.
export function cutMiddle(text: string, head: number, tail: number): string {
  const isLow = (at: number) => (text.charCodeAt(at) & 0xfc00) === 0xdc00;
  const [end, begin] = [head, text.length - tail];
  return `${text.slice(0, isLow(end) ? end - 1 : end)}…${text.slice(isLow(begin) ? begin + 1 : begin)}`;
}

export function middleEllipsis(text: string, most: number): string {
  if (text.length <= most) return text;
  const tail = Math.floor((most - 1) / 2);
  return cutMiddle(text, most - 1 - tail, tail);
}

// A command line as one would type it: words with blanks or quotes are quoted.
export function commandLine(words: readonly string[]): string {
  return words
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(" ");
}

const kBoundary = /[-_/ ,:|]/;

// Returns the length of the common beginning (or, of reversed names, the end), up to the last boundary between words;
// something of each name remains.
function sharedLength(names: readonly string[]): number {
  const [first = "", ...rest] = names;
  let length = 0;
  while (length < first.length && rest.every((name) => name[length] === first[length])) length++;
  const most = Math.min(length, ...names.map((name) => name.length - 1));
  for (let at = most; at > 0; at--) if (kBoundary.test(first[at - 1] as string)) return at;
  return 0;
}

const reversed = (text: string) => [...text].reverse().join("");

// Names without the beginning and the end that all of them share, which tell none from another: "…lr-0.1".
export function withoutCommon(names: readonly string[]): string[] {
  if (new Set(names).size < 2) return [...names];
  const begin = sharedLength([...new Set(names)]);
  const rest = names.map((name) => name.slice(begin));
  const end = sharedLength([...new Set(rest)].map(reversed));
  return rest.map((name) => {
    const middle = end === 0 ? name : name.slice(0, -end);
    return `${begin > 0 ? "…" : ""}${middle}${end > 0 ? "…" : ""}`;
  });
}

// Shortens each name to `most` characters: itself, without the part shared with the others, or cut in the middle.
export function fittingNames(names: readonly string[], most: number): string[] {
  const short = withoutCommon(names);
  return names.map((name, i) =>
    name.length <= most ? name : middleEllipsis(short[i] ?? name, most),
  );
}
