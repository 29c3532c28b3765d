// The list of runs as CSV (RFC 4180): the columns shown, with ids, raw numbers and ISO times in UTC. Pure.
import type { FoundRun } from "../../api/runSearch";
import { csvField } from "../../export/csv";
import { commandLine } from "../../format/text";
import { type Column, trendMetric } from "./columns";

const isoTime = (ns: string) => new Date(Number(BigInt(ns) / 1_000_000n)).toISOString();

const kValues: Record<string, (run: FoundRun) => unknown> = {
  loss: (run) => run.loss?.value,
  start: (run) => isoTime(run.start_ns),
  duration: (run) => run.duration_s,
  command: (run) => run.command && commandLine(run.command),
  status: (run) => run.status,
  name: (run) => run.name,
  experiment: (run) => run.experiment,
  workload: (run) => run.workload,
  host: (run) => run.host,
  creator: (run) => run.creator,
};
const kHeads: Record<string, string> = { start: "started", duration: "duration_s" };

export function csvOf(runs: readonly FoundRun[], columns: readonly Column[]): string {
  const keys = columns.map(({ key }) => key).filter((key) => trendMetric(key) === null);
  const head = ["run", ...keys.map((key) => kHeads[key] ?? key)];
  const lines = runs.map((run) => [
    run.id,
    ...keys.map((key) => (Object.hasOwn(kValues, key) ? kValues[key]?.(run) : run.values[key])),
  ]);
  return `${[head, ...lines].map((line) => line.map(csvField).join(",")).join("\r\n")}\r\n`;
}
