import { describe, expect, it } from "vitest";
import { type Column, encode } from "../api/testing";
import type { Metric, RunDetail } from "../api/types";
import { linesOf } from "../board/lines";
import { buildCharts, shownRun } from "../board/model";
import { makingOf } from "../board/resolve";
import { kLight } from "../charts/theme";
import { makeFigure, svgText } from "../export/figure";
import { kPresets, optionsOf } from "../export/presets";
import type { Host } from "./ask";
import { drawn, type PlotOptions } from "./draw";

const kStart = 1_763_719_387_000_000_000n;

function run(id: string, part: Partial<RunDetail> = {}): RunDetail {
  return {
    id,
    name: `run ${id}`,
    experiment_id: "1",
    experiment: "e",
    workload_id: `w${id}`,
    workload: null,
    status: "finished",
    start_ns: String(kStart),
    end_ns: String(kStart + 100_000_000_000n),
    duration_s: 100,
    exit_code: 0,
    exit_signal: null,
    host: "h",
    command: null,
    loss: null,
    params: {},
    tags: {},
    info: {},
    end_reason: null,
    unavailable: [],
    drops: { points: 0, frames: 0, ticks: 0 },
    neighbours: [],
    workload_start_ns: String(kStart),
    ...part,
  };
}

function metric(series: number, name: string, part: Partial<Metric> = {}): Metric {
  return {
    ...{ series, name, source: "", owner: "run", unit: "s", rate_unit: null, kind: "gauge" },
    ...{ aggregation: "mean", group: "software", description: "", points: 500 },
    ...{ first_ns: String(kStart), last_ns: String(kStart + 99_000_000_000n) },
    ...{ first_step: "0", last_step: "499", last: 1, min: 0.5, max: 3, mean: 1, nan: 0 },
    ...part,
  } as Metric;
}

const columns: Column[] = Array.from({ length: 1000 }, (_, i) => {
  const y = 2 + Math.sin(i / 50);
  return { values: [y, y - 0.1, y + 0.2, y], x: [i, i + 0.2, i + 0.4, i + 0.6], count: 3 };
});

interface Served {
  runs: RunDetail[];
  metrics: Record<string, Metric[]>;
  // The number that each run has; all last two seconds.
  epochs?: Record<string, number>;
  empty?: boolean;
  events?: object[];
}

// A server of a few runs, and the paths that it was asked for.
function hostOf({ runs, metrics, epochs = {}, empty = false, events = [] }: Served) {
  const asked: string[] = [];
  const answers: Record<string, unknown> = {};
  for (const one of runs) {
    answers[`/runs/${one.id}`] = one;
    answers[`/runs/${one.id}/metrics`] = { metrics: metrics[one.id] ?? [] };
    answers[`/runs/${one.id}/notes`] = { notes: [] };
    answers[`/runs/${one.id}/events`] = { events };
    answers[`/runs/${one.id}/phases`] = { phases: [] };
    answers[`/runs/${one.id}/interest`] = { regions: [] };
    answers[`/runs/${one.id}/explain`] = { epochs: alike(epochs[one.id] ?? 0) };
    answers[`/runs?workload=${one.workload_id}&limit=200`] = { runs: [one] };
  }
  const host: Host = {
    get: <T>(path: string): T => {
      asked.push(path);
      if (!(path in answers)) throw new Error(`no route ${path}`);
      return answers[path] as T;
    },
    post: (path, body) => {
      asked.push(`${path} ${JSON.stringify(body)}`);
      if (path === "/lines") return smoothed(body as { lines: object[]; width: number });
      if (path === "/epochs") return epochPage(body as { runs: [string]; skip: number }, epochs);
      const { series, width } = body as { series: number[]; width: number };
      return encode(
        width,
        series.map((id) => ({ id: BigInt(id), columns: empty ? [] : columns.slice(0, width) })),
      );
    },
    near: (word, known) =>
      known.includes("loss") && word === "los" ? "; did you mean 'loss'?" : "",
  };
  return { host, asked };
}

const options = (part: Partial<PlotOptions> = {}): PlotOptions => ({
  runs: ["a", "b"],
  metrics: ["loss"],
  of: [],
  kind: "line",
  axis: "run",
  search: {},
  marks: true,
  style: "screen",
  look: {},
  server: "http://127.0.0.1:5000",
  ...part,
});

const two = {
  runs: [run("a"), run("b")],
  metrics: { a: [metric(1, "loss")], b: [metric(2, "loss")] },
};
const plotted = (part: Partial<PlotOptions> = {}, served: Served = two) =>
  drawn(options(part), hostOf(served).host);
const svgOf = (...given: Parameters<typeof plotted>) => svgText(plotted(...given).figure);

describe("a plot", () => {
  it("is the figure that the page makes of the same lines", () => {
    const { figure } = plotted({ style: "acm1", look: { title: "Loss", monochrome: true } });
    const shown = two.runs.map((one, i) => shownRun(one, i, kStart));
    const [def] = buildCharts(shown, two.metrics);
    const range = { from: 0, to: 100.05 };
    const series = new Map([1, 2].map((id) => [id, { ...figureColumns(), series: id }] as const));
    const asked = {
      axis: "time" as const,
      series: [],
      lines: [],
      ...range,
      width: 1024,
      revision: 0,
    };
    const answer = {
      series,
      lines: new Map(),
      pairs: new Map(),
      over: null,
      ...range,
      width: 1024,
      exact: true,
      growing: false,
      asked,
    };
    const making = makingOf(shown, {}, { axis: "run", x: null });
    const lines = linesOf(def as never, answer, { making, theme: kLight, hidden: new Set() });
    const spec = {
      ...range,
      ...{ width: 0, height: 0, unit: "s", zoomed: false, theme: kLight, kind: "line" as const },
      x: { kind: "time" as const, ...range },
    };
    const link = "http://127.0.0.1:5000/board?run=a&run=b&metric=loss&x=run";
    const page = makeFigure(
      { lines, spec, link, xName: "run time", yName: "loss" },
      { ...optionsOf(kPresets[1] as never), title: "Loss", monochrome: true },
    );
    expect(svgText(figure)).toBe(svgText(page));
  });

  it("has titles of axes with units, unless they are unwanted", () => {
    const svg = svgOf();
    expect(svg).toContain(">run time (min:s)</text>");
    expect(svg).toContain(">loss (s)</text>");
    expect(svgOf({ look: { axes: false } })).not.toContain("run time");
    expect(svgOf({ axis: "step" })).toContain(">step</text>");
    expect(svgOf({ axis: "wall" })).toMatch(/>wall clock \(2\d Nov 2025, UTC[^)]*\)</);
  });

  it("names in its link what it shows, so that the page shows it again", () => {
    const link = (part: Partial<PlotOptions>) => plotted(part).figure.link.split("/board")[1];
    expect(link({ axis: "workload" })).toBe("?run=a&run=b&metric=loss");
    expect(link({ axis: "step", y: "log", kind: "band", search: { from: 10 } })).toBe(
      "?run=a&run=b&from=10&to=500&metric=loss%7Eband%7Elog&x=step",
    );
    expect(link({ search: { smooth: "ema:0.9" } })).toContain("&smooth=ema%3A0.9");
    expect(link({ search: { base: "run b", compare: "difference" } })).toContain(
      "&base=b&compare=difference",
    );
  });

  it("asks the exact answer at the page's width for exports", () => {
    const { host, asked } = hostOf(two);
    drawn(options(), host);
    const [question] = asked.filter((one) => one.startsWith("/charts"));
    expect(JSON.parse(question?.slice(8) ?? "")).toMatchObject({
      series: [1, 2],
      origins_ns: [String(kStart), String(kStart)],
      axis: "relative",
      width: 1024,
      exact: true,
    });
  });

  it("shows the events of scripts, unless they are unwanted", () => {
    const event = { time_ns: String(kStart + 50_000_000_000n), name: "new rate", attributes: {} };
    const served = { ...two, events: [{ ...event, origin: "script" }] };
    expect(svgOf({}, served)).toContain(">new rate</text>");
    expect(svgOf({ marks: false }, served)).not.toContain("new rate");
    expect(svgOf({ axis: "step" }, served)).not.toContain("new rate");
  });

  it("draws a second metric on the right, and one source of several", () => {
    const power = (series: number, source: string) =>
      metric(series, "power", { source, unit: "W", group: "gpu", owner: "workload" });
    const served = {
      runs: [run("a")],
      metrics: { a: [metric(1, "loss"), power(3, "gpu0"), power(4, "gpu1")] },
    };
    const both = plotted({ runs: ["a"], metrics: ["loss", "power"], right: "zero" }, served);
    expect(svgText(both.figure)).toContain(">power (W)</text>");
    expect(both.figure.link).toContain("metric=loss%7Ewith%3Apower%7Eright%3Azero");
    const one = plotted({ runs: ["a"], metrics: ["power"], of: ["gpu1"] }, served);
    expect(one.figure.csv).toContain("gpu1,column");
    expect(one.figure.csv).not.toContain("gpu0");
    expect(one.figure.link).toContain("hide=host%2Fgpu0");
  });

  it("writes the numbers drawn", () => {
    const rows = plotted({}).figure.csv.trim().split("\r\n");
    expect(rows[0]).toBe("line,kind,run time,value,low,low_at,high,high_at,last,last_at,points");
    expect(rows).toHaveLength(1 + 2 * columns.length);
  });

  it("counts epochs, of which it asks for every page", () => {
    const { host, asked } = hostOf({ ...two, epochs: { a: 5, b: 0 } });
    const { figure, notes } = drawn(options({ axis: "epoch" }), host);
    expect(svgText(figure)).toContain(">epoch</text>");
    expect(figure.link).toContain("&x=epoch");
    expect(notes).toEqual(["no epochs in run b"]);
    const skips = asked.filter((one) => one.startsWith("/epochs") && one.includes('"a"'));
    expect(skips.map((one) => JSON.parse(one.slice(8)).skip)).toEqual([0, 3]);
  });

  it("condenses alike epochs of one run to one, with their spread", () => {
    const served = { ...two, epochs: { a: 20 } };
    const condensed = { runs: ["a"], axis: "condensed" as const };
    const { figure, notes } = plotted(condensed, served);
    expect(svgText(figure)).toContain(">condensed time (min:s)</text>");
    expect(notes).toEqual(["p10–p90 of 20 epochs"]);
    expect(plotted({ ...condensed, kind: "heat" }, served).notes).toEqual([]);
  });

  it("says which runs lack the metric", () => {
    const served = { ...two, metrics: { a: [metric(1, "loss")], b: [] } };
    expect(plotted({}, served).notes).toEqual(["no loss in run b"]);
  });
});

describe("a plot that cannot be", () => {
  const said = (part: Partial<PlotOptions>, served?: Served) => () => plotted(part, served);

  it("says what is near, or what there is", () => {
    expect(said({ metrics: ["los"] })).toThrow(
      "no metric 'los' in these runs; did you mean 'loss'?",
    );
    expect(said({ metrics: ["zz"] })).toThrow("no metric 'zz' in these runs; they have loss");
    expect(said({ metrics: ["zz"] }, { ...two, metrics: {} })).toThrow("they have no metrics");
    expect(said({ metrics: ["2 * los"] })).toThrow(
      "--metric '2 * los': column 5: no metric 'los'; did you mean 'loss'?",
    );
    expect(said({ metrics: ["1 + (1)"] })).toThrow("an expression needs a metric");
    expect(said({ axis: "metric", search: { xmetric: "zz" } })).toThrow("no metric 'zz'");
    expect(said({ axis: "metric" })).toThrow("--x-metric METRIC");
  });

  it("says when there are no points", () => {
    expect(said({}, { ...two, empty: true })).toThrow("nothing to draw: no points of loss");
    expect(said({ search: { from: 1, to: 2 } }, { ...two, empty: true })).toThrow("from 1 to 2");
  });

  it("says what an axis cannot show", () => {
    const epochs = { a: 20, b: 20 };
    expect(said({ axis: "condensed" }, { ...two, epochs })).toThrow("only one run");
    expect(said({ axis: "condensed", runs: ["a"] })).toThrow("no epochs of run a are known");
    const smooth = { smooth: "ema:0.9" };
    expect(said({ axis: "epoch", search: smooth }, { ...two, epochs })).toThrow(
      "--smooth needs an axis of time or steps, not --axis epoch",
    );
  });

  it("begins with the option that is wrong", () => {
    expect(said({ y: "lg" })).toThrow("--y 'lg': expected auto, zero, log");
    expect(said({ y: "5..1" })).toThrow("--y '5..1'");
    expect(said({ metrics: ["loss", "loss"], right: "x" })).toThrow("--right 'x'");
    expect(said({ style: "acm3" })).toThrow("--style 'acm3': expected one of screen, acm1");
    expect(said({ look: { width: 5 } })).toThrow("--width '5': expected 80 to 4000 points");
    expect(said({ look: { textSize: Number.NaN } })).toThrow("--text-size");
    expect(said({ search: { smooth: "ema:2" } })).toThrow("--smooth 'ema:2'");
    expect(said({ search: { group: "nothing" } })).toThrow("--group 'nothing'");
    expect(said({ search: { colour: "lr" } })).toThrow("--colour 'lr': expected workload");
    expect(said({ search: { base: "x" } })).toThrow("--baseline 'x': expected one of run a, run b");
    expect(said({ y: "clip:foo" })).toThrow("--y 'clip:foo'");
    expect(said({ right: "log" })).toThrow("--right is the axis of a second --metric");
    expect(said({ search: { compare: "difference" } })).toThrow("--baseline, which is missing");
    expect(said({ search: { singles: true } })).toThrow("--group, which is missing");
    expect(said({ search: { from: 5, to: 5 } })).toThrow("--from 5 --to 5");
    expect(said({ of: ["gpu0"] })).toThrow("--of 'gpu0': loss has no sources");
  });
});

const timesOf = (epoch: number) => ({
  start_ns: String(kStart + BigInt(epoch) * 2_000_000_000n),
  end_ns: String(kStart + BigInt(epoch + 1) * 2_000_000_000n),
});

const kPage = 3;

function epochPage(
  { runs: [run], skip }: { runs: [string]; skip: number },
  counts: Record<string, number>,
): ArrayBuffer {
  const all = Array.from({ length: counts[run] ?? 0 }, (_, index) => ({
    index,
    ...timesOf(index),
  }));
  const epochs = all.slice(skip, skip + kPage);
  const page = {
    run,
    from: "phases",
    first_step_ns: null,
    epochs,
    more: skip + kPage < all.length,
  };
  return new TextEncoder().encode(JSON.stringify({ runs: [page] })).buffer;
}

// A lane whose epochs are all alike.
function alike(count: number): object[] {
  if (count < 8) return [];
  const { start_ns, end_ns } = timesOf(1);
  const typical = { epoch: 1, from_ns: start_ns, to_ns: end_ns };
  const lengths = { median_s: 2, p10_s: 2, p90_s: 2 };
  const regime = { first: 0, last: count - 1, compared: true, typical, ...lengths };
  return [{ regimes: [regime], odd: [], odd_epochs: 0, left_out: 0 }];
}

// Lines of ones: four arrays for each of an epoch, else one.
function smoothed({ lines, width }: { lines: object[]; width: number }): ArrayBuffer {
  const arrays = "origins_ns" in (lines[0] ?? {}) && width < 1024 ? 4 : 1;
  const size = 48 + arrays * width * 8;
  const view = new DataView(new ArrayBuffer(32 + lines.length * size));
  for (const [i, c] of [..."CRLN"].entries()) view.setUint8(i, c.charCodeAt(0));
  view.setUint16(4, 1, true);
  view.setUint16(6, lines.length, true);
  view.setUint32(8, width, true);
  for (let at = 32; at < view.byteLength; at += size) {
    view.setUint8(at, 1);
    view.setUint32(at + 4, arrays, true);
    for (let k = 0; k < arrays * width; k++) view.setFloat64(at + 48 + k * 8, 1, true);
  }
  return view.buffer as ArrayBuffer;
}

// As the host above sends them.
function figureColumns() {
  const part = (k: number) => Float64Array.from(columns, ({ values }) => values[k] as number);
  const at = (k: number) => Float32Array.from(columns, ({ x }) => x[k] as number);
  return {
    ...{ points: 77, nonFinite: 3, exact: true, rate: true },
    ...{ first: part(0), min: part(1), max: part(2), last: part(3) },
    ...{ firstX: at(0), minX: at(1), maxX: at(2), lastX: at(3) },
    counts: Uint32Array.from(columns, ({ count }) => count),
    ...{ segments: new Uint32Array(1), gaps: [], unknownGap: false },
  };
}
