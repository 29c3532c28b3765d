// The stand-in's answers about lists of runs: search with facets, sparklines, an experiment's overview.
const kFacts = new WeakMap();
const kModels = ["resnet50", "effnetv2", "bert-base", ""];
const kRates = ["0.1", "0.01", "0.001"];

const seedOf = (run) => Number.parseInt(run.id.slice(0, 6), 16);

// Parameters and tags of any run, by its id.
function about(run, sizes) {
  const seed = seedOf(run);
  const params = {
    lr: kRates[seed % 3],
    batch_size: String(32 << (seed % 4)),
    seed: String(seed % 5),
  };
  const tags =
    seed % 4 === 0 ? { purpose: "paper" } : seed % 7 === 0 ? { purpose: "<b>try & see</b>" } : {};
  const shared = run.workload !== null && sizes.get(run.workload_id) > 1;
  return {
    params,
    tags,
    status: run.status,
    host: run.host,
    collocation: shared ? (seed % 3 ? "mps" : "together") : "alone",
    model: kModels[seed % 4],
    device: `GPU ${seed % 2}`,
    workload: run.workload ?? "",
    experiment: run.experiment,
  };
}

function lookUp(facts, key) {
  const [, entity, name] = /^(params|tags)\.(.*)$/s.exec(key) ?? [];
  return entity === undefined ? (facts[key] ?? "") : (facts[entity][name] ?? "");
}

const kTests = {
  "=": (a, b) => a === b,
  "!=": (a, b) => a !== b,
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
};

// Comparisons of metrics.loss and params, enough to look at.
function passes(run, facts, filter) {
  return filter.split(/\s+and\s+/i).every((part) => {
    const [, entity, name, operator, value] =
      /^(\w+)\.(\S+?)\s*([<>=!]+)\s*'?(.*?)'?$/.exec(part.trim()) ?? [];
    if (entity === "metrics")
      return run.loss !== null && kTests[operator](run.loss.value, Number(value));
    return entity === undefined || kTests[operator](lookUp(facts, `${entity}.${name}`), value);
  });
}

function shownValue(run, facts, key) {
  if (key.startsWith("metrics.")) return run.loss?.value ?? null;
  if (/^(params|tags)\.|^(collocation|model|device)$/.test(key)) return lookUp(facts, key) || null;
  return { start: Number(run.start_ns), duration: run.duration_s }[key] ?? run[key] ?? null;
}

function counted(values) {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].map(([value, count]) => ({ value, count })).sort((a, b) => b.count - a.count);
}

export function searchRuns(runs, body) {
  const sizes = new Map();
  for (const run of runs) sizes.set(run.workload_id, (sizes.get(run.workload_id) ?? 0) + 1);
  const facts = new Map(runs.map((run) => [run, kFacts.get(run) ?? about(run, sizes)]));
  for (const [run, known] of facts) kFacts.set(run, known);
  const where = Object.entries(body.where ?? {});
  const words = (body.text ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const plain = runs.filter((run) => {
    const known = facts.get(run);
    const pairs = Object.entries({ ...known.params, ...known.tags }).map(([k, v]) => `${k}=${v}`);
    const text = [
      run.name,
      run.experiment,
      run.workload,
      run.host,
      (run.command ?? []).join(" "),
      ...pairs,
    ]
      .join("\n")
      .toLowerCase();
    return (
      (!body.experiments || body.experiments.includes(run.experiment_id)) &&
      (!body.workloads || body.workloads.includes(run.workload_id)) &&
      (!body.runs || body.runs.includes(run.id)) &&
      words.every((word) => text.includes(word) || run.id.startsWith(word)) &&
      (!body.filter || passes(run, known, body.filter))
    );
  });
  const holds = (run, but) =>
    where.every(([key, values]) => key === but || values.includes(lookUp(facts.get(run), key)));
  const found = plain.filter((run) => holds(run));
  const order = body.order ?? []; // newest first as they are
  const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b) : a - b);
  found.sort((a, b) => {
    for (const { by, descending } of order) {
      const [x, y] = [shownValue(a, facts.get(a), by), shownValue(b, facts.get(b), by)];
      if (x === y) continue;
      if (x === null || y === null) return x === null ? 1 : -1;
      return descending ? compare(y, x) : compare(x, y);
    }
    return 0;
  });
  const facets = {};
  for (const facet of body.facets ?? []) {
    if (facet === "params" || facet === "tags") {
      const keys = new Set(plain.flatMap((run) => Object.keys(facts.get(run)[facet])));
      facets[facet] = [...keys].sort().map((key) => {
        const full = `${facet}.${key}`;
        const values = counted(
          plain.filter((r) => holds(r, full)).map((r) => lookUp(facts.get(r), full)),
        );
        return { key, values: values.slice(0, 20), distinct: values.length };
      });
    } else {
      facets[facet] = counted(
        plain.filter((r) => holds(r, facet)).map((r) => lookUp(facts.get(r), facet)),
      );
    }
  }
  const { offset = 0, limit = 200, columns = [] } = body;
  return {
    runs: found.slice(offset, offset + limit).map((run) => ({
      ...run,
      values: Object.fromEntries(columns.map((key) => [key, shownValue(run, facts.get(run), key)])),
    })),
    total: found.length,
    offset,
    facets,
    truncated_facets: false,
  };
}

export function sparklines(runs, { runs: ids, metric = "loss", points = 32 }) {
  const out = {};
  for (const id of ids) {
    const run = runs.find((one) => one.id === id);
    if (!run?.loss) {
      out[id] = null;
      continue;
    }
    const seed = seedOf(run);
    const y = Array.from({ length: points }, (_, i) => {
      const bend = Math.exp((-i * (1 + (seed % 5))) / points);
      const jitter = (((seed >> (i % 16)) & 7) - 3) * 0.01;
      return seed % 11 === 0 && i > 12 && i < 17 ? null : run.loss.value + bend + jitter;
    });
    const known = y.filter((value) => value !== null);
    out[id] = {
      metric,
      y,
      first: y[0],
      last: y.at(-1),
      min: Math.min(...known),
      max: Math.max(...known),
    };
  }
  return { sparklines: out };
}

export function overview(runs, experiment, { metric = "loss", of = "last" }) {
  const sizes = new Map();
  for (const run of runs) sizes.set(run.workload_id, (sizes.get(run.workload_id) ?? 0) + 1);
  const workloads = new Map();
  for (const run of runs) {
    if (run.experiment_id !== experiment.id) continue;
    const known = about(run, sizes);
    const workload = workloads.get(run.workload_id) ?? {
      id: run.workload_id,
      name: run.workload,
      collocation: known.collocation,
      runs: [],
    };
    workloads.set(run.workload_id, workload);
    const { id, name, status, duration_s, start_ns } = run;
    const scale = { last: 1, mean: 1.6, min: 0.9, max: 2.4, count: 1000 }[of] ?? 1;
    const value = run.loss === null || metric.startsWith("gpu") ? null : run.loss.value * scale;
    workload.runs.push({ id, name, status, model: known.model, value, duration_s, start_ns });
  }
  const all = [...workloads.values()];
  return {
    experiment,
    workloads: all,
    collocations: [...new Set(all.map((w) => w.collocation))].sort(),
    unit: "",
  };
}
