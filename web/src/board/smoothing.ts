// Smoothing of values per column, where the server has no line to smooth: expressions and groups. Each column that has a
// value counts once, and nothing before the range shown counts. Pure.
import type { Smoothing } from "../api/lines";

const kCut = 4; // standard deviations of a Gaussian

// The weight of a column by its distance, and the distance from which it is none.
function windowOf({ method, amount }: Smoothing): [weight: (far: number) => number, reach: number] {
  if (method === "mean") return [() => 1, amount / 2];
  return [(far) => Math.exp(-0.5 * (far / amount) ** 2), kCut * amount];
}

function averaged(values: Float64Array, alpha: number, each: number): Float64Array {
  const fade = alpha ** each;
  let [sum, weights] = [0, 0];
  return values.map((v) => {
    sum *= fade;
    weights *= fade;
    if (Number.isNaN(v)) return v;
    sum += v;
    weights += 1;
    return sum / weights;
  });
}

// `each`: the length of a column, seconds or steps. Columns without a value stay without.
export function smoothedColumns(
  values: Float64Array,
  smoothing: Smoothing,
  each: number,
): Float64Array {
  if (smoothing.method === "ema") return averaged(values, smoothing.amount, each);
  const [weight, reach] = windowOf(smoothing);
  const most = Math.min(values.length, Math.floor(reach / each));
  return values.map((v, i) => {
    if (Number.isNaN(v)) return v;
    let [sum, weights] = [0, 0];
    for (let k = Math.max(0, i - most); k <= Math.min(values.length - 1, i + most); k++) {
      const other = values[k] as number;
      if (Number.isNaN(other)) continue;
      const mine = weight(Math.abs(k - i) * each);
      sum += other * mine;
      weights += mine;
    }
    return sum / weights;
  });
}
