import { describe, expect, it } from "vitest";
import type { Metric, RunDetail } from "../api/types";
import { parseSearch, stringifySearch } from "../app/search";
import { addChunks, emptyLog, kMaxLines, lineFinder, lineOfReason } from "../pages/run/log";
import { runSearch } from "../pages/run/search";
import { movedTo } from "./layout";
import {
  buildCharts,
  collectingCost,
  defaultCharts,
  drawnAlong,
  fullRange,
  outsideWords,
  type ShownRun,
  shownRun,
} from "./model";
import { answerKey, zoomed } from "./pointer";
import { marksOf, notedWindows } from "./resolve";

function metric(series: number, name: string, part: Partial<Metric> = {}): Metric {
  return {
    series,
    name,
    source: "",
    owner: "run",
    unit: "",
    rate_unit: null,
    kind: "gauge",
    aggregation: "mean",
    group: "software",
    description: "",
    points: 11,
    first_ns: "0",
    last_ns: "10000000000",
    first_step: null,
    last_step: null,
    last: 1,
    min: 0,
    max: 2,
    mean: 1,
    nan: 0,
    ...part,
  };
}

const run = (id: string, index: number): ShownRun => ({
  id,
  name: `run ${id}`,
  index,
  origin: 0n,
  start: 0,
  end: 10,
  running: false,
  workload: "w",
  workloadName: "1",
  experiment: "e",
  params: {},
  tags: {},
});
const host = (series: number, name: string, part: Partial<Metric> = {}) =>
  metric(series, name, { owner: "workload", group: "cpu", ...part });

describe("buildCharts", () => {
  const shared = [host(5, "host.cpu.busy", { unit: "%" })];
  const charts = buildCharts([run("a", 0), run("b", 1)], {
    a: [metric(1, "loss"), ...shared],
    b: [metric(2, "loss"), ...shared],
  });

  it("draws the runs into one chart, the workload's series once", () => {
    expect(charts.map((chart) => [chart.name, chart.lines.map((line) => line.series)])).toEqual([
      ["loss", [1, 2]],
      ["host.cpu.busy", [5]],
    ]);
    expect(charts[0]?.lines.map((line) => [line.key, line.colour, line.spacing])).toEqual([
      ["a", 0, 1],
      ["b", 1, 1],
    ]);
    expect(charts[1]?.lines[0]).toMatchObject({ label: "host", colour: null });
  });

  it("tells the hosts of one workload apart", () => {
    const busy = (series: number, name: string) =>
      host(series, "host.cpu.busy", { owner: "host", host: name });
    const [chart] = buildCharts([run("a", 0), run("b", 1)], {
      a: [busy(5, "node-a")],
      b: [busy(6, "node-b")],
    });
    expect(chart?.lines.map((line) => [line.series, line.key, line.label, line.colour])).toEqual([
      [5, "host/@node-a", "node-a", 4],
      [6, "host/@node-b", "node-b", 5],
    ]);
    expect(chart?.lines.every((line) => line.shared)).toBe(true);
  });

  it("gives counters the unit of their rate", () => {
    const [chart] = buildCharts([run("a", 0)], {
      a: [metric(1, "x", { kind: "counter", unit: "B", rate_unit: "B/s" })],
    });
    expect(chart?.unit).toBe("B/s");
  });

  it("folds away what never changes, but nothing a script logged", () => {
    const built = buildCharts([run("a", 0)], {
      a: [
        metric(1, "score", { min: 3, max: 3 }),
        host(2, "flat", { min: 0, max: 0 }),
        host(3, "none", { min: null, max: null }),
      ],
    });
    expect(built.map((chart) => [chart.name, chart.flat])).toEqual([
      ["score", false],
      ["flat", true],
      ["none", true],
    ]);
  });

  it("draws the busiest eight of many devices and counts the rest", () => {
    const cores = Array.from({ length: 20 }, (_, i) =>
      host(i, "core", { source: `cpu${i}`, kind: "counter", min: 100, max: 100 + ((i * 7) % 20) }),
    );
    const [chart] = buildCharts([run("a", 0)], { a: cores });
    const most = [2, 5, 8, 11, 13, 14, 16, 17, 19].map((i) => `cpu${i}`);
    expect(chart?.lines.length).toBe(8);
    expect(chart?.lines.every((line) => most.includes(line.label))).toBe(true);
    expect(chart?.left).toBe(12);
    expect(defaultCharts(chart ? [chart] : [])).toEqual([]);
  });

  it("orders devices as people count", () => {
    const cpus = ["cpu10", "cpu2", "cpu1"].map((source, i) => host(i, "core", { source }));
    const [chart] = buildCharts([run("a", 0)], { a: cpus });
    expect(chart?.lines.map((line) => line.label)).toEqual(["cpu1", "cpu2", "cpu10"]);
  });
});

describe("drawnAlong", () => {
  const neighbours = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ id: `${i}`, name: "" }));

  it("is the whole workload while a picture holds it, else nobody", () => {
    expect(drawnAlong({ neighbours: neighbours(0) })).toEqual([]);
    expect(drawnAlong({ neighbours: neighbours(3) })).toEqual(["0", "1", "2"]);
    expect(drawnAlong({ neighbours: neighbours(4) })).toEqual([]);
  });
});

describe("defaultCharts", () => {
  it("shows loss first, then the script's, the run's and the host's CPU and memory", () => {
    const own = (series: number, name: string, group: string, unit: string) =>
      metric(series, name, { group, unit });
    const charts = buildCharts([run("a", 0)], {
      a: [
        host(9, "host.memory.used", { group: "memory", unit: "B" }),
        own(8, "run.memory.rss", "memory", "B"),
        own(7, "run.cpu.used", "cpu", "s"),
        metric(2, "zeta"),
        metric(1, "loss"),
        host(6, "host.cpu.busy"),
        host(4, "host.memory.total", { group: "memory", min: 1, max: 1 }),
        own(3, "run.io.read", "io", "B"),
      ],
    });
    expect(defaultCharts(charts)).toEqual([
      "loss",
      "zeta",
      "run.cpu.used",
      "host.cpu.busy",
      "run.memory.rss",
      "host.memory.used",
    ]);
  });

  it("keeps to six, three of the script's own among them", () => {
    const software = ["loss", "b", "c", "d", "e"].map((name, i) => metric(i, name));
    const hardware = ["host.cpu.busy", "host.memory.used"].map((name, i) => host(10 + i, name));
    const named = (part: Metric[]) => defaultCharts(buildCharts([run("a", 0)], { a: part }));
    const own = metric(20, "run.cpu.used", { group: "cpu", unit: "cores" });
    expect(named([...software, own, ...hardware]).sort()).toEqual(
      ["loss", "b", "c", "run.cpu.used", "host.cpu.busy", "host.memory.used"].sort(),
    );
    expect(named(software)).toEqual(["loss", "b", "c", "d", "e"]);
  });

  it("has how busy GPUs were before any CPU", () => {
    const gpu = (series: number, name: string, part = {}) =>
      host(series, name, { group: "gpu", source: "gpu0", ...part });
    const all = [
      ...["loss", "b", "c"].map((name, i) => metric(i, name)),
      gpu(10, "host.gpu.power"),
      gpu(11, "host.gpu.busy"),
      gpu(12, "host.gpu.sm.active"),
      metric(20, "run.cpu.used", { group: "cpu", unit: "cores" }),
      host(21, "host.cpu.busy"),
      metric(22, "run.memory.rss", { group: "memory", unit: "B" }),
    ];
    const named = (part: Metric[]) => defaultCharts(buildCharts([run("a", 0)], { a: part }));
    const cpus = ["run.cpu.used", "host.cpu.busy"];
    expect(named(all)).toEqual(["loss", "b", "c", "host.gpu.sm.active", ...cpus]);
    // An idle one says nothing of SMs.
    const idle = all.map((one) => (one.series === 12 ? { ...one, min: 0, max: 0 } : one));
    expect(named(idle)).toEqual(["loss", "b", "c", "host.gpu.busy", ...cpus]);
  });

  it("has the wait for data where it was measured, beside three of the script's own", () => {
    const names = ["loss", "accuracy", "samples_per_second", "throughput", "data_wait_share"];
    const all = [
      ...names.map((name, i) => metric(i, name)),
      metric(20, "run.cpu.used", { group: "cpu", unit: "cores" }),
      host(21, "host.cpu.busy"),
      metric(22, "run.memory.rss", { group: "memory", unit: "B" }),
    ];
    expect(defaultCharts(buildCharts([run("a", 0)], { a: all }))).toEqual([
      "loss",
      "accuracy",
      "samples_per_second",
      "data_wait_share",
      "run.cpu.used",
      "host.cpu.busy",
    ]);
  });
});

describe("values that the catalogue holds impossible", () => {
  const told = (count: number) => `${count} values outside 0 to 100 %, stored as read: -1 to 255`;
  const known = (id: string, info: Record<string, string>) => {
    const times = { start_ns: "0", end_ns: "1" };
    const made = shownRun({ ...times, id, name: id, workload_id: "w", info } as never, 0, 0n);
    return { ...made, params: {}, tags: {} };
  };
  const use = (series: number, source: string) =>
    host(series, "gpu.busy", { group: "gpu", source, unit: "%" });

  it("are said of the metric and source that they were read from, by any run that measured", () => {
    const runs = [
      known("a", { "outside.other": told(9), cpu: "x" }),
      known("b", { "outside.gpu.busy of gpu0": told(3), "outside.loss": told(1) }),
    ];
    const charts = buildCharts(runs, {
      a: [use(1, "gpu0"), use(2, "gpu1"), metric(3, "loss"), metric(4, "constructor")],
      b: [use(1, "gpu0")],
    });
    const of = (name: string) => charts.find((chart) => chart.name === name) as (typeof charts)[0];
    expect(outsideWords(of("gpu.busy"))).toEqual({
      text: "3 values outside 0 to 100 %, stored as read",
      about: `gpu0: ${told(3)}`,
    });
    // Run b's, which has no such series on the board.
    expect(outsideWords(of("loss"))).toBeNull();
    expect(outsideWords(of("constructor"))).toBeNull();
  });

  it("are counted over a chart's lines where all say the same", () => {
    const runs = [
      known("a", { "outside.gpu.busy of gpu0": told(3), "outside.gpu.busy of gpu1": told(2) }),
    ];
    const charts = buildCharts(runs, { a: [use(1, "gpu0"), use(2, "gpu1")] });
    const words = charts[0] && outsideWords(charts[0]);
    expect(words?.text).toBe("5 values outside 0 to 100 %, stored as read");
    expect(words?.about.split("\n").length).toBe(2);
  });
});

describe("ranges", () => {
  const row = {
    start_ns: "5000000000",
    end_ns: null,
    duration_s: 20,
    status: "running",
    id: "a",
    name: "a",
  } as RunDetail;

  it("follow the newest known time of a running run", () => {
    const shown = shownRun(row, 0, 1_000_000_000n);
    expect(shown).toMatchObject({ start: 4, end: 24, running: true });
    const range = fullRange([shown, run("b", 1)]);
    expect(range.from).toBe(0);
    expect(range.to).toBeGreaterThan(24);
    expect(range.to).toBeLessThan(24.1);
  });

  it("zoom around the cursor and back to everything", () => {
    const full = { from: 0, to: 100 };
    expect(zoomed({ range: full, full }, 20, 0.5)).toEqual({ from: 10, to: 60 });
    expect(zoomed({ range: { from: 10, to: 60 }, full }, 20, 2)).toBeNull();
    expect(zoomed({ range: { from: 40, to: 60 }, full }, 50, 2)).toEqual({ from: 30, to: 70 });
  });

  it("answer keys", () => {
    const at = {
      range: { from: 0, to: 100 },
      full: { from: 0, to: 100 },
      cursor: 20,
      shift: false,
      command: false,
      marked: false,
      enlarged: false,
    };
    expect(answerKey("ArrowRight", at)).toEqual({ cursor: 20.5 });
    expect(answerKey("ArrowLeft", { ...at, cursor: 0.1 })).toEqual({ cursor: 0 });
    expect(answerKey("+", at)).toEqual({ zoom: { from: 10, to: 60 } });
    expect(answerKey("Escape", at)).toEqual({ zoom: null });
    expect(answerKey("x", at)).toBeNull();
    expect(answerKey("1", at)).toEqual({ mark: "a", at: 20 });
    expect(answerKey("Escape", { ...at, marked: true })).toEqual({ clear: true });
    expect(answerKey("E", at)).toEqual({ enlarge: true });
    expect(answerKey("Escape", { ...at, marked: true, enlarged: true })).toEqual({ enlarge: true });
    expect(["[", "]"].map((key) => answerKey(key, at))).toEqual([{ move: -1 }, { move: 1 }]);
    expect(answerKey("z", { ...at, command: true })).toEqual({ history: -1 });
    expect(answerKey("z", { ...at, command: true, shift: true })).toEqual({ history: 1 });
    expect(answerKey("w", { ...at, command: true })).toBeNull();
    const inside = { ...at, range: { from: 10, to: 30 } };
    expect(answerKey("d", inside)).toEqual({ zoom: { from: 15, to: 35 } });
    expect(answerKey("a", { ...inside, range: { from: 2, to: 22 } })).toEqual({
      zoom: { from: 0, to: 20 },
    });
  });
});

it("moves a chart before another, wherever it was", () => {
  const list = ["a", "b", "c", "d"];
  expect(movedTo(list, 0, 2).join("")).toBe("bacd");
  expect(movedTo(list, 3, 1).join("")).toBe("adbc");
  expect(movedTo(list, 1, 4).join("")).toBe("acdb");
  for (const before of [2, 3]) expect(movedTo(list, 2, before)).toEqual(list);
});

describe("addresses", () => {
  it("say the same both ways", () => {
    const search = { from: 1.5, to: 3, with: ["ab"], metric: ["train/loss", "a b"] };
    expect(runSearch(parseSearch(stringifySearch(search)))).toEqual(search);
    expect(runSearch(parseSearch("?from=5&to=5"))).toEqual({});
    expect(runSearch(parseSearch("?from=x&to=7&metric=loss"))).toEqual({ metric: ["loss"] });
  });
});

describe("output", () => {
  const chunk = (text: string, stream = "stdout") => ({ stream, offset: "0", time_ns: "0", text });

  it("joins lines that arrive in pieces, per stream", () => {
    const log = addChunks(
      emptyLog(),
      [chunk("epo"), chunk("oops\n", "stderr"), chunk("ch 1\nep")],
      [],
    );
    expect(addChunks(log, [chunk("och 2\n")], []).lines.map((line) => line.text)).toEqual([
      "epoch 1",
      "oops",
      "epoch 2",
    ]);
  });

  it("shows of a progress bar what a terminal would", () => {
    const log = addChunks(
      emptyLog(),
      [chunk("10 %\r20 %\r"), chunk("\u001b[1m30 %\u001b[0m\r\n")],
      [],
    );
    expect(log.lines.map((line) => line.text)).toEqual(["30 %"]);
  });

  it("keeps the newest lines and counts the others", () => {
    const log = addChunks(emptyLog(), [chunk("x\n".repeat(kMaxLines + 5))], []);
    expect([log.lines.length, log.dropped]).toEqual([kMaxLines, 5]);
  });

  it("has the line that a failure's reason tells of", () => {
    const lines = [
      ["exit status 3: no such file", "no such file"],
      ["ended by SIGSEGV: epoch 2: loss 0.1", "epoch 2: loss 0.1"],
      ["torch.OutOfMemoryError: CUDA out of memory", "torch.OutOfMemoryError: CUDA out of memory"],
      ["exit status 1:  [31mValueError [0m: bad", "ValueError"],
      ["exit status 1: a long line that is c\ufffd…", "a long line that is c"],
      ["exit status 1: /bin/", "bin/"],
      ["exit status 1", undefined],
      ["the kernel killed 1 process of the run: its memory limit", undefined],
    ];
    expect(lines.map(([why]) => lineOfReason(why as string))).toEqual(
      lines.map(([, line]) => line),
    );
    const found = lineFinder("No such File");
    expect([found("sh: no such file, x"), found("else")]).toEqual([true, false]);
    expect([lineFinder("/(a+)+$/")("/(a+)+$/"), lineFinder(undefined)("")]).toEqual([false, false]);
  });

  it("says what is missing", () => {
    const log = addChunks(emptyLog(), [], [{ stream: "stdout", from: "0", to: "2048" }]);
    expect(log.lines[0]?.text).toBe("(2\u2009KiB were not recorded)");
  });
});

describe("collectingCost", () => {
  it("is the mean rate of the collector's CPU time", () => {
    const counter = metric(1, "corral.supervisor.cpu", {
      group: "collector",
      kind: "counter",
      unit: "s",
      min: 1,
      max: 1.021,
    });
    const part = metric(2, "corral.collector.cpu", {
      ...counter,
      series: 2,
      name: "corral.collector.cpu",
      max: 1.005,
    });
    expect(collectingCost([part, counter])).toBeCloseTo(0.0021);
    expect(collectingCost([])).toBeNull();
  });
});

describe("what people wrote", () => {
  it("is a mark at a moment, and a window about a span, on the run's own axis", () => {
    const at = (seconds: number) => String(BigInt(seconds) * 1_000_000_000n);
    const runs = [{ id: "a", origin: 10n * 1_000_000_000n }] as unknown as ShownRun[];
    const written = [
      { run: "a", time_ns: at(13), label: "here" },
      { run: "a", time_ns: at(14), end_ns: at(16), label: `${"x".repeat(70)}\nmore` },
      { run: "a", time_ns: at(11), end_ns: at(12), label: "cold\nuntil here" },
    ];
    expect(marksOf(runs, written)).toEqual([{ at: 3, label: "here" }]);
    expect(notedWindows(runs, written)).toEqual([
      { from: 1, to: 2, label: "cold", kind: "note" },
      { from: 4, to: 6, label: `${"x".repeat(59)}…`, kind: "note" },
    ]);
  });
});
