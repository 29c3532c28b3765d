// The importance of params for a metric. A random forest predicts the metric from all params. A param's importance
// is the growth of its error in runs that a tree has not seen when the param's values are shuffled (Breiman 2001).
// Shuffled copies of params in the same forest show how much comes by chance. The same runs give the same numbers.
// Pure.
import { natural } from "../../format/order";
import { type Sample, wordOf } from "./data";

export const kLeastRuns = 8;
export const kMostRuns = 300;
const kFewRuns = 30;
const kRunsPerParam = 5;
const kTrees = 96;
const kMaxDepth = 12;
const kLeastLeaf = 2;
const kMostParams = 40;
const kShadows = 3;
const kLeastTried = 4;
const kWork = 300_000; // runs × params × trees
const kLeastTrees = 32;
const kBusyMs = 20;

export interface ParamImportance {
  key: string;
  // Growth of the squared error, in variances of the metric; 0 and more.
  importance: number;
  // Not above the shuffled copies.
  chance: boolean;
  // Spearman's rank correlation; null: its values are no numbers.
  correlation: number | null;
  // Different values.
  values: number;
}

export interface Importance {
  // The greatest importance first.
  params: ParamImportance[];
  runs: number;
  // Share of the variance that the forest explains in runs that a tree has not seen.
  explained: number;
  // Sentences for the reader: reasons to doubt the numbers.
  warnings: string[];
}

// Values of one param, NaN: none. Words are numbered.
interface Feature {
  key: string;
  numbers: boolean;
  at: Float64Array;
}

// A generator of numbers in [0, 1) (mulberry32).
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

function shuffled(values: Float64Array, next: () => number): Float64Array {
  const out = Float64Array.from(values);
  for (let i = out.length - 1; i > 0; i--) {
    const k = Math.floor(next() * (i + 1));
    [out[i], out[k]] = [out[k] as number, out[i] as number];
  }
  return out;
}

function featureOf(samples: readonly Sample[], key: string): Feature | null {
  const words = samples.map(({ run }) => wordOf(run, key));
  const distinct = [...new Set(words)].sort(natural);
  if (distinct.length < 2) return null;
  const numbers = distinct.every((word) => word === "" || Number.isFinite(Number(word)));
  const at = words.map((word) =>
    numbers ? (word === "" ? Number.NaN : Number(word)) : distinct.indexOf(word),
  );
  return { key, numbers, at: Float64Array.from(at) };
}

type Tree =
  | { leaf: number }
  | { feature: number; goesLeft: (value: number) => boolean; left: Tree; right: Tree };

const meanOf = (rows: readonly number[], y: Float64Array) =>
  rows.reduce((sum, row) => sum + (y[row] as number), 0) / rows.length;

// The place of each value in the order in which they are divided: numbers by size, words by their mean.
function orderOf(
  { numbers, at }: Feature,
  rows: readonly number[],
  y: Float64Array,
): (value: number) => number {
  if (numbers) return (value) => (Number.isNaN(value) ? Number.NEGATIVE_INFINITY : value);
  const sums = new Map<number, [number, number]>();
  for (const row of rows) {
    const [sum, n] = sums.get(at[row] as number) ?? [0, 0];
    sums.set(at[row] as number, [sum + (y[row] as number), n + 1]);
  }
  const all = meanOf(rows, y);
  const means = new Map([...sums].map(([value, [sum, n]]) => [value, sum / n]));
  return (value) => means.get(value) ?? all;
}

interface Split {
  feature: number;
  gain: number;
  goesLeft: (value: number) => boolean;
}

function bestSplit(
  feature: number,
  of: Feature,
  at: { rows: readonly number[]; y: Float64Array },
): Split | null {
  const { rows, y } = at;
  const order = orderOf(of, rows, y);
  const placed = rows.map((row) => ({ x: order(of.at[row] as number), y: y[row] as number }));
  placed.sort((a, b) => (a.x < b.x ? -1 : a.x > b.x ? 1 : 0));
  const total = placed.reduce((sum, one) => sum + one.y, 0);
  const n = placed.length;
  let [left, best, threshold] = [0, total ** 2 / n + 1e-12, Number.NaN];
  for (let i = 0; i < n - 1; i++) {
    const [here, next] = [placed[i], placed[i + 1]] as [{ x: number; y: number }, { x: number }];
    left += here.y;
    const count = i + 1;
    if (count < kLeastLeaf || n - count < kLeastLeaf || here.x === next.x) continue;
    const score = left ** 2 / count + (total - left) ** 2 / (n - count);
    if (score <= best) continue;
    best = score;
    threshold = here.x;
  }
  if (Number.isNaN(threshold)) return null;
  return { feature, gain: best, goesLeft: (value) => order(value) <= threshold };
}

interface Growing {
  features: readonly Feature[];
  y: Float64Array;
  next: () => number;
}

function grow(rows: readonly number[], at: Growing, depth = 0): Tree {
  const { features, y, next } = at;
  const leaf = { leaf: meanOf(rows, y) };
  if (depth >= kMaxDepth || rows.length < 2 * kLeastLeaf) return leaf;
  const tried = Math.ceil(Math.max(features.length / 3, Math.min(features.length, kLeastTried)));
  const order = shuffled(
    Float64Array.from(features, (_, i) => i),
    next,
  ).subarray(0, tried);
  let best: Split | null = null;
  for (const i of order) {
    const split = bestSplit(i, features[i] as Feature, { rows, y });
    if (split !== null && (best === null || split.gain > best.gain)) best = split;
  }
  if (best === null) return leaf;
  const { feature, goesLeft } = best;
  const values = (features[feature] as Feature).at;
  const [left, right]: [number[], number[]] = [[], []];
  for (const row of rows) (goesLeft(values[row] as number) ? left : right).push(row);
  if (left.length === 0 || right.length === 0) return leaf;
  return { feature, goesLeft, left: grow(left, at, depth + 1), right: grow(right, at, depth + 1) };
}

function predict(tree: Tree, value: (feature: number) => number): number {
  let node = tree;
  while ("feature" in node) node = node.goesLeft(value(node.feature)) ? node.left : node.right;
  return node.leaf;
}

// The importance of every feature, and the error of the forest, both in squares of the metric.
async function forest(
  features: readonly Feature[],
  y: Float64Array,
): Promise<{ grown: number[]; error: number }> {
  const next = random(1);
  const n = y.length;
  const grown = features.map(() => 0);
  const votes = Array.from({ length: n }, () => [0, 0] as [number, number]);
  const many = Math.round(kWork / (n * features.length));
  const most = Math.min(kTrees, Math.max(kLeastTrees, many));
  let trees = 0;
  let since = performance.now();
  for (let t = 0; t < most; t++) {
    // The page stays alive meanwhile.
    if (performance.now() - since > kBusyMs) {
      await new Promise((go) => setTimeout(go));
      since = performance.now();
    }
    const drawn = Array.from({ length: n }, () => Math.floor(next() * n));
    const seen = new Set(drawn);
    const unseen = Array.from({ length: n }, (_, i) => i).filter((row) => !seen.has(row));
    if (unseen.length < 2) continue;
    trees++;
    const tree = grow(drawn, { features, y, next });
    const values = features.map(({ at }) => at);
    const predicted = (row: number, of = values) => predict(tree, (f) => of[f]?.[row] as number);
    let error = 0;
    for (const row of unseen) {
      const vote = votes[row] as [number, number];
      const guess = predicted(row);
      vote[0] += guess;
      vote[1]++;
      error += ((y[row] as number) - guess) ** 2;
    }
    features.forEach((feature, f) => {
      const own = Float64Array.from(unseen, (row) => feature.at[row] as number);
      const mixed = shuffled(own, next);
      const other = Float64Array.from(feature.at);
      unseen.forEach((row, i) => {
        other[row] = mixed[i] as number;
      });
      const changed = values.map((at, k) => (k === f ? other : at));
      let worse = 0;
      for (const row of unseen) worse += ((y[row] as number) - predicted(row, changed)) ** 2;
      grown[f] = (grown[f] as number) + (worse - error) / unseen.length;
    });
  }
  const known = votes.flatMap(([sum, count], row) =>
    count === 0 ? [] : [((y[row] as number) - sum / count) ** 2],
  );
  const error = known.reduce((a, b) => a + b, 0) / Math.max(1, known.length);
  return { grown: grown.map((sum) => sum / Math.max(1, trees)), error };
}

// Ranks from 1, equal values share theirs.
function ranks(values: readonly number[]): number[] {
  const order = values
    .map((_, i) => i)
    .sort((a, b) => (values[a] as number) - (values[b] as number));
  const out = values.map(() => 0);
  for (let i = 0; i < order.length; ) {
    let end = i;
    while (end < order.length && values[order[end] as number] === values[order[i] as number]) end++;
    for (let k = i; k < end; k++) out[order[k] as number] = (i + end + 1) / 2;
    i = end;
  }
  return out;
}

function spearman({ numbers, at }: Feature, y: Float64Array): number | null {
  if (!numbers) return null;
  const rows = [...at.keys()].filter((row) => !Number.isNaN(at[row] as number));
  const [a, b] = [at, y].map((of) => ranks(rows.map((row) => of[row] as number)));
  const middle = (rows.length + 1) / 2;
  let [product, first, second] = [0, 0, 0];
  rows.forEach((_, i) => {
    const [x, z] = [(a?.[i] as number) - middle, (b?.[i] as number) - middle];
    product += x * z;
    first += x * x;
    second += z * z;
  });
  return first > 0 && second > 0 ? product / Math.sqrt(first * second) : null;
}

function warningsOf(runs: number, params: number, explained: number): string[] {
  const few = runs < Math.max(kFewRuns, kRunsPerParam * params);
  return [
    ...(explained <= 0
      ? ["The params do not predict this metric, so their order means nothing."]
      : []),
    ...(few ? [`Few runs: ${runs} for ${params} params. The order may be chance.`] : []),
    "Params that change together share their importance. It shows no cause.",
  ];
}

// null: too few runs, no param that differs, or a metric that is always the same.
export async function importanceOf(
  all: readonly Sample[],
  keys: readonly string[],
): Promise<Importance | null> {
  const samples = all.slice(0, kMostRuns);
  if (samples.length < kLeastRuns) return null;
  const y = Float64Array.from(samples, ({ value }) => value);
  const mean = y.reduce((sum, v) => sum + v, 0) / y.length;
  const variance = y.reduce((sum, v) => sum + (v - mean) ** 2, 0) / y.length;
  const params = keys.flatMap((key) => featureOf(samples, key) ?? []).slice(0, kMostParams);
  if (params.length === 0 || !(variance > 0)) return null;
  const next = random(2);
  const shadows = Array.from({ length: kShadows }, (_, i): Feature => {
    const of = params[i % params.length] as Feature;
    return { ...of, key: "", at: shuffled(of.at, next) };
  });
  const { grown, error } = await forest([...params, ...shadows], y);
  const share = (f: number) => Math.max(0, (grown[f] as number) / variance);
  const byChance = Math.max(...shadows.map((_, i) => share(params.length + i)));
  const found = params.map((feature, f) => ({
    key: feature.key,
    importance: share(f),
    chance: share(f) <= byChance,
    correlation: spearman(feature, y),
    values: new Set(feature.at).size,
  }));
  const explained = 1 - error / variance;
  return {
    params: found.sort((a, b) => b.importance - a.importance || natural(a.key, b.key)),
    runs: samples.length,
    explained,
    warnings: warningsOf(samples.length, params.length, explained),
  };
}
