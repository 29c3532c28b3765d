// Everything recorded about a run, on one page: facts, params, tags, energy, machine, its metrics with their statistics,
// phases, events and notes, and what could not be measured, with the reason.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { sendJson } from "../../api/client";
import type { TimeWindow } from "../../api/explain";
import { type HealthPart, type RunHealth, useHealth } from "../../api/health";
import { eventsQuery, type Note, notesQuery, type RunEvent } from "../../api/notes";
import {
  finite,
  type Metric,
  type Phase,
  type Plain,
  type RunDetail,
  type RunMember,
} from "../../api/types";
import { type Column, Rows } from "../../app/Rows";
import { laneTitle } from "../../board/laneRows";
import { formatClock, formatDuration, formatExactMoment, secondsSince } from "../../format/time";
import { formatCount, formatNumber, formatValue, percent } from "../../format/units";
import { Footprint } from "./Footprint";
import { clockText, memberTitle } from "./member";
import { RenameRun, Tags } from "./RunChanges";

export interface AboutProps {
  run: RunDetail;
  metrics: readonly Metric[];
  phases: readonly Phase[];
  // Shows a time of the run on its charts.
  zoom: (to: TimeWindow) => void;
}

export function About({ run, metrics, phases, zoom }: AboutProps) {
  return (
    <div className="about" data-testid="about">
      <RenameRun run={run} />
      <Notes run={run} zoom={zoom} />
      <Members run={run} metrics={metrics} />
      <Pairs title="Params" entries={Object.entries(run.params)} />
      <Tags run={run} show={(text) => <Value text={text} />} />
      <Footprint run={run.id} level="h2" />
      <Pairs title="Environment" entries={Object.entries(run.info)} />
      <Metrics metrics={metrics} />
      <Phases phases={phases} />
      <Health run={run.id} />
      <Events run={run} />
      <Pairs
        title="Not available"
        entries={run.unavailable.map(({ source, reason }) => [source, reason])}
      />
    </div>
  );
}

function Section({
  title,
  count,
  children,
}: {
  title: string;
  count: number;
  children: ReactNode;
}) {
  return (
    <section aria-label={`${title} in full`}>
      <div className="line-head">
        <h2>{title}</h2>
        <span className="unit">{formatCount(count)}</span>
      </div>
      {children}
    </section>
  );
}

export function words(key: string, value: Plain | undefined): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") {
    if (/bytes$/.test(key)) return formatValue(value, "B");
    // Measured values are rounded; chosen ones are shown digit by digit.
    return /^collecting_/.test(key) ? formatNumber(value, 4) : String(value);
  }
  return [value].flat().join(" "); // the command is a list of words
}

// A list or a patch is folded.
function Value({ text }: { text: string }) {
  const lines = text.trimEnd().split("\n").length;
  if (lines === 1) return text;
  return (
    <details>
      <summary>{formatCount(lines)} lines</summary>
      <pre className="long">{text}</pre>
    </details>
  );
}

function Pairs({ title, entries }: { title: string; entries: [string, Plain][] }) {
  if (entries.length === 0) return null;
  return (
    <Section title={title} count={entries.length}>
      <dl className="facts wide">
        {entries.map(([key, value]) => (
          <div key={key} style={{ display: "contents" }}>
            <dt className="cut" title={key}>
              {key}
            </dt>
            <dd>
              <Value text={words(key, value)} />
            </dd>
          </div>
        ))}
      </dl>
    </Section>
  );
}

const memberColumns = (of: Parameters<typeof clockText>[1]): Column<RunMember>[] => [
  { name: "process", cell: (one) => memberTitle(one, 1), left: true },
  { name: "clock", cell: (one) => clockText(one, of), left: true },
  { name: "attempt", cell: ({ attempt }) => formatCount(attempt + 1) },
  { name: "outcome", cell: (one) => one.outcome ?? one.status, left: true },
  { name: "reason", cell: ({ reason }) => reason ?? "", left: true },
  { name: "started", cell: ({ start_ns }) => formatExactMoment(start_ns) },
  {
    name: "duration",
    cell: ({ start_ns, end_ns }) =>
      end_ns === null ? "" : formatDuration(secondsSince(end_ns, BigInt(start_ns))),
  },
];

// The processes of a job that recorded the run together.
function Members({
  run: { members = [] },
  metrics,
}: {
  run: RunDetail;
  metrics: readonly Metric[];
}) {
  if (members.length < 2) return null;
  return (
    <Section title="Processes" count={members.length}>
      <Rows
        label="Processes"
        columns={memberColumns({ members, metrics })}
        rows={members}
        most={32}
      />
    </Section>
  );
}

const kHealthColumns: Column<HealthPart>[] = [
  { name: "part", cell: ({ part }) => part, left: true },
  { name: "process", cell: ({ process }) => process ?? "", left: true },
  { name: "state", cell: ({ state }) => state, left: true },
  { name: "reason", cell: ({ reason }) => reason ?? "", left: true },
  { name: "since", cell: ({ at_ns }) => formatExactMoment(at_ns) },
];

const kCoverageColumns: Column<RunHealth["coverage"][number]>[] = [
  { name: "lane", cell: ({ lane }) => lane, left: true },
  { name: "outermost phases", cell: (one) => formatCount(one.phases) },
  { name: "share of the run's time", cell: ({ share }) => percent(share) },
];

function Health({ run }: { run: string }) {
  const { parts = [], coverage = [] } = useHealth(run) ?? {};
  if (parts.length === 0) return null;
  return (
    <Section title="Health" count={parts.length}>
      <Rows label="Health" columns={kHealthColumns} rows={parts} most={60} />
      {coverage.length > 0 && (
        <Rows label="Coverage" columns={kCoverageColumns} rows={coverage} most={20} />
      )}
    </Section>
  );
}

// NaN, and not the number before it.
const lastValue = (m: Metric) =>
  typeof m.last === "string" ? m.last : formatValue(m.last, m.unit, 4);

const kMetricColumns: Column<Metric>[] = [
  { name: "metric", cell: (m) => m.name, left: true },
  { name: "source", cell: (m) => m.source || (m.owner !== "run" ? "host" : ""), left: true },
  { name: "points", cell: (m) => formatCount(m.points) },
  { name: "last", cell: lastValue },
  { name: "min", cell: (m) => formatValue(finite(m.min), m.unit, 4) },
  { name: "mean", cell: (m) => formatValue(finite(m.mean), m.unit, 4) },
  { name: "max", cell: (m) => formatValue(finite(m.max), m.unit, 4) },
  { name: "not finite", cell: (m) => (m.nan === 0 ? "" : formatCount(m.nan)) },
];

function Metrics({ metrics }: { metrics: readonly Metric[] }) {
  if (metrics.length === 0) return null;
  return (
    <Section title="Metrics" count={metrics.length}>
      <Rows label="Metrics" columns={kMetricColumns} rows={metrics} most={20} />
    </Section>
  );
}

interface PhaseSum {
  name: string;
  lane: string;
  count: number;
  total: number;
  least: number;
  greatest: number;
}

// Per name and lane; "epoch 1" and "epoch 2" are one kind of phase.
export function sumPhases(phases: readonly Phase[]): PhaseSum[] {
  const sums = new Map<string, PhaseSum>();
  for (const phase of phases) {
    if (phase.end_ns === null) continue;
    const took = secondsSince(phase.end_ns, BigInt(phase.start_ns));
    const name = phase.name.replace(/[\s_-]*\d+$/, "");
    const key = `${phase.lane}\n${name}`;
    const sum = sums.get(key);
    if (sum === undefined) {
      const { lane } = phase;
      sums.set(key, { name, lane, count: 1, total: took, least: took, greatest: took });
      continue;
    }
    sum.count++;
    sum.total += took;
    sum.least = Math.min(sum.least, took);
    sum.greatest = Math.max(sum.greatest, took);
  }
  return [...sums.values()].sort((a, b) => b.total - a.total);
}

const kPhaseColumns: Column<PhaseSum>[] = [
  { name: "phase", cell: (p) => p.name, left: true },
  { name: "lane", cell: (p) => laneTitle(p.lane), left: true },
  { name: "n", cell: (p) => formatCount(p.count) },
  { name: "total", cell: (p) => formatDuration(p.total) },
  { name: "mean", cell: (p) => formatDuration(p.total / p.count) },
  { name: "shortest", cell: (p) => formatDuration(p.least) },
  { name: "longest", cell: (p) => formatDuration(p.greatest) },
];

function Phases({ phases }: { phases: readonly Phase[] }) {
  const sums = sumPhases(phases);
  if (sums.length === 0) return null;
  return (
    <Section title="Phases" count={phases.length}>
      <Rows label="Phases" columns={kPhaseColumns} rows={sums} most={20} />
    </Section>
  );
}

function Events({ run }: { run: RunDetail }) {
  const answer = useQuery(eventsQuery(run.id));
  const events = answer.data?.events ?? [];
  if (events.length === 0) return null;
  const origin = BigInt(run.start_ns);
  const columns: Column<RunEvent>[] = [
    { name: "run time", cell: (e) => formatClock(secondsSince(e.time_ns, origin), 0.1) },
    { name: "event", cell: (e) => e.name, left: true },
    {
      name: "details",
      cell: (e) =>
        Object.entries(e.attributes)
          .map(([key, value]) => `${key} ${words(key, value)}`)
          .join(", "),
      left: true,
    },
    { name: "from", cell: (e) => (e.origin === "corral" ? "collector" : e.origin), left: true },
  ];
  return (
    <Section title="Events" count={events.length}>
      <Rows label="Events" columns={columns} rows={events} most={30} />
    </Section>
  );
}

interface PlaceProps {
  note: Note;
  start: string;
  zoom: (to: TimeWindow) => void;
}

// When a note's time was; one about a span leads to it.
function Place({ note: { time_ns, end_ns }, start, zoom }: PlaceProps) {
  const clock = (ns: string) => formatClock(secondsSince(ns, BigInt(start)), 0.1);
  if (time_ns === null) return "run";
  if (end_ns === null) return clock(time_ns);
  return (
    <button
      type="button"
      className="link"
      title="Show it on the charts"
      onClick={() => zoom({ from_ns: time_ns, to_ns: end_ns })}
    >
      {clock(time_ns)} – {clock(end_ns)}
    </button>
  );
}

function Notes({ run, zoom }: Pick<AboutProps, "run" | "zoom">) {
  const client = useQueryClient();
  const answer = useQuery(notesQuery(run.id));
  const [text, setText] = useState("");
  const [failed, setFailed] = useState<string | null>(null);
  const notes = answer.data?.notes ?? [];
  const act = (doing: Promise<unknown>) =>
    doing
      .then(() => setFailed(null))
      .catch((reason: unknown) => setFailed(reason instanceof Error ? reason.message : "failed"))
      .finally(() => void client.invalidateQueries({ queryKey: ["notes", run.id] }));
  return (
    <Section title="Notes" count={notes.length}>
      {notes.map((note) => (
        <p key={note.id} className="note">
          <span className="quiet" title={formatExactMoment(note.created_ns)}>
            <Place note={note} start={run.start_ns} zoom={zoom} />
          </span>
          <span>
            {note.mark !== null && `${note.mark}: ${note.finding}. `}
            {note.text}
            {note.author && <span className="quiet"> – {note.author}</span>}
          </span>
          <button
            type="button"
            className="icon-button small"
            aria-label="Delete the note"
            title="Delete the note"
            onClick={() => void act(sendJson("DELETE", `/runs/${run.id}/notes/${note.id}`))}
          >
            ×
          </button>
        </p>
      ))}
      <form
        className="finder"
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim() === "") return;
          const sent = sendJson("POST", `/runs/${run.id}/notes`, { time_ns: null, text });
          void act(sent.then(() => setText((now) => (now === text ? "" : now))));
        }}
      >
        <input
          type="text"
          placeholder="A note about this run"
          aria-label="A note about this run"
          maxLength={10_000}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <button type="submit" className="button">
          Add
        </button>
      </form>
      {failed !== null && (
        <p className="quiet" role="alert">
          {failed}
        </p>
      )}
    </Section>
  );
}
