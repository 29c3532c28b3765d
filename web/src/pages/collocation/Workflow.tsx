// The runs of a plan, workload or experiment one after another: critical path, queues, hosts without a run, what failed,
// and the energy of all.
import type { RunGroupKind } from "../../api/collocation";
import {
  type Workflow as Found,
  type UnfinishedRun,
  useWorkflow,
  type WorkflowStep,
} from "../../api/workflow";
import { Failing } from "../../app/Notice";
import { type Column, Rows } from "../../app/Rows";
import { RunLink } from "../../app/RunLink";
import { stateWords } from "../../format/outcome";
import { formatDuration } from "../../format/time";
import { formatValue, percent, plural } from "../../format/units";

const kMost = 12;
const kWaitedFor = {
  first: "–",
  after: "its After",
  repeat: "its last attempt",
  turn: "the run before",
} as const;

export function Workflow({ kind, id }: { kind: RunGroupKind; id: string }) {
  const answer = useWorkflow(kind, id);
  if (answer.error) return <Failing error={answer.error} retry={() => void answer.refetch()} />;
  const found = answer.data;
  if (found === undefined) return null;
  return (
    <section aria-label="Workflow" className="workflow" data-testid="workflow">
      <h2>Workflow</h2>
      <p>{found.summary}</p>
      <Rows label="Critical path" columns={kPath} rows={found.path} most={kMost} />
      <ul className="quiet">
        {linesOf(found).map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
      {found.not_finished.length > 0 && (
        <Rows
          label="Runs that did not finish"
          columns={kUnfinished}
          rows={found.not_finished}
          most={kMost}
        />
      )}
    </section>
  );
}

const nameOf = ({ run, name }: { run: string; name: string }) => <RunLink id={run} name={name} />;

const kPath: Column<WorkflowStep>[] = [
  { name: "critical path", cell: nameOf, left: true },
  { name: "waited for", cell: ({ link }) => kWaitedFor[link], left: true },
  { name: "wait", cell: ({ wait_s }) => formatDuration(wait_s) },
  { name: "time", cell: ({ seconds }) => formatDuration(seconds) },
  { name: "outcome", cell: ({ outcome }) => stateWords(outcome), left: true },
];

const kUnfinished: Column<UnfinishedRun>[] = [
  { name: "did not finish", cell: nameOf, left: true },
  { name: "outcome", cell: ({ outcome }) => stateWords(outcome), left: true },
  { name: "time", cell: ({ seconds }) => formatDuration(seconds) },
  {
    name: "repeated",
    cell: ({ repeated_by: run }) => (run === null ? "no" : nameOf({ run, name: "by a later run" })),
    left: true,
  },
];

export function linesOf(found: Found): string[] {
  const { stages, stages_left_out, queue, hosts, footprint, provisional, not_finished } = found;
  const lines: string[] = [];
  if (provisional) lines.push("Some runs are still running: these values are provisional.");
  const parts = stages.map(({ stage, share }) => `${percent(share)} ${stage}`);
  const left = stages_left_out > 0 ? `; ${plural(stages_left_out, "run")} not read` : "";
  if (parts.length > 0) lines.push(`Stages of the path: ${parts.join(", ")}${left}`);
  const [longest] = queue?.longest ?? [];
  if (queue && longest)
    lines.push(
      `Queue: ${formatDuration(queue.mean_s)} on average from ready to start; longest: ${formatDuration(longest.wait_s)} (${longest.name})`,
    );
  for (const { host, seconds, idle_s } of hosts)
    lines.push(`${host}: ${formatDuration(idle_s)} of ${formatDuration(seconds)} without a run`);
  const lost = found.runs.failed + found.runs.interrupted;
  if (lost > not_finished.length)
    lines.push(`${lost} runs did not finish: ${not_finished.length} are shown`);
  return [...lines, footprintLine(footprint)];
}

function footprintLine({
  left_out,
  runs,
  measured,
  joules,
  co2e_g,
  costs,
  modelled,
  failed,
}: Found["footprint"]) {
  if (joules === null) return "No energy was measured.";
  const more = [
    ...(co2e_g === null ? [] : [formatValue(co2e_g, "g CO2e")]),
    ...costs.map(({ currency, total }) => formatValue(total, currency)),
  ];
  const lost =
    failed.runs > 0 && failed.joules !== null
      ? `; ${formatValue(failed.joules, "J")} of it by ${plural(failed.runs, "run")} that did not finish`
      : "";
  const without = left_out > 0 ? `; ${plural(left_out, "run")} not added` : "";
  const words = [formatValue(joules, "J"), ...more].join(", ");
  return `${words}, of ${measured} of ${plural(runs, "run")}${modelled ? " (shared parts modelled)" : ""}${lost}${without}`;
}
