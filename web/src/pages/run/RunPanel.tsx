// The side panel of a run: the workload's runs, this run's state, and its facts.
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import type { Plain, Run, RunDetail } from "../../api/types";
import { Chevron, Swatch } from "../../app/icons";
import { Tick } from "../../app/Tick";
import { viewSearch } from "../../board/view";
import { type ChartTheme, seriesColour, seriesDash } from "../../charts/theme";
import { endOf, endTitle, stateWords, toneOf } from "../../format/outcome";
import { commandLine, fittingNames } from "../../format/text";
import { formatExactMoment, formatMoment } from "../../format/time";
import { formatCount, formatValue, plural } from "../../format/units";

export interface NeighboursProps {
  run: RunDetail;
  // All runs of the workload in the order of their colours.
  runs: Pick<Run, "id" | "name">[];
  shown: ReadonlySet<string>;
  // In the palette, of those that are shown.
  places: ReadonlyMap<string, number>;
  theme: ChartTheme;
  choose: (id: string, on: boolean) => void;
}

const kLongestName = 26; // letters

export function Neighbours({ run, runs, shown, places, theme, choose }: NeighboursProps) {
  const names = fittingNames(
    runs.map(({ name }) => name),
    kLongestName,
  );
  return (
    <section aria-label="Runs of the workload">
      <h2 className="section-title">
        {run.workload === null ? "Run" : `Workload ${run.workload}`}
        <span style={{ color: "var(--accent)" }}>{plural(shown.size, "run")}</span>
      </h2>
      {runs.map((other, index) => {
        const colour = seriesColour(theme, places.get(other.id) ?? index);
        const on = shown.has(other.id);
        const self = other.id === run.id;
        return (
          <div key={other.id} className={on ? "row selected" : "row"}>
            <Tick
              label={self ? `${other.name}, this run` : `Draw ${other.name} too`}
              checked={on}
              colour={colour}
              disabled={self}
              change={(now) => choose(other.id, now)}
              run={other.id}
            />
            {self ? (
              <b className="cut name" title={other.name}>
                {names[index] ?? other.name}
              </b>
            ) : (
              <Link
                to="/runs/$id"
                params={{ id: other.id }}
                // The same moments and metrics of the neighbour.
                search={(old: object) => viewSearch({ ...old })}
                className="cut name"
                title={`Go to ${other.name}`}
              >
                {names[index] ?? other.name}
              </Link>
            )}
            <Swatch colour={colour} dash={seriesDash(index)} />
          </div>
        );
      })}
    </section>
  );
}

function Fact({ name, children, mono }: { name: string; children: ReactNode; mono?: boolean }) {
  return (
    <>
      <dt className="cut" title={name}>
        {name}
      </dt>
      <dd className={mono ? "mono" : ""}>{children}</dd>
    </>
  );
}

export function Facts({ run, duration }: { run: RunDetail; duration: ReactNode }) {
  const ended = endWords(run);
  const lost = run.drops.points + run.drops.frames + run.drops.ticks;
  return (
    <section aria-label="About this run">
      <h2 className="section-title">About</h2>
      <dl className="facts">
        <Fact name="Status">
          <span
            className={`status status-${toneOf(endOf(run))}`}
            title={endTitle(run)}
            data-testid="run-status"
          >
            {stateWords(endOf(run))}
          </span>
          {ended !== "" && <span className="quiet"> {ended}</span>}
        </Fact>
        <Fact name="Duration">{duration}</Fact>
        <Fact name="Started">
          <span title={formatExactMoment(run.start_ns)}>
            {formatMoment(run.start_ns, new Date())}
          </span>
        </Fact>
        <Fact name="Experiment">
          <Link to="/" search={{ experiment: run.experiment_id }}>
            {run.experiment}
          </Link>
        </Fact>
        {run.tags["corral.plan"] !== undefined && (
          <Fact name="Plan">
            <Link to="/plans/$id" params={{ id: String(run.tags["corral.plan"]) }}>
              {String(run.tags["corral.plan.file"] ?? "its plan")}
            </Link>
          </Fact>
        )}
        {run.host !== "" && <Fact name="Host">{run.host}</Fact>}
        {run.creator && <Fact name="Recorded by">{run.creator}</Fact>}
        {run.command === null ? (
          <Fact name="Logged by">a client, not under corral run</Fact>
        ) : (
          <Fact name="Command" mono>
            {commandLine(run.command)}
          </Fact>
        )}
        {lost > 0 && (
          <Fact name="Lost">
            {formatCount(run.drops.points)} points, {formatCount(run.drops.frames)} frames,{" "}
            {formatCount(run.drops.ticks)} ticks
          </Fact>
        )}
      </dl>
    </section>
  );
}

// The same numbers on every Linux that Corral runs on.
const kSignals: Record<number, string> = {
  1: "SIGHUP",
  2: "SIGINT",
  3: "SIGQUIT",
  4: "SIGILL",
  6: "SIGABRT",
  7: "SIGBUS",
  8: "SIGFPE",
  9: "SIGKILL",
  11: "SIGSEGV",
  13: "SIGPIPE",
  15: "SIGTERM",
};

// Describes the end of a run if it was not normal.
export function endWords(run: RunDetail): string {
  if (run.exit_signal !== null) return kSignals[run.exit_signal] ?? `signal ${run.exit_signal}`;
  if (run.end_reason === "max_time") return "time limit reached";
  if (run.end_reason === "interrupt" && run.outcome !== "interrupted") return "interrupted";
  if (run.status === "failed" && run.exit_code !== null) return `exit status ${run.exit_code}`;
  return run.status === "unknown" ? "exit status unknown" : "";
}

export function Details({ run }: { run: RunDetail }) {
  return (
    <>
      <Folded title="Params" entries={Object.entries(run.params)} open />
      <Folded title="Tags" entries={Object.entries(run.tags)} open />
      <Folded title="Machine" entries={Object.entries(run.info)} />
      <Folded
        title="Not available"
        entries={run.unavailable.map(({ source, reason }) => [source, reason])}
      />
    </>
  );
}

function show(key: string, value: Plain): string {
  if (value === null) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number")
    return /bytes$/.test(key) ? formatValue(value, "B") : String(value);
  const text = [value].flat().join(" "); // the command is a list of words
  const lines = text.trimEnd().split("\n").length;
  return lines > 1 ? `${formatCount(lines)} lines` : text;
}

const readable = (key: string) => key.replace(/_bytes$/, "").replaceAll("_", " ");

function Folded({
  title,
  entries,
  open = false,
}: {
  title: string;
  entries: [string, Plain][];
  open?: boolean;
}) {
  const [isOpen, setOpen] = useState(open);
  if (entries.length === 0) return null;
  const info = title === "Machine";
  return (
    <section aria-label={title}>
      <button type="button" className="row" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Chevron open={isOpen} />
        <b className="cut">{title}</b>
        <span className="count">{formatCount(entries.length)}</span>
      </button>
      {isOpen && (
        <dl className="facts">
          {entries.map(([key, value]) => (
            <Fact key={key} name={info ? readable(key) : key}>
              {show(key, value)}
            </Fact>
          ))}
        </dl>
      )}
    </section>
  );
}
