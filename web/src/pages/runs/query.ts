// The content of the search field: plain words, or comparisons of the run-search grammar (`metrics.loss < 0.5 and
// params.lr = '0.1'`). The grammar is the server's (mlflow/filter.h); here it is read to tell the two apart and to say
// at which character something is amiss. Pure.

export type Query =
  | { kind: "none" }
  | { kind: "words"; text: string }
  | { kind: "filter"; text: string }
  // `at`: where in the text, in UTF-16 units.
  | { kind: "error"; message: string; at: number };

interface Token {
  kind: "name" | "text" | "number" | "operator" | "other";
  text: string;
  at: number;
}

const kWord = "[\\w\\u{80}-\\u{10ffff}]";
// A doubled quote does not end it, nor does \' or \" unless no other quote follows.
const kQuoted = (quote: string) => {
  const escaped = quote === "`" ? "" : `\\\\${quote}|`;
  return `${quote}(?:${escaped}[^${quote}]|${quote}${quote})*${quote}(?!${quote})`;
};
const kPart = `(?:${kWord}+|${kQuoted("`")}|${kQuoted('"')})`;
const kToken = new RegExp(
  [
    `(?<number>-?(?:\\d+\\.?\\d*|\\.\\d+)(?:[eE]-?\\d+)?(?!${kWord}))`,
    `(?<name>${kPart}(?:\\.(?:${kPart}|${kQuoted("'")}))*)`,
    `(?<text>${kQuoted("'")})`,
    "(?<operator>[<>=~!]+)",
    "(?<other>[`\"'].*|\\S)",
  ].join("|"),
  "gsu",
);

function tokensOf(text: string): Token[] {
  return Array.from(text.matchAll(kToken), (match) => {
    const groups = match.groups as Record<Token["kind"], string | undefined>;
    const kinds = ["number", "name", "text", "operator"] as const;
    const kind = kinds.find((one) => groups[one] !== undefined) ?? "other";
    return { kind, text: match[0], at: match.index };
  });
}

// The left side of the operator; a "pair" is a param or tag, which may be missing, "listed" takes IN.
type Subject = "metric" | "time" | "pair" | "text" | "listed";
const kEntities: Record<string, Subject | "attribute"> = {
  metric: "metric",
  metrics: "metric",
  parameter: "pair",
  parameters: "pair",
  param: "pair",
  params: "pair",
  tag: "pair",
  tags: "pair",
  attribute: "attribute",
  attributes: "attribute",
  attr: "attribute",
  run: "attribute",
  dataset: "listed",
  datasets: "listed",
};
const kAttributes: Record<string, Subject> = {
  run_id: "listed",
  run_name: "text",
  "run name": "text",
  "Run name": "text",
  "Run Name": "text",
  status: "text",
  user_id: "text",
  artifact_uri: "text",
  start_time: "time",
  created: "time",
  Created: "time",
  end_time: "time",
};
const kOrders = ["=", "!=", "<", "<=", ">", ">="];
const kTexts = ["=", "!=", "LIKE", "ILIKE"];
const kOperators: Record<Subject, string[]> = {
  metric: kOrders,
  time: kOrders,
  pair: kTexts,
  text: kTexts,
  listed: kTexts,
};
const own = <T>(table: Record<string, T>, key: string): T | undefined =>
  Object.hasOwn(table, key) ? table[key] : undefined;

class QueryError extends Error {
  constructor(
    message: string,
    readonly at: number,
  ) {
    super(message);
  }
}

const unquoted = (text: string) => (/^(["`']).*\1$/s.test(text) ? text.slice(1, -1) : text);
const says = (token: Token | undefined, word: string) =>
  token?.kind === "name" && token.text.toUpperCase() === word;

function subjectOf({ text, at }: Token): Subject {
  const dot = text.indexOf(".");
  if (dot < 0) {
    const found = own(kAttributes, unquoted(text));
    if (found) return found;
    throw new QueryError(`Write metrics.${text}, params.${text} or tags.${text}.`, at);
  }
  const entity = own(kEntities, unquoted(text.slice(0, dot)));
  if (entity === undefined) {
    const prefix = text.slice(0, dot);
    throw new QueryError(
      `Unknown prefix ${prefix}, expected metrics, params, tags, attributes or dataset.`,
      at,
    );
  }
  if (entity !== "attribute") return entity;
  const found = own(kAttributes, unquoted(text.slice(dot + 1)));
  if (found) return found;
  const known = "run_name, status, start_time, end_time, user_id, run_id and artifact_uri";
  throw new QueryError(`A run's attributes are ${known}.`, at + dot + 1);
}

// Reads comparison after comparison; throws QueryError.
class Reader {
  private next = 0;
  private readonly tokens: Token[];
  constructor(private readonly text: string) {
    this.tokens = tokensOf(text);
  }

  all(): void {
    while (this.next < this.tokens.length) {
      if (says(this.tokens[this.next], "AND")) this.next++;
      else this.comparison();
    }
  }

  private get at(): number {
    return this.tokens[this.next]?.at ?? this.text.length;
  }

  private comparison(): void {
    const name = this.tokens[this.next];
    if (says(name, "OR"))
      throw new QueryError("Join comparisons with and; or is not supported.", this.at);
    if (name?.kind !== "name") throw new QueryError("Expected a name.", this.at);
    const subject = subjectOf(name);
    this.next++;
    const operator = this.operator(subject);
    if (operator === "IS") return;
    if (operator === "IN") this.list();
    else this.value(subject);
  }

  private operator(subject: Subject): string {
    const token = this.tokens[this.next];
    const allowed = kOperators[subject];
    const list = `${allowed.slice(0, -1).join(", ")} or ${allowed.at(-1)}`;
    if (token === undefined) throw new QueryError(`Expected ${list} and a value.`, this.at);
    if (token.kind === "other" || token.kind === "number") {
      throw new QueryError("Put a name with such characters in backquotes: `val/loss`.", token.at);
    }
    const negated = says(token, "NOT") ? 1 : 0;
    if (subject === "listed" && says(this.tokens[this.next + negated], "IN")) {
      this.next += 1 + negated;
      return "IN";
    }
    if (subject === "pair" && says(token, "IS")) return this.isNull();
    if (!allowed.includes(token.text.toUpperCase())) {
      throw new QueryError(`Expected ${list}, found ${token.text}.`, token.at);
    }
    this.next++;
    return token.text;
  }

  private isNull(): string {
    this.next += says(this.tokens[this.next + 1], "NOT") ? 2 : 1;
    if (!says(this.tokens[this.next], "NULL"))
      throw new QueryError("Expected null or not null.", this.at);
    this.next++;
    return "IS";
  }

  private value(subject: Subject): void {
    const token = this.tokens[this.next];
    const number = subject === "metric" || subject === "time";
    if (token === undefined) {
      throw new QueryError(
        number ? "Expected a number." : "Expected a text in quotes: '0.1'.",
        this.at,
      );
    }
    const isText = token.kind === "text" || /^"[\s\S]*"$/.test(token.text);
    if (number && token.kind !== "number") {
      const unit = subject === "time" ? "a number: milliseconds since 1970" : "a number";
      throw new QueryError(`Expected ${unit}, found ${token.text}.`, token.at);
    }
    if (!number && !isText) throw new QueryError(`Put it in quotes: '${token.text}'.`, token.at);
    this.next++;
  }

  private list(): void {
    const end = this.tokens.findIndex((token, i) => i >= this.next && token.text === ")");
    const inside = this.tokens.slice(this.next + 1, Math.max(end, 0));
    const wellFormed = inside.every((token, i) =>
      i % 2 === 1 ? token.text === "," : token.kind === "text" || token.text.startsWith('"'),
    );
    if (this.tokens[this.next]?.text !== "(" || end < 0 || inside.length === 0 || !wellFormed) {
      throw new QueryError("Expected a list of texts: ('a', 'b').", this.at);
    }
    this.next = end + 1;
  }
}

// Returns true if the text is a comparison: a name, then an operator. `lr=0.1` in one piece is a word, as a run's own
// parameters are found by; so is what merely contains "in" or "is".
function meansComparison(text: string): boolean {
  const [name, operator, value] = tokensOf(text).filter((token) => !says(token, "AND"));
  if (name?.kind !== "name" || operator === undefined) return false;
  const prefix = name.text.split(".", 1)[0] ?? "";
  const known =
    (name.text.includes(".") && own(kEntities, unquoted(prefix)) !== undefined) ||
    own(kAttributes, unquoted(name.text)) !== undefined;
  if (operator.kind === "operator") {
    const apart = operator.at > name.at + name.text.length;
    return known || apart;
  }
  if (operator.kind === "other") return known && text.slice(operator.at).match(/[<>=!~]/) !== null;
  const word = /^(LIKE|ILIKE|IN|IS|NOT)$/i.test(operator.text);
  const opens = value !== undefined && /^(['"(]|null$|not$|in$)/i.test(value.text);
  return word && (known || /^['"(]/.test(value?.text ?? "")) && opens;
}

export function readQuery(text: string): Query {
  const trimmed = text.trim();
  if (trimmed === "") return { kind: "none" };
  if (!meansComparison(text)) return { kind: "words", text: trimmed };
  try {
    new Reader(text).all();
    return { kind: "filter", text: trimmed };
  } catch (error) {
    if (!(error instanceof QueryError)) throw error;
    return { kind: "error", message: error.message, at: error.at };
  }
}
