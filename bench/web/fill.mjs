// Runs logged through MLflow's interface: those of the board, thousands for the list, one that goes on.
const kAtOnce = 8;
const kBatch = 1000;

const api = (url) => async (path, body) => {
  const answer = await fetch(`${url}/api/2.0/mlflow/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
};

// Calls `work(i)` for every i below `count`, some at once.
async function each(count, work, atOnce = kAtOnce) {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

// Noise on a slow wave, a spike now and then; the same for the same arguments.
function pointOf(run, metric, i) {
  let bits = Math.imul(i + 1, 0x9e3779b1) ^ Math.imul(run * 31 + metric + 7, 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 15), 0x2c1b3c6d);
  const noise = ((bits ^ (bits >>> 13)) >>> 0) / 2 ** 32;
  const wave = 120 + 40 * Math.sin(i / (900 + 37 * metric)) + 6 * run;
  return Number((wave + 12 * noise + (noise > 0.9995 ? 150 : 0)).toFixed(3));
}

export const metricName = (i) => `bench/metric${String(i).padStart(2, "0")}`;

export async function newRun(url, name, { start, experiment }) {
  const { run } = await api(url)("runs/create", {
    experiment_id: experiment,
    run_name: name,
    start_time: start,
  });
  return run.info.run_id;
}

export async function newExperiment(url, name) {
  return (await api(url)("experiments/create", { name: `${name} ${Date.now()}` })).experiment_id;
}

// `points` of every metric, a tenth of a second apart.
export async function logSeries(url, run, { number, metrics, points, start }) {
  const call = api(url);
  const atATime = Math.floor(kBatch / metrics);
  for (let from = 0; from < points; from += atATime) {
    const batch = [];
    for (let i = from; i < Math.min(points, from + atATime); i++)
      for (let m = 0; m < metrics; m++)
        batch.push({
          key: metricName(m),
          value: pointOf(number, m, i),
          timestamp: start + i * 100,
          step: i,
        });
    await call("runs/log-batch", { run_id: run, metrics: batch });
  }
}

export const endRun = (url, run, end) =>
  api(url)("runs/update", { run_id: run, status: "FINISHED", end_time: end });

// The runs of the board, which all began at once. Returns their ids.
export async function fillBoard(url, { runs, metrics, points, atOnce }) {
  const experiment = await newExperiment(url, "board");
  const start = Date.now() - points * 100 - 3_600_000;
  const ids = [];
  await each(runs, async (number) => {
    const id = await newRun(url, `run-${number}`, { start, experiment });
    ids[number] = id;
    await logSeries(url, id, { number, metrics, points, start });
    await endRun(url, id, start + points * 100);
  }, atOnce);
  return ids;
}

export async function fillList(url, runs) {
  const call = api(url);
  const experiments = [];
  for (let i = 0; i < 5; i++) experiments.push(await newExperiment(url, `list-${i}`));
  const start = Date.now() - 7 * 86_400_000;
  await each(runs, async (i) => {
    const at = start + i * 1000;
    const run = await newRun(url, `list-${i}`, { start: at, experiment: experiments[i % 5] });
    const metrics = [
      { key: "loss", value: 1 / (1 + (i % 997)), timestamp: at + 500, step: 1 },
      { key: "accuracy", value: (i % 1000) / 1000, timestamp: at + 500, step: 1 },
    ];
    const params = [
      { key: "lr", value: `0.${1 + (i % 9)}` },
      { key: "model", value: `resnet${18 + 16 * (i % 3)}` },
      { key: "seed", value: String(i) },
    ];
    await call("runs/log-batch", {
      run_id: run,
      metrics,
      params,
      tags: [{ key: "device", value: `gpu${i % 4}` }],
    });
    await endRun(url, run, at + 900);
  });
}

// A run with some history that gets one point of every metric ten times a second until `stop()`, which says how many a
// second it really got.
export async function liveRun(url, { metrics, history }) {
  const call = api(url);
  const start = Date.now() - history * 100;
  const run = await newRun(url, "live", { start, experiment: await newExperiment(url, "live") });
  await logSeries(url, run, { number: 0, metrics, points: history, start });
  const begin = performance.now();
  let step = history;
  let sent = Promise.resolve();
  const timer = setInterval(() => {
    const i = step++;
    const batch = Array.from({ length: metrics }, (_, m) => {
      return { key: metricName(m), value: pointOf(0, m, i), timestamp: Date.now(), step: i };
    });
    sent = sent.then(() => call("runs/log-batch", { run_id: run, metrics: batch }));
  }, 100);
  const stop = async () => {
    clearInterval(timer);
    await sent;
    await endRun(url, run, Date.now());
    return (1000 * (step - history)) / (performance.now() - begin);
  };
  return { run, stop };
}
