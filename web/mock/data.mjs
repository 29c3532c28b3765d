// Invented data for development and tests: two runs of "digits" in one workload (the second still running),
// about sixty series of host and runs, phases, logs; and older runs that fill the list.

const hex = (seed) => {
  let state = seed * 2654435761 + 12345;
  let out = "";
  for (let i = 0; i < 32; i++) {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    out += ((state >>> 16) & 15).toString(16);
  }
  return out;
};
// Deterministic noise in [-1, 1] for a series and a sample.
const noise = (seed, i) => {
  let h = Math.imul(i + 1, 374761393) ^ Math.imul(seed + 7, 668265263);
  h = Math.imul(h ^ (h >>> 13), 1274126177);
  return ((h ^ (h >>> 16)) >>> 0) / 2147483648 - 1;
};

export const started = Date.now() - 380_000;
const ns = (seconds) => String(BigInt(started) * 1_000_000n + BigInt(Math.round(seconds * 1e9)));
export const now = () => (Date.now() - started) / 1000;

const kEpoch = 58;
const kEval = 7;
const inEval = (t) => t % (kEpoch + kEval) > kEpoch;
export const kRuns = [
  { id: hex(1), name: "calm-otter", from: 0, to: 331.4, seed: 1, pace: 1 },
  { id: hex(2), name: "brisk-heron", from: 14.2, to: null, seed: 2, pace: 0.72 },
];
export const kWorkload = hex(99);
const endOf = (run) => run.to ?? now();

// Every series: samples at `dt` from `from` to `until()`, value(t, i) or null where nothing is measured.
const kSeries = [];
function add(spec) {
  kSeries.push({
    series: kSeries.length + 11,
    source: "",
    unit: "",
    rate_unit: null,
    kind: "gauge",
    aggregation: "mean",
    description: "",
    dt: 0.5,
    ...spec,
  });
}
function counter(spec, rate) {
  const sums = [];
  const value = (_t, i) => {
    for (let k = sums.length; k <= i; k++)
      sums.push(
        (sums[k - 1] ?? 0) +
          Math.max(0, rate(spec.from + k * (spec.dt ?? 0.5), k)) * (spec.dt ?? 0.5),
      );
    return sums[i];
  };
  add({ ...spec, kind: "counter", aggregation: "sum", value });
}
for (const run of kRuns) {
  const own = { owner: "run", run: run.id, from: run.from, until: () => endOf(run) };
  const s = run.seed;
  const local = (t) => t - run.from;
  const train = (t) => !inEval(local(t));
  const loss = (t) => 0.06 + 2.25 * Math.exp((-local(t) * run.pace) / 75);
  add({
    ...own,
    name: "loss",
    group: "software",
    dt: 0.05,
    value: (t, i) =>
      train(t) ? loss(t) * (1 + 0.12 * noise(s, i)) + (noise(s + 40, i) > 0.997 ? 0.5 : 0) : null,
  });
  add({
    ...own,
    name: "accuracy",
    group: "software",
    dt: 0.05,
    value: (t, i) =>
      train(t)
        ? 0.985 - 0.87 * Math.exp((-local(t) * run.pace) / 60) + 0.02 * noise(s + 1, i)
        : null,
  });
  add({
    ...own,
    name: "val/accuracy",
    group: "software",
    from: run.from + kEpoch + kEval,
    dt: kEpoch + kEval,
    value: (_t, i) => 0.975 - 0.3 * Math.exp(-i * run.pace),
  });
  add({
    ...own,
    name: "samples_per_second",
    group: "software",
    unit: "samples/s",
    dt: 0.5,
    value: (t, i) => (train(t) ? (s === 1 ? 1840 : 1120) * (1 + 0.03 * noise(s + 2, i)) : null),
  });
  add({ ...own, name: "learning_rate", group: "software", dt: 1, value: () => 0.001 });
  counter(
    {
      ...own,
      name: "run.cpu.used",
      group: "cpu",
      unit: "s",
      rate_unit: "cores",
      dt: 0.1,
      description: "CPU time of the run's process tree",
    },
    (t, k) =>
      (train(t) ? 3.4 - s * 0.7 : 0.9) *
      (1 + 0.16 * noise(s + 3, k)) *
      (noise(s + 50, k) > 0.99 ? 0.1 : 1),
  );
  add({
    ...own,
    name: "run.memory.rss",
    group: "memory",
    unit: "B",
    dt: 0.1,
    description: "Resident memory of the run's process tree",
    value: (t, i) =>
      (1.1 + 0.5 * s) * 2 ** 30 * (1 - 0.55 * Math.exp(-local(t) / 9)) + 2 ** 26 * noise(s + 4, i),
  });
  counter(
    { ...own, name: "run.io.read_block_bytes", group: "io", unit: "B", rate_unit: "B/s" },
    (t, k) => (local(t) % 65 < 4 ? 240e6 : 2e6) * (1 + 0.4 * noise(s + 5, k)),
  );
  counter(
    { ...own, name: "run.io.write_block_bytes", group: "io", unit: "B", rate_unit: "B/s" },
    (t, _k) => (local(t) % 65 > 63 ? 90e6 : 0),
  );
  counter(
    { ...own, name: "run.scheduler.context_switches", group: "scheduler", rate_unit: "1/s" },
    (_t, k) => 2400 + 900 * noise(s + 6, k),
  );
  counter(
    { ...own, name: "run.scheduler.wait", group: "scheduler", unit: "s", rate_unit: "cores" },
    (_t, k) => 0.02 + 0.02 * noise(s + 7, k),
  );
  add({ ...own, name: "run.threads", group: "scheduler", dt: 1, value: () => 9 });
  add({ ...own, name: "run.memory.swap", group: "memory", unit: "B", dt: 1, value: () => 0 });
  counter(
    {
      ...own,
      name: "corral.supervisor.cpu",
      group: "collector",
      unit: "s",
      rate_unit: "cores",
      dt: 1,
    },
    (_t, k) => 0.0021 + 0.0006 * noise(s + 8, k),
  );
}
const host = { owner: "workload", run: null, from: 0, until: () => now() };
const busy = (t, i) =>
  Math.min(
    100,
    20 + (t < 331 ? 38 : 0) + (t > 14 ? 26 : 0) - (inEval(t) ? 22 : 0) + 9 * noise(20, i),
  );
counter(
  { ...host, name: "host.cpu.busy", group: "cpu", unit: "s", rate_unit: "cores", dt: 0.1 },
  (t, k) => busy(t, k) * 0.04,
);
for (let c = 0; c < 4; c++)
  counter(
    {
      ...host,
      name: "host.cpu.core.busy",
      source: `cpu${c}`,
      group: "cpu",
      unit: "s",
      rate_unit: "cores",
    },
    (t, k) => (busy(t, k) + 14 * noise(30 + c, k) - c * 6) / 100,
  );
add({
  ...host,
  name: "host.cpu.frequency",
  group: "cpu",
  unit: "Hz",
  value: (_t, i) => 3.1e9 + 2e8 * noise(36, i),
});
add({
  ...host,
  name: "host.memory.used",
  group: "memory",
  unit: "B",
  dt: 0.1,
  value: (t, i) => 9.2e9 + (t < 331 ? 1.9e9 : 0) + 5e7 * noise(37, i),
});
add({
  ...host,
  name: "host.memory.cached",
  group: "memory",
  unit: "B",
  value: (t) => 4e9 + t * 1.5e6,
});
add({ ...host, name: "host.memory.total", group: "memory", unit: "B", value: () => 16 * 2 ** 30 });
for (const dev of ["eth0", "lo"])
  for (const way of ["rx", "tx"])
    counter(
      {
        ...host,
        name: `host.net.${way}`,
        source: dev,
        group: "network",
        unit: "B",
        rate_unit: "B/s",
      },
      (_t, k) => (dev === "lo" ? 2e3 : 8e4) * (1 + noise(38, k)),
    );
for (const dev of ["nvme0n1", "nvme1n1"])
  counter(
    { ...host, name: "host.disk.read", source: dev, group: "io", unit: "B", rate_unit: "B/s" },
    (t, k) => (dev === "nvme1n1" ? 0 : t % 65 < 4 ? 480e6 : 4e6) * (1 + 0.3 * noise(39, k)),
  );
for (const what of ["cpu", "memory", "io"])
  counter(
    {
      ...host,
      name: `host.pressure.${what}.some`,
      group: "pressure",
      unit: "s",
      rate_unit: "share",
    },
    (_t, k) => (what === "memory" ? 0 : 0.04 + 0.03 * noise(41, k)),
  );
for (const what of [
  "errors",
  "dropped",
  "collisions",
  "carrier",
  "fifo",
  "frame",
  "multicast",
  "compressed",
])
  for (const dev of ["eth0", "lo"])
    counter(
      { ...host, name: `host.net.${what}`, source: dev, group: "network", rate_unit: "1/s" },
      () => 0,
    );

const memo = new Map();
// Samples in [from, to) as [t, value] of the series; counters as differences per second.
export function samples(id, rate) {
  const s = kSeries.find((x) => x.series === id);
  if (!s) return null;
  const key = `${id}/${rate}`;
  const known = memo.get(key) ?? { next: 0, t: [], v: [] };
  memo.set(key, known);
  const end = s.until();
  for (; s.from + known.next * s.dt <= end; known.next++) {
    const t = s.from + known.next * s.dt;
    const value = s.value(t, known.next);
    if (value === null) continue;
    if (rate && known.next === 0) continue;
    known.t.push(t);
    known.v.push(rate ? (value - s.value(t - s.dt, known.next - 1)) / s.dt : value);
  }
  return known;
}
export const kindOf = (id) => kSeries.find((s) => s.series === id)?.kind;

export function metricsOf(runId) {
  return kSeries
    .filter((s) => s.run === runId || s.run === null)
    .map((s) => {
      const { t, v } = samples(s.series, false);
      const { value: _v, until: _u, dt: _d, from: _f, run: _r, ...rest } = s;
      let [min, max, sum] = [Infinity, -Infinity, 0];
      for (const x of v) {
        min = Math.min(min, x);
        max = Math.max(max, x);
        sum += x;
      }
      const has = v.length > 0;
      return {
        ...rest,
        points: v.length,
        first_ns: ns(t[0] ?? 0),
        last_ns: ns(t.at(-1) ?? 0),
        first_step: "0",
        last_step: String(v.length - 1),
        last: has ? v.at(-1) : null,
        min: has ? min : null,
        max: has ? max : null,
        mean: has ? sum / v.length : null,
        nan: 0,
      };
    });
}

export function phasesOf(run) {
  const out = [];
  const end = endOf(run);
  const put = (
    id,
    parent,
    name,
    kind,
    a,
    b,
    attributes = {},
    lane = `node7/${4700 + run.seed}/main`,
  ) => {
    if (a >= end) return;
    out.push({
      id,
      parent,
      name,
      type: name.split(" ")[0],
      kind,
      lane,
      start_ns: ns(a),
      end_ns: b <= end || run.to !== null ? ns(Math.min(b, end)) : null,
      attributes,
      links: [],
    });
  };
  for (let e = 0; e * (kEpoch + kEval) < end - run.from; e++) {
    const at = run.from + e * (kEpoch + kEval);
    put(`${e}`, null, "epoch", "compute", at, at + kEpoch, { index: e + 1 });
    put(`${e}w`, `${e}`, "data wait", "wait", at, at + 3.1);
    put(`${e}c`, `${e}`, "checkpoint", "io", at + kEpoch - 2, at + kEpoch);
    put(`${e}v`, null, "evaluation", "wait", at + kEpoch, at + kEpoch + kEval);
    for (let k = 0; k < 12; k++)
      put(
        `${e}l${k}`,
        null,
        "load",
        "io",
        at + 4 + k * 4.5,
        at + 6.2 + k * 4.5,
        { batch: k },
        `node7/${4700 + run.seed}/loader-0`,
      );
  }
  return out;
}

export function logOf(run) {
  let text = "";
  const end = endOf(run) - run.from;
  for (let t = 0; t < end; t += 2) {
    if (t % 66 === 0) text += `epoch ${1 + t / 66}\n`;
    text += `  step ${String(t * 20).padStart(5)}  loss ${(0.06 + 2.25 * Math.exp((-t * run.pace) / 75)).toFixed(4)}  lr 0.001\n`;
  }
  return text;
}

export function runRow(run) {
  const t = endOf(run);
  const v = samples(kSeries.find((s) => s.run === run.id && s.name === "loss").series, false).v;
  return {
    id: run.id,
    name: run.name,
    experiment_id: "1",
    experiment: "digits",
    workload_id: kWorkload,
    workload: "3",
    status: run.to === null ? "running" : "finished",
    start_ns: ns(run.from),
    end_ns: run.to === null ? null : ns(run.to),
    duration_s: t - run.from,
    exit_code: run.to === null ? null : 0,
    exit_signal: null,
    host: "node7",
    command: ["python3", "train.py", "--seed", String(run.seed), "--note", "wide net"],
    loss: { metric: "loss", value: v.at(-1), step: String(v.length - 1) },
  };
}

const kWords = ["amber", "brisk", "calm", "dusky", "eager", "fleet", "gentle", "hardy"];
const kBeasts = [
  "badger",
  "crane",
  "dunlin",
  "egret",
  "ferret",
  "gannet",
  "heron",
  "ibex",
  "jackdaw",
];
const kHostile = `<script>alert("x")</script> ‮right to left‬ ${"long ".repeat(40)}`;
const endOfOlder = (i) =>
  i % 17 === 4 ? "failed" : i % 23 === 7 ? "stopped" : i % 61 === 9 ? "unknown" : "finished";
export const olderRuns = (count) =>
  Array.from({ length: count }, (_, i) => {
    const status = endOfOlder(i);
    const from = -3600 * (i + 1) * 0.7;
    const duration = 40 + ((i * 7919) % 5400);
    return {
      id: hex(1000 + i),
      name: i === 5 ? kHostile : `${kWords[i % 8]}-${kBeasts[i % 9]}-${i}`,
      experiment_id: (i >> 1) % 3 ? "2" : "1",
      experiment: (i >> 1) % 3 ? "collocation-a100" : "digits",
      workload_id: hex(5000 + (i >> 1)),
      workload: (i >> 1) % 3 ? String(i >> 1) : null,
      status,
      start_ns: ns(from),
      end_ns: ns(from + duration),
      duration_s: duration,
      exit_code: status === "failed" ? 1 : 0,
      exit_signal: null,
      host: i % 2 ? "node7" : "node8",
      command:
        i % 19 === 3
          ? null
          : ["python3", (i >> 1) % 3 ? "resnet.py" : "train.py", "--batch", "128"],
      loss:
        status === "failed"
          ? null
          : { metric: "loss", value: 0.9 / (1 + (i % 13)), step: String(1200 + i) },
    };
  });

export function runDetail(run) {
  const other = kRuns.filter((r) => r !== run).map(({ id, name }) => ({ id, name }));
  return {
    ...runRow(run),
    params: { lr: "0.001", batch_size: "128", hidden: "256", seed: String(run.seed) },
    tags: { purpose: "demo" },
    info: {
      directory: "/home/ada/digits",
      user: "ada",
      kernel: "6.1.0-28-amd64",
      cpu: "AMD EPYC 7302P",
      cpus: 32,
      memory_bytes: 17179869184,
      git_commit: "4f2a9d1c",
      git_dirty: false,
      interpreter: "Python 3.11.2",
    },
    end_reason: run.to === null ? null : "exit",
    unavailable: [
      { source: "run.perf", reason: "perf_event_paranoid is 3, needs 2 or CAP_PERFMON" },
      { source: "host.power", reason: "no RAPL domain on this machine" },
    ],
    drops: { points: 0, frames: 0, ticks: 0 },
    neighbours: other,
    workload_start_ns: ns(0),
  };
}
export const toSeconds = (text) => Number(BigInt(text) - BigInt(started) * 1_000_000n) / 1e9;
export const createdNs = ns(0);

// Of the second run one hook of four has failed.
export function healthOf(run) {
  const failed = { state: "given up", reason: "TypeError: fit() got an unexpected argument" };
  return ["torch.optimizer", "torch.dataloader", "torch.save", "keras.fit"].map((name) => {
    const own = run.seed === 2 && name === "keras.fit" ? failed : { state: "active", reason: null };
    const problem = own.state !== "active";
    return { part: `capture.${name}`, process: "rank 0", ...own, at_ns: ns(run.from), problem };
  });
}
