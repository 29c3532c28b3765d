// The changes panel: every metric of every shown run, ranked by its difference from the previous window, or from the
// same phase or the same steps of another run.
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { sendJson } from "../api/client";
import type { Num } from "../api/types";
import { finite } from "../api/types";
import { formatCount, formatNumber, formatValue, plural } from "../format/units";
import { type ChartDef, kMaxDevices, type LineDef } from "./model";
import type { Range } from "./pointer";
import { type NamedPhase, phaseOfRegion } from "./samePhase";
import type { BoardView } from "./useBoard";

interface Side {
  mean: Num;
  deviation: Num;
  n: number;
}

interface Change {
  series: number;
  ks: Num;
  effect: Num;
  direction: "up" | "down" | "shape";
  before: Side;
  after: Side;
}

interface Answer {
  changes: Change[];
  flat: number;
  too_few: number;
  // Series that the other run does not have.
  unmatched?: number;
}

const kShown = 12;
const kMaxSeries = 4096;

// A possible reference for a region: a shown run, either its matching phase or the same steps.
interface Other {
  run: string;
  label: string;
  phase: NamedPhase | null;
}

function othersOf(view: BoardView, region: Range): Other[] {
  const { shown, phases, onTime } = view;
  // The most alike is only known once the phases of all runs are.
  if (onTime && phases.pending) return [];
  const phase = onTime ? phaseOfRegion(shown, phases.byRun, region) : null;
  if (onTime && phase === null) return [];
  const what = phase === null ? "the same steps" : `${phase.name} ${formatCount(phase.index)}`;
  return shown.map(({ id, name }) => ({ run: id, label: `${what} of ${name}`, phase }));
}

// The baseline of the board until another is chosen, if it has the region's phase or steps.
function useOther(view: BoardView, region: Range) {
  const [chosen, choose] = useState<string | null>(null);
  const others = useMemo(() => othersOf(view, region), [view, region]);
  const key = chosen ?? view.making.baseline?.key;
  return { others, other: others.find(({ run }) => run === key) ?? null, choose };
}

export function Changes({ view, region }: { view: BoardView; region: Range }) {
  const { others, other, choose } = useOther(view, region);
  const lines = useMemo(
    () =>
      view.defs
        .filter((def) => !def.flat)
        .flatMap((chart) => chart.lines.map((line) => ({ chart, line })))
        // Nothing is compared with itself.
        .filter(({ line }) => line.run !== other?.run),
    [view.defs, other],
  );
  const { onTime } = view;
  const byOrigin = useMemo(() => origins(lines, onTime), [lines, onTime]);
  const asked = [...byOrigin.values()].reduce((sum, some) => sum + some.length, 0);
  const left = view.defs.reduce((sum, def) => sum + (def.flat ? 0 : def.left), 0);
  const answer = useQuery({
    queryKey: [
      "changes",
      region,
      onTime,
      other,
      [...byOrigin].map(([origin, some]) => [String(origin), some]),
    ],
    queryFn: ({ signal }) => ask(byOrigin, { region, onTime, other }, signal),
    enabled: lines.length > 0,
  });
  const known = new Map(lines.map((one) => [one.line.series, one]));
  return (
    <div className="changes" data-testid="changes">
      <h3>
        <label>
          What changed here, against{" "}
          <select
            value={other?.run ?? ""}
            data-testid="changes-against"
            onChange={(event) => choose(event.currentTarget.value)}
          >
            <option value="">{onTime ? "the time before" : "the steps before"}</option>
            {others.map(({ run, label }) => (
              <option key={run} value={run}>
                {label}
              </option>
            ))}
          </select>
        </label>
      </h3>
      {answer.error && <p className="quiet">{answer.error.message}</p>}
      {answer.data?.changes.length === 0 && <p className="quiet">No measurable differences.</p>}
      <ol>
        {answer.data?.changes.slice(0, kShown).map((change) => (
          <ChangeRow
            key={change.series}
            change={change}
            of={known.get(change.series)}
            view={view}
          />
        ))}
      </ol>
      {answer.data && (
        <p className="quiet">
          {plural(answer.data.flat + answer.data.too_few, "series", "series")} without a change or
          with too few points hidden
          {(answer.data.unmatched ?? 0) > 0 &&
            `, ${plural(answer.data.unmatched ?? 0, "series", "series")} that the other run does not have`}
        </p>
      )}
      <NotCompared beyond={lines.length - asked} devices={left} />
    </div>
  );
}

// Names the series that the limits leave out, and the remedy.
function NotCompared({ beyond, devices }: { beyond: number; devices: number }) {
  if (beyond + devices === 0) return null;
  return (
    <p className="quiet" data-testid="changes-limit">
      {beyond > 0 &&
        `${plural(beyond, "series", "series")} beyond ${formatCount(kMaxSeries)} not compared: remove runs from the board. `}
      {devices > 0 &&
        `${plural(devices, "series", "series")} of less busy devices not compared: only the busiest ${kMaxDevices} per metric are. Fewer runs on the board allow more devices.`}
    </p>
  );
}

type Line = { chart: ChartDef; line: LineDef };

// A window of time is one on each run's own axis, so runs that began at other times are asked for apart.
function origins(lines: readonly Line[], onTime: boolean): Map<bigint, number[]> {
  const out = new Map<bigint, number[]>();
  for (const { line } of lines) {
    const origin = onTime ? line.origin : 0n;
    const some = out.get(origin) ?? [];
    out.set(origin, some);
    if (some.length < kMaxSeries) some.push(line.series);
  }
  return out;
}

interface Where {
  region: Range;
  onTime: boolean;
  other: Other | null;
}

function windowOf({ region, onTime }: Where, origin: bigint): Record<string, string> {
  if (!onTime) {
    const from = Math.floor(region.from);
    const to = Math.max(from + 1, Math.ceil(region.to));
    return { axis: "step", from_step: String(from), to_step: String(to) };
  }
  const ns = (seconds: number) => String(origin + BigInt(Math.round(seconds * 1e9)));
  return { from_ns: ns(region.from), to_ns: ns(region.to) };
}

function referenceOf({ other }: Where): object {
  if (other === null) return {};
  const { run, phase } = other;
  const named = phase === null ? {} : { phase: phase.name, index: phase.index };
  return { reference: { run, ...named } };
}

async function ask(
  byOrigin: Map<bigint, number[]>,
  where: Where,
  signal: AbortSignal,
): Promise<Answer> {
  const parts = await Promise.all(
    [...byOrigin].map(([origin, series]) => {
      const body = { series, ...windowOf(where, origin), ...referenceOf(where) };
      return sendJson<Answer>("POST", "/changes", body, signal);
    }),
  );
  const strength = (change: Change) => finite(change.ks) ?? 0;
  return {
    changes: parts
      .flatMap((part) => part.changes)
      .sort(
        (a, b) =>
          strength(b) - strength(a) ||
          Math.abs(finite(b.effect) ?? 0) - Math.abs(finite(a.effect) ?? 0),
      ),
    flat: parts.reduce((sum, part) => sum + part.flat, 0),
    too_few: parts.reduce((sum, part) => sum + part.too_few, 0),
    unmatched: parts.reduce((sum, part) => sum + (part.unmatched ?? 0), 0),
  };
}

const kArrows = { up: "↑", down: "↓", shape: "~" };

function ChangeRow({
  change,
  of,
  view,
}: {
  change: Change;
  of: Line | undefined;
  view: BoardView;
}) {
  if (of === undefined) return null;
  const { chart, line } = of;
  const shown = view.chosen.has(chart.name);
  const value = (side: Side) => formatValue(finite(side.mean), chart.unit, 3);
  return (
    <li>
      <span aria-hidden="true">{kArrows[change.direction]}</span>
      <b className="cut name">{chart.name}</b>
      <span className="cut quiet">{line.label}</span>
      <span>
        {value(change.before)} → {value(change.after)}
      </span>
      <span className="quiet" title="Kolmogorov–Smirnov distance, and effect size">
        KS {formatNumber(finite(change.ks) ?? 0, 2)} · d{" "}
        {formatNumber(finite(change.effect) ?? 0, 2)}
      </span>
      <button
        type="button"
        className="link"
        disabled={shown}
        onClick={() => view.chooseMetric(chart.name, true)}
      >
        {shown ? "shown" : "show chart"}
      </button>
    </li>
  );
}
