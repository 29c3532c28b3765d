// Expressions over metrics, such as `gpu.power / samples_per_second`: their grammar, and their values per column. Pure.

export type Node =
  | { kind: "number"; value: number }
  | { kind: "metric"; name: string }
  // Operators by their sign, the sign of a number as `neg`.
  | { kind: "call"; name: string; args: Node[] };

export interface Problem {
  // The place in the text, from 0.
  at: number;
  text: string;
  // Metrics that may have been meant.
  near: readonly string[];
}

export type Parsed = { node: Node; wrong: null } | { node: null; wrong: Problem };

interface FunctionOf {
  args: number;
  example: string;
}

export const kFunctions: Readonly<Record<string, FunctionOf>> = {
  ema: { args: 2, example: "ema(loss, 0.9)" },
  log: { args: 1, example: "log(loss)" },
  log10: { args: 1, example: "log10(loss)" },
  exp: { args: 1, example: "exp(loss)" },
  sqrt: { args: 1, example: "sqrt(loss)" },
  abs: { args: 1, example: "abs(loss)" },
  diff: { args: 1, example: "diff(loss)" },
  rate: { args: 1, example: "rate(loss)" },
  cumsum: { args: 1, example: "cumsum(loss)" },
  min: { args: 2, example: "min(loss, 1)" },
  max: { args: 2, example: "max(loss, 1)" },
};

const kMaxLength = 1000;
const kMaxDepth = 50;
const kNear = 3;
const kSigns = "+-*/^(),`";

const isSpace = (sign: string) => sign === " " || sign === "\t" || sign === "\n";
const endsName = (sign: string | undefined) =>
  sign === undefined || isSpace(sign) || kSigns.indexOf(sign) >= 0;

// Thrown inside this file alone.
// No Error: the engine of `corral plot` would not know one's class again.
class Wrong {
  readonly problem: Problem;
  constructor(at: number, text: string, near: readonly string[] = []) {
    this.problem = { at, text, near };
  }
}

// The number of changed letters that lead from one word to the other.
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 0; i < a.length; i++) {
    const next = [i + 1];
    for (let k = 0; k < b.length; k++) {
      const kept = (row[k] as number) + (a[i] === b[k] ? 0 : 1);
      next.push(Math.min(kept, (row[k + 1] as number) + 1, (next[k] as number) + 1));
    }
    row = next;
  }
  return row[b.length] as number;
}

// The known names that are most like a word: those that contain it, and those a few letters away.
export function nearest(word: string, known: readonly string[]): string[] {
  const typed = word.toLowerCase();
  const most = Math.max(2, Math.floor(typed.length / 3));
  const found = known.flatMap((name) => {
    const other = name.toLowerCase();
    const within = typed.length > 2 && other.indexOf(typed) >= 0;
    // Letters that one has more than the other are changed ones.
    if (!within && Math.abs(other.length - typed.length) > most) return [];
    const far = within ? 0.5 : distance(typed, other);
    return far <= most ? [{ name, far }] : [];
  });
  return found
    .sort((a, b) => a.far - b.far || a.name.length - b.name.length)
    .slice(0, kNear)
    .map(({ name }) => name);
}

const quotes = (names: readonly string[]) => names.map((name) => `'${name}'`).join(" or ");

class Parser {
  private at = 0;
  private depth = 0;
  private readonly text: string;
  private readonly names: readonly string[];
  private readonly known: ReadonlySet<string>;

  constructor(text: string, names: readonly string[]) {
    this.text = text;
    this.names = names;
    this.known = new Set(names);
  }

  whole(): Node {
    if (this.text.length > kMaxLength)
      throw new Wrong(kMaxLength, `longer than ${kMaxLength} letters`);
    const node = this.sum();
    if (this.sign() !== undefined) throw this.unexpected("an operator");
    return node;
  }

  // The next sign, with spaces before it skipped.
  private sign(): string | undefined {
    while (this.at < this.text.length && isSpace(this.text[this.at] as string)) this.at++;
    return this.text[this.at];
  }

  private unexpected(wanted: string): Wrong {
    const found = this.sign();
    const words = found === undefined ? "the expression ends" : `found '${found}'`;
    return new Wrong(this.at, `expected ${wanted}, ${words}`);
  }

  private rows(signs: string, part: () => Node): Node {
    let left = part();
    for (
      let sign = this.sign();
      sign !== undefined && signs.indexOf(sign) >= 0;
      sign = this.sign()
    ) {
      this.at++;
      left = { kind: "call", name: sign, args: [left, part()] };
    }
    return left;
  }

  private sum(): Node {
    if (++this.depth > kMaxDepth) throw new Wrong(this.at, "nested too deep");
    const node = this.rows("+-", () => this.rows("*/", () => this.signed()));
    this.depth--;
    return node;
  }

  private signed(): Node {
    if (this.sign() !== "-") return this.power();
    if (++this.depth > kMaxDepth) throw new Wrong(this.at, "nested too deep");
    this.at++;
    const node: Node = { kind: "call", name: "neg", args: [this.signed()] };
    this.depth--;
    return node;
  }

  private power(): Node {
    const base = this.atom();
    if (this.sign() !== "^") return base;
    this.at++;
    return { kind: "call", name: "^", args: [base, this.signed()] };
  }

  private atom(): Node {
    const sign = this.sign();
    if (sign === "(") {
      this.at++;
      const node = this.sum();
      this.close();
      return node;
    }
    if (sign === "`") return this.quoted();
    if (endsName(sign)) throw this.unexpected("a metric, a number or '('");
    const start = this.at;
    const name = this.nameAt(start);
    if (!this.known.has(name)) {
      const number = /^(\d+\.?\d*|\.\d+)(e[+-]?\d+)?/i.exec(this.text.slice(start))?.[0];
      if (number !== undefined && endsName(this.text[start + number.length])) {
        this.at += number.length;
        return { kind: "number", value: Number(number) };
      }
    }
    this.at += name.length;
    if (this.sign() === "(") return this.call(name, start);
    return this.metric(name, start);
  }

  // The longest known name that begins there, else the letters up to the next sign.
  private nameAt(start: number): string {
    let end = start;
    while (!endsName(this.text[end])) end++;
    let best = this.text.slice(start, end);
    for (const name of this.names) {
      if (name.length <= best.length) continue;
      if (this.text.slice(start, start + name.length) !== name) continue;
      if (endsName(this.text[start + name.length])) best = name;
    }
    return best;
  }

  private quoted(): Node {
    const start = this.at;
    const end = this.text.indexOf("`", start + 1);
    if (end < 0) throw new Wrong(start, "missing the closing '`'");
    this.at = end + 1;
    return this.metric(this.text.slice(start + 1, end), start);
  }

  private metric(name: string, at: number): Node {
    if (this.known.has(name)) return { kind: "metric", name };
    // A name with signs in it, of which only the first part was read.
    let end = at;
    while (this.text[end] !== undefined && !isSpace(this.text[end] as string)) end++;
    const whole = this.text.slice(at, end);
    const near = nearest(name, this.names);
    const some = near.length > 0 || whole === name ? near : nearest(whole, this.names);
    const meant = some.length === 0 ? "" : `; did you mean ${quotes(some)}?`;
    throw new Wrong(at, `no metric '${name}'${meant}`, some);
  }

  private close(): void {
    if (this.sign() !== ")") throw this.unexpected("')'");
    this.at++;
  }

  private call(name: string, at: number): Node {
    const known = Object.hasOwn(kFunctions, name);
    const made = known ? kFunctions[name] : undefined;
    if (made === undefined)
      throw new Wrong(at, `no function '${name}'; there are ${Object.keys(kFunctions).join(", ")}`);
    this.at++;
    const args = [this.sum()];
    while (this.sign() === ",") {
      this.at++;
      args.push(this.sum());
    }
    this.close();
    if (args.length !== made.args)
      throw new Wrong(
        at,
        `${name} takes ${made.args === 1 ? "one argument" : "two arguments"}, e.g. ${made.example}`,
      );
    if (name === "ema") checkWeight(args[1] as Node, at);
    return { kind: "call", name, args };
  }
}

function checkWeight(weight: Node, at: number): void {
  if (weight.kind === "number" && weight.value > 0 && weight.value < 1) return;
  throw new Wrong(at, "the weight of ema must be a number between 0 and 1, e.g. ema(loss, 0.9)");
}

// `names`: of all metrics. A name with spaces or signs in it is read as one where it is known, and in backticks.
export function parseExpression(text: string, names: readonly string[]): Parsed {
  try {
    return { node: new Parser(text, names).whole(), wrong: null };
  } catch (error) {
    if (error instanceof Wrong) return { node: null, wrong: error.problem };
    throw error;
  }
}

// "column 7: no metric 'los'; did you mean 'loss'?"
export const problemWords = ({ at, text }: Problem) => `column ${at + 1}: ${text}`;

// The metrics of an expression, each once, in their order.
export function metricsOf(node: Node): string[] {
  if (node.kind === "metric") return [node.name];
  if (node.kind === "number") return [];
  return [...new Set(node.args.flatMap(metricsOf))];
}

// A rate divides by distances on the axis, which have to be those of the points rather than of columns.
export const needsPlaces = (node: Node): boolean =>
  node.kind === "call" && (node.name === "rate" || node.args.some(needsPlaces));

const kSameUnit = ["neg", "abs", "ema", "diff", "cumsum"];

// The unit of the values; "" where it is not that of a metric.
export function unitOf(node: Node, units: (metric: string) => string): string {
  if (node.kind === "metric") return units(node.name);
  if (node.kind === "number") return "";
  const { name, args } = node;
  const [a, b] = args.map((one) => unitOf(one, units));
  const plain = args.map((one) => metricsOf(one).length === 0);
  if (kSameUnit.indexOf(name) >= 0) return a as string;
  if (name === "+" || name === "-" || name === "min" || name === "max")
    return a === b || plain[1] ? (a as string) : plain[0] ? (b as string) : "";
  if (name === "*" && plain[0]) return b as string;
  return (name === "*" || name === "/") && plain[1] ? (a as string) : "";
}

// Values per column. A column of no points of its own may hold the value before it.
export interface Sampled {
  value: Float64Array;
  // Points that the value stands for; 0: it is the one before.
  count: Float64Array;
  // Their place on the axis, seconds or steps.
  at: Float64Array;
}

const kBinary: Readonly<Record<string, (a: number, b: number) => number>> = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
  "^": (a, b) => a ** b,
  min: (a, b) => Math.min(a, b),
  max: (a, b) => Math.max(a, b),
};

const kUnary: Readonly<Record<string, (a: number) => number>> = {
  neg: (a) => -a,
  log: Math.log,
  log10: Math.log10,
  exp: Math.exp,
  sqrt: Math.sqrt,
  abs: Math.abs,
};

type Value = number | Sampled;

function binary(a: Value, b: Value, op: (a: number, b: number) => number): Value {
  if (typeof a === "number" && typeof b === "number") return op(a, b);
  const [first, second] = [a, b].map((one) => (typeof one === "number" ? null : one));
  const length = (first ?? second)?.value.length ?? 0;
  const out = emptySampled(length);
  for (let i = 0; i < length; i++) {
    const left = first ? (first.value[i] as number) : (a as number);
    const right = second ? (second.value[i] as number) : (b as number);
    out.value[i] = op(left, right);
    const counts = [first, second].map((one) => (one ? (one.count[i] as number) : 0));
    // Without a value of one there is none of both, and no column is lost by that.
    const both = !Number.isNaN(left) && !Number.isNaN(right);
    out.count[i] = both ? Math.max(...counts) : 0;
    const places = [first, second].flatMap((one, k) =>
      one && (counts[k] as number) > 0 ? [one.at[i] as number] : [],
    );
    out.at[i] = places.length === 0 ? Number.NaN : Math.max(...places);
  }
  return out;
}

export const emptySampled = (length: number): Sampled => ({
  value: new Float64Array(length).fill(Number.NaN),
  count: new Float64Array(length),
  at: new Float64Array(length).fill(Number.NaN),
});

interface Point {
  value: number;
  count: number;
  at: number;
}

// From each point and the one before it, null for the first; in between a value remains.
function along(of: Sampled, next: (point: Point, before: Point | null) => number): Sampled {
  const value = new Float64Array(of.value.length).fill(Number.NaN);
  let before: Point | null = null;
  let last = Number.NaN;
  for (let i = 0; i < value.length; i++) {
    const point = {
      value: of.value[i] as number,
      count: of.count[i] as number,
      at: of.at[i] as number,
    };
    if (Number.isNaN(point.value)) continue;
    if (point.count > 0 && Number.isFinite(point.value)) {
      last = next(point, before);
      before = point;
    }
    value[i] = last;
  }
  return { ...of, value };
}

// A point that lies dx back weighs weight^dx, as the server's moving average has it.
function average(weight: number): (point: Point, before: Point | null) => number {
  let [sum, weights] = [0, 0];
  return ({ value, count, at }, before) => {
    const faded = before === null ? 0 : weight ** Math.max(0, at - before.at);
    sum = sum * faded + value * count;
    weights = weights * faded + count;
    return sum / weights;
  };
}

function running(): (point: Point) => number {
  let sum = 0;
  return ({ value, count }) => {
    sum += value * count;
    return sum;
  };
}

// From point to point: the means of two columns lie half of each one's points apart.
const difference = (point: Point, before: Point | null) =>
  before === null ? Number.NaN : (point.value - before.value) / ((point.count + before.count) / 2);

const slope = (point: Point, before: Point | null) =>
  before === null || !(point.at > before.at)
    ? Number.NaN
    : (point.value - before.value) / (point.at - before.at);

function computed(node: Node, inputs: (metric: string) => Sampled): Value {
  if (node.kind === "number") return node.value;
  if (node.kind === "metric") return inputs(node.name);
  const { name } = node;
  const [a, b] = node.args.map((one) => computed(one, inputs)) as [Value, Value];
  const two = kBinary[name];
  if (two !== undefined) return binary(a, b, two);
  const one = kUnary[name];
  if (one !== undefined) return typeof a === "number" ? one(a) : { ...a, value: a.value.map(one) };
  if (typeof a === "number") return name === "ema" || name === "cumsum" ? a : 0;
  if (name === "ema") return along(a, average(b as number));
  if (name === "cumsum") return along(a, running());
  return along(a, name === "diff" ? difference : slope);
}

// The values where one of the metrics has points, NaN elsewhere; `lost`: columns whose result is no finite number, as
// the logarithm of 0.
export function evaluate(
  node: Node,
  inputs: (metric: string) => Sampled,
): { value: Float64Array; lost: number } {
  const found = computed(node, inputs);
  if (typeof found === "number") return { value: new Float64Array(0), lost: 0 };
  let lost = 0;
  let begun = false;
  const value = found.value.map((v, i) => {
    if ((found.count[i] as number) === 0) return Number.NaN;
    if (Number.isFinite(v)) {
      begun = true;
      return v;
    }
    // The first of a difference is none.
    if (begun || !needsBefore(node)) lost++;
    return Number.NaN;
  });
  return { value, lost };
}

const needsBefore = (node: Node): boolean =>
  node.kind === "call" &&
  (node.name === "diff" || node.name === "rate" || node.args.some(needsBefore));
