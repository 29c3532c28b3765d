// @vitest-environment node
// The page's stand-in for a server, `npm run mock`, answers what the page asks.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { getJson, sendJson } from "./client";
import type { Metric, RunDetail, RunPage } from "./types";
import { askCharts } from "./useCharts";

let server: ChildProcess;
const signal = new AbortController().signal;

beforeAll(async () => {
  server = spawn("node", ["mock/server.mjs", "--port", "0"], { stdio: ["ignore", "pipe", "pipe"] });
  const [said] = (await once(server.stdout as NonNullable<typeof server.stdout>, "data")) as [
    Buffer,
  ];
  const url = /http:\S+/.exec(String(said))?.[0];
  const plain = fetch;
  vi.stubGlobal("window", {});
  vi.stubGlobal("fetch", (path: string, init?: RequestInit) => plain(`${url}${path}`, init));
});
afterAll(() => {
  server.kill();
  vi.unstubAllGlobals();
});

async function known() {
  const { runs } = await getJson<RunPage>("/runs", {}, signal);
  const run = runs.find(({ name }) => name === "calm-otter");
  const detail = await getJson<RunDetail>(`/runs/${run?.id}`, {}, signal);
  const { metrics } = await getJson<{ metrics: Metric[] }>(`/runs/${run?.id}/metrics`, {}, signal);
  const loss = metrics.find(({ name }) => /loss/.test(name)) as Metric;
  return { detail, loss };
}

it("draws every kind of line on the axes of time and steps", async () => {
  const { detail, loss } = await known();
  const origin = BigInt(detail.workload_start_ns);
  const series = [{ id: loss.series, origin }];
  const origins_ns = [String(origin)];
  const lines = [
    { key: "mean", kind: "mean" as const, series: [loss.series], origins_ns },
    { key: "group", kind: "group" as const, series: [loss.series], origins_ns },
  ];
  const common = { series, lines, from: 0, width: 200, revision: 0 };
  for (const [axis, to] of [
    ["time", 300],
    ["step", 100],
  ] as const) {
    const on = axis === "time" ? lines : lines.map(({ origins_ns: _, ...line }) => line);
    const answer = await askCharts({ ...common, lines: on, axis, to }, true);
    expect(answer.series.get(loss.series)?.points, axis).toBeGreaterThan(20);
    for (const { key } of lines) {
      const values = answer.lines.get(key)?.arrays[0] ?? new Float64Array();
      expect(values.filter(Number.isFinite).length, `${axis} ${key}`).toBeGreaterThan(20);
    }
  }
});

it("has what a run's page and a summary ask for beside charts", async () => {
  const { detail, loss } = await known();
  const asks = ["events", "notes", "artifacts", "phases"].map((what) =>
    getJson(`/runs/${detail.id}/${what}`, {}, signal),
  );
  expect(await Promise.all([...asks, getJson("/boards", {}, signal)])).toHaveLength(5);
  const body = { runs: [detail.id], metrics: [loss.name], of: ["last"] };
  const { summaries } = await sendJson<{ summaries: { values: object }[] }>(
    "POST",
    "/summaries",
    body,
  );
  expect(summaries[0]?.values).toMatchObject({ [loss.name]: { last: loss.last } });
});
