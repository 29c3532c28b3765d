// A stand-in for `corral serve`, for development only: docs/api.md with the invented data of data.mjs, and
// dist/ under the same policy as the real server.
//   node mock/server.mjs [--port 5173] [--mode full|empty|failing] [--runs 260] [--dist FOLDER]
import { readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { parseArgs } from "node:util";
import * as data from "./data.mjs";
import { overview, searchRuns, sparklines } from "./search.mjs";

const { values: flags } = parseArgs({
  options: {
    port: { type: "string", default: "5173" },
    mode: { type: "string", default: "full" },
    runs: { type: "string", default: "260" },
    dist: { type: "string", default: new URL("../dist", import.meta.url).pathname },
  },
});
const kDist = flags.dist;
const kOlder = data.olderRuns(Number(flags.runs));
const allRuns = () =>
  flags.mode === "empty" ? [] : [...data.kRuns.map(data.runRow).reverse(), ...kOlder];
const experiments = () =>
  [
    { id: "1", name: "digits" },
    { id: "2", name: "collocation-a100" },
  ].flatMap((experiment) => {
    const runs = allRuns().filter((run) => run.experiment_id === experiment.id);
    const running = runs.filter((run) => run.status === "running").length;
    const about = { ...experiment, created_ns: data.createdNs, runs: runs.length, running };
    return runs.length > 0 ? [about] : [];
  });
const kTypes = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};
const kPolicy =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'";

const json = (response, body, status = 200) => {
  response.writeHead(status, { "Content-Type": "application/json" });
  response.end(JSON.stringify(body));
};
const fail = (response, status, code, message) =>
  json(response, { error: { code, message } }, status);

// The points of one series on an axis: seconds since an origin (of 1970, or its own), or steps, of which every point is
// one.
function pointsOn(id, { axis, origin, mode }) {
  const rate = mode === "rate" || (mode !== "value" && data.kindOf(id) === "counter");
  const { t, v } = data.samples(id, rate) ?? { t: [], v: [] };
  const zero = data.toSeconds(origin);
  return { rate, v, t: axis === "step" ? t.map((_, i) => i) : t.map((at) => at - zero) };
}

// What a question is about: from–to on its axis.
function asked(question) {
  const { axis, width, from_ns, to_ns, from_step, to_step } = question;
  const [first, last] = axis === "step" ? [from_step, to_step] : [from_ns, to_ns];
  const scale = axis === "step" ? 1 : 1e9;
  const [from, to] = [Number(first) / scale, Number(last) / scale];
  if (!(width >= 1 && width <= 8192) || !(to > from)) return null;
  return { first: BigInt(first), last: BigInt(last), from, to };
}

const kAxes = ["time", "relative", "step"];

// M4 columns of one series over [from, to), as the server answers them.
function columns(id, { from, to, width, ...at }) {
  const { rate, t, v } = pointsOn(id, at);
  const cols = [];
  let points = 0;
  let low = 0;
  for (let high = t.length; low < high; ) {
    const middle = (low + high) >> 1;
    if (t[middle] < from) low = middle + 1;
    else high = middle;
  }
  for (let i = low; i < t.length && t[i] < to; i++) {
    const x = ((t[i] - from) / (to - from)) * width;
    const at = Math.floor(x);
    let c = cols.at(-1);
    if (c?.at !== at) {
      c = { at, n: 0, first: v[i], min: v[i], max: v[i], last: v[i], x: [x, x, x, x] };
      cols.push(c);
    }
    if (v[i] < c.min) [c.min, c.x[1]] = [v[i], x];
    if (v[i] > c.max) [c.max, c.x[2]] = [v[i], x];
    [c.last, c.x[3]] = [v[i], x];
    c.n++;
    points++;
  }
  const n = cols.length;
  const segments = n > 0 ? 1 : 0; // one, which begins at column 0
  const size = 72 + n * 52 + segments * 4;
  const out = Buffer.alloc(size + ((8 - (size % 8)) % 8));
  out.writeBigInt64LE(BigInt(id), 0);
  out.writeBigUInt64LE(BigInt(points), 8);
  out.writeUInt32LE(n, 24);
  out.writeUInt8(1, 28);
  out.writeUInt8(rate ? 1 : 0, 29);
  out.writeUInt32LE(segments, 60);
  for (const [k, c] of cols.entries()) {
    for (const [j, value] of [c.first, c.min, c.max, c.last].entries()) {
      out.writeDoubleLE(value, 72 + (j * n + k) * 8);
      out.writeFloatLE(c.x[j], 72 + n * 32 + (j * n + k) * 4);
    }
    out.writeUInt32LE(c.n, 72 + n * 48 + k * 4);
  }
  return out;
}

function headerOf(magic, version, { count, width, axis, range }) {
  const header = Buffer.alloc(32);
  header.write(magic, 0);
  header.writeUInt16LE(version, 4);
  header.writeUInt16LE(count, 6);
  header.writeUInt32LE(width, 8);
  header.writeUInt32LE(kAxes.indexOf(axis), 12);
  header.writeBigInt64LE(range.first, 16);
  header.writeBigInt64LE(range.last, 24);
  return header;
}

function charts(response, body) {
  const question = JSON.parse(body);
  const { series, origins_ns = [], width, mode, axis = "time" } = question;
  const range = asked(question);
  if (range === null)
    return fail(response, 400, "invalid_argument", "width must be between 1 and 8192");
  const parts = series.map((id, i) =>
    columns(id, { ...range, width, mode, axis, origin: origins_ns[i] ?? "0" }),
  );
  response.writeHead(200, { "Content-Type": "application/x-corral-chart" });
  const header = headerOf("CRCH", 2, { count: series.length, width, axis, range });
  response.end(Buffer.concat([header, ...parts]));
}

// The mean of each pixel column, smoothed over its neighbours where that was asked for.
function meanLine(id, { from, to, width, window, ...at }) {
  const { t, v } = pointsOn(id, at);
  const [sums, counts] = [new Float64Array(width), new Float64Array(width)];
  t.forEach((place, i) => {
    const centre = Math.floor(((place - from) / (to - from)) * width);
    for (let k = Math.max(0, centre - window); k <= Math.min(width - 1, centre + window); k++) {
      sums[k] += v[i];
      counts[k]++;
    }
  });
  return sums.map((sum, i) => (counts[i] === 0 ? Number.NaN : sum / counts[i]));
}

const kLineKinds = ["mean", "smooth", "integral", "ratio", "group"];

// Means and smoothed lines; of a group its first series stands for all.
function lines(response, body) {
  const question = JSON.parse(body);
  const { width, axis = "time" } = question;
  const range = asked(question);
  if (range === null)
    return fail(response, 400, "invalid_argument", "width must be between 1 and 8192");
  const parts = question.lines.map((line) => {
    const { kind, series, origins_ns = [], mode } = line;
    const window = kind === "smooth" ? 12 : 0;
    const at = { ...range, width, window, mode, axis, origin: origins_ns[0] ?? "0" };
    const values = meanLine(series[0], at);
    const arrays = kind === "group" ? 10 : 1;
    const head = Buffer.alloc(48);
    head.writeUInt8(kLineKinds.indexOf(kind), 0);
    head.writeUInt8(1, 1);
    head.writeUInt32LE(arrays, 4);
    head.writeBigUInt64LE(BigInt(width), 8);
    head.writeUInt32LE(series.length, 28);
    const bytes = Buffer.from(values.buffer);
    return Buffer.concat([head, ...Array.from({ length: arrays }, () => bytes)]);
  });
  response.writeHead(200, { "Content-Type": "application/x-corral-lines" });
  const header = headerOf("CRLN", 1, { count: parts.length, width, axis, range });
  response.end(Buffer.concat([header, ...parts]));
}

// Last, mean, least and greatest value of a metric in each run.
function summaries(response, body) {
  const { runs, metrics } = JSON.parse(body);
  const valuesOf = (run) =>
    Object.fromEntries(
      metrics.map((name) => {
        const found = data.metricsOf(run).find((metric) => metric.name === name);
        if (found === undefined) return [name, null];
        const { unit, owner, last, mean, min, max } = found;
        return [name, { unit, rate: false, shared: owner !== "run", last, mean, min, max }];
      }),
    );
  json(response, { summaries: runs.map((run) => ({ run, values: valuesOf(run) })) });
}

function list(response, query) {
  let runs = allRuns();
  for (const [key, field] of [
    ["experiment", "experiment_id"],
    ["workload", "workload_id"],
    ["status", "status"],
  ]) {
    const wanted = query.get(key);
    if (wanted) runs = runs.filter((run) => run[field] === wanted);
  }
  const before = Number(query.get("before") ?? 0);
  const limit = Number(query.get("limit") ?? 100);
  json(response, {
    runs: runs.slice(before, before + limit),
    next: before + limit < runs.length ? String(before + limit) : null,
    total: runs.length,
  });
}

function stream(response) {
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
  response.write(": hello\n\n");
  const timer = setInterval(() => {
    if (flags.mode === "full")
      response.write(`event: data\ndata: ${JSON.stringify({ runs: [data.kRuns[1].id] })}\n\n`);
  }, 500);
  response.on("close", () => clearInterval(timer));
}

function oneRun(response, key, what, query) {
  const id = decodeURIComponent(key);
  const run = data.kRuns.find(
    (r) => r.id === id || r.name === id || (id.length >= 4 && r.id.startsWith(id)),
  );
  const older = kOlder.find((r) => r.id === id);
  if (flags.mode === "empty" || (!run && !older))
    return fail(response, 404, "not_found", `no run has the id or name "${id}"`);
  if (!run) {
    const detail = {
      ...older,
      params: {},
      tags: {},
      info: {},
      end_reason: "exit",
      unavailable: [],
      drops: { points: 0, frames: 0, ticks: 0 },
      neighbours: [],
      workload_start_ns: older.start_ns,
    };
    return json(
      response,
      {
        undefined: detail,
        metrics: { metrics: [] },
        phases: { phases: [] },
        logs: { chunks: [], next: null, end: {}, gaps: [] },
      }[what] ?? detail,
    );
  }
  if (what === undefined) return json(response, data.runDetail(run));
  if (what === "metrics") return json(response, { metrics: data.metricsOf(run.id) });
  if (what === "phases") return json(response, { phases: data.phasesOf(run) });
  if (what === "events") return json(response, { events: [] });
  if (what === "health") return json(response, { parts: data.healthOf(run), coverage: [] });
  if (what === "notes") return json(response, { notes: [] });
  if (what === "artifacts") return json(response, { artifacts: [] });
  if (what !== "logs") return fail(response, 404, "not_found", "no such route");
  const text = data.logOf(run);
  const from = Number(query.get("from") ?? 0);
  const chunks =
    from < text.length
      ? [
          {
            stream: "stdout",
            offset: String(from),
            time_ns: data.createdNs,
            text: text.slice(from),
          },
        ]
      : [];
  if (from === 0)
    chunks.unshift({
      stream: "stderr",
      offset: "0",
      time_ns: data.createdNs,
      text: "UserWarning: torch.set_num_threads was not called; using 32 threads\n",
    });
  json(response, {
    chunks,
    next: String(text.length),
    end: { stdout: String(text.length) },
    gaps: [],
  });
}

function api(response, url, body) {
  const parts = url.pathname.split("/").slice(4);
  if (parts[0] === "stream") return stream(response);
  if (flags.mode === "failing")
    return fail(response, 500, "io", "cannot read the store: disk I/O error");
  if (parts[0] === "charts") return charts(response, body);
  if (parts[0] === "lines") return lines(response, body);
  if (parts[0] === "summaries") return summaries(response, body);
  if (parts[0] === "boards") return json(response, { boards: [] });
  if (parts[0] === "runs" && parts.length === 1) return list(response, url.searchParams);
  if (parts[0] === "runs" && parts[1] === "search")
    return json(response, searchRuns(allRuns(), JSON.parse(body)));
  if (parts[0] === "runs") return oneRun(response, parts[1], parts[2], url.searchParams);
  if (parts[0] === "sparklines") return json(response, sparklines(allRuns(), JSON.parse(body)));
  if (parts[0] === "experiments" && parts[2] === "overview") {
    const experiment = experiments().find((one) => one.id === parts[1]);
    if (!experiment)
      return fail(response, 404, "not_found", `no experiment has the id ${parts[1]}`);
    const asked = Object.fromEntries(url.searchParams);
    return json(response, overview(allRuns(), experiment, asked));
  }
  if (parts[0] === "experiments") return json(response, { experiments: experiments() });
  if (parts[0] === "plans") return json(response, { plans: [] });
  if (parts[0] === "workloads") {
    const of = url.searchParams.get("experiment");
    const groups = new Map();
    for (const run of allRuns()) {
      if (run.experiment_id !== of) continue;
      const w = groups.get(run.workload_id) ?? {
        id: run.workload_id,
        name: run.workload,
        experiment_id: of,
        created_ns: run.start_ns,
        runs: [],
      };
      groups.set(run.workload_id, w);
      w.runs.push(run.id);
    }
    return json(response, { workloads: [...groups.values()] });
  }
  fail(response, 404, "not_found", "no such route");
}

function page(response, path) {
  let file = join(kDist, normalize(path));
  try {
    if (!statSync(file).isFile()) throw new Error("a folder");
  } catch {
    if (path.startsWith("/assets/")) return fail(response, 404, "not_found", "no such asset");
    file = join(kDist, "index.html");
  }
  response.writeHead(200, {
    "Content-Type": kTypes[extname(file)] ?? "application/octet-stream",
    "Content-Security-Policy": kPolicy,
  });
  response.end(readFileSync(file));
}

const server = createServer((request, response) => {
  const url = new URL(request.url, "http://localhost");
  let body = "";
  request.on("data", (part) => {
    body += part;
  });
  request.on("end", () => {
    if (url.pathname.startsWith("/api/corral/v1/")) api(response, url, body);
    else page(response, url.pathname);
  });
});
server.listen(Number(flags.port), "127.0.0.1", () =>
  console.log(`http://127.0.0.1:${server.address().port} (${flags.mode})`),
);
