// Below the phases: for every device, MIG instance, set of CPUs or host a lane of its runs, with their shared time
// hatched; and the values of a metric while alone and shared. A click zooms: on a run to its stay, beside one to the
// time that was shared.
import { Link } from "@tanstack/react-router";
import { useLayoutEffect, useMemo, useRef, useState } from "react";
import { type ShareMean, type Sharing, type SharingRun, useSharing } from "../api/sharing";
import { finite } from "../api/types";
import { Scrolling } from "../app/Scrolling";
import { useWidth } from "../app/useWidth";
import { paint } from "../charts/canvas";
import type { FontMetrics } from "../charts/font";
import {
  drawShared,
  layoutShared,
  type SharedFound,
  type SharedLane,
  sharedAt,
  sharedHeight,
} from "../charts/sharing";
import { type ChartTheme, seriesColour } from "../charts/theme";
import { collocationTitle, collocationWord } from "../format/collocation";
import { middleEllipsis } from "../format/text";
import { formatDuration } from "../format/time";
import { formatValue } from "../format/units";
import { kLaneGap, kLaneNames } from "./laneRows";
import type { ShownRun } from "./model";
import { Overlay } from "./Overlay";
import { type Range, useSurface } from "./pointer";
import { hasPlace } from "./sharing";
import type { BoardView } from "./useBoard";

const kTop = 6;
const kNameLine = 18;
// On a board with more workloads, only the first ones are shown.
const kMaxWorkloads = 4;

export interface SharingLanesProps {
  view: BoardView;
  place: (x: number) => string;
  theme: ChartTheme;
  font: FontMetrics;
}

export function SharingLanes({ view, place, theme, font }: SharingLanesProps) {
  const workloads = useMemo(
    () =>
      [...new Set(view.shown.filter(hasPlace).map((run) => run.workload))].slice(0, kMaxWorkloads),
    [view.shown],
  );
  const [chosen, setMetric] = useState<string | null>(null);
  const metric = chosen ?? view.charts[0]?.choice.metric ?? "";
  const answers = useSharing(workloads, metric, view.live);
  const told = answers.filter(({ lanes }) => lanes.length > 0);
  if (told.length === 0) return null;
  return (
    <section className="phases" aria-label="Sharing" data-testid="sharing">
      <div className="line-head">
        <h2>Sharing</h2>
        <span className="unit">runs on each device over time</span>
        <SlowdownLink run={view.shown.find((run) => run.workload === told[0]?.workload_id)} />
        <span className="badge">hatched = shared</span>
      </div>
      {told.map((sharing) => (
        <OneWorkload
          key={sharing.workload_id}
          sharing={sharing}
          several={told.length > 1}
          {...{ view, place, theme, font }}
        />
      ))}
      <Figures
        told={told}
        metric={metric}
        metrics={view.defs.map(({ name }) => name)}
        choose={setMetric}
      />
    </section>
  );
}

// A plan has the runs alone, too.
function SlowdownLink({ run }: { run: ShownRun | undefined }) {
  if (run === undefined) return null;
  const plan = run.tags["corral.plan"];
  const search = plan === undefined ? { workload: run.workload } : { plan: String(plan) };
  return (
    <Link to="/collocation" search={search} className="link">
      Slowdowns
    </Link>
  );
}

interface OneWorkloadProps extends SharingLanesProps {
  sharing: Sharing;
  several: boolean;
}

function OneWorkload({ sharing, several, view, place, theme, font }: OneWorkloadProps) {
  const mine = view.shown.filter((run) => run.workload === sharing.workload_id);
  const origin = mine[0]?.origin ?? 0n;
  // A device has no axis if each run has a zero of its own.
  const oneAxis = mine.every((run) => run.origin === origin);
  const lanes = useMemo(() => layoutShared(sharing, origin), [sharing, origin]);
  const title = sharing.workload === null ? "one run" : `workload ${sharing.workload}`;
  return (
    <>
      {several && <h3 className="quiet sharing-title">{title}</h3>}
      {oneAxis ? (
        <LaneRows {...{ lanes, view, place, theme, font }} />
      ) : (
        <p className="quiet">
          Not drawn: runs have different zeros. Choose time since the workload's start as the axis.
        </p>
      )}
    </>
  );
}

interface LaneRowsProps extends SharingLanesProps {
  lanes: readonly SharedLane[];
}

const heightOf = (lane: SharedLane) =>
  Math.max(sharedHeight(lane), (lane.about === "" ? 1 : 2) * kNameLine);

function under(
  lanes: readonly SharedLane[],
  seconds: number,
  y: number,
): { lane: SharedLane; found: SharedFound } | null {
  let top = 0;
  for (const lane of lanes) {
    const height = heightOf(lane);
    if (y >= top && y < top + height) {
      const found = sharedAt(lane, seconds, y - top);
      return found && { lane, found };
    }
    top += height + kLaneGap;
  }
  return null;
}

const spanOf = (found: SharedFound): Range => {
  const { start, end } = found.kind === "stay" ? found.stay : found.shared;
  return { from: start, to: end };
};

function LaneRows({ lanes, view, place, theme, font }: LaneRowsProps) {
  const { gestures, region, shown } = view;
  const [ref, total] = useWidth();
  const width = Math.max(0, total - kLaneNames);
  const tip = useRef<HTMLDivElement>(null);
  const at = (seconds: number, event: PointerEvent) => {
    const box = ref.current?.getBoundingClientRect();
    return box === undefined ? null : under(lanes, seconds, event.clientY - box.top - kTop);
  };
  const surface = useSurface({
    ...gestures,
    name: null,
    click: (seconds, event) => {
      const span = at(seconds, event);
      if (span === null) return;
      const range = spanOf(span.found);
      if (range.to > range.from) gestures.zoom(range);
    },
    move: (seconds, event) =>
      showTip(tip.current, seconds === null ? null : at(seconds, event), { event, place }),
  });
  return (
    <>
      <div className="lanes sharing-lanes" ref={ref} style={{ rowGap: kLaneGap }}>
        {width > 0 &&
          lanes.map((lane) => (
            <OneLane
              key={lane.key}
              lane={lane}
              shown={shown}
              spec={{ width, from: gestures.range.from, to: gestures.range.to }}
              theme={theme}
              font={font}
            />
          ))}
        <div className="surface" ref={surface}>
          <Overlay range={gestures.range} width={width} region={region} />
        </div>
      </div>
      <div className="tip" ref={tip} role="tooltip" />
    </>
  );
}

interface OneLaneProps {
  lane: SharedLane;
  shown: readonly ShownRun[];
  spec: { width: number; from: number; to: number };
  theme: ChartTheme;
  font: FontMetrics;
}

function OneLane({ lane, shown, spec, theme, font }: OneLaneProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width, from, to } = spec;
  const picture = useMemo(() => {
    const colours = new Map(shown.map((run) => [run.id, seriesColour(theme, run.index)]));
    const colourOf = (run: string) => colours.get(run) ?? null;
    return drawShared(lane, { width, from, to, theme, colourOf }, font);
  }, [lane, shown, width, from, to, theme, font]);
  useLayoutEffect(() => {
    if (canvas.current !== null) paint(canvas.current, picture, devicePixelRatio);
  }, [picture]);
  return (
    <div
      className="lane"
      data-testid="sharing-lane"
      data-lane={lane.title}
      style={{ height: heightOf(lane) }}
    >
      <div className="lane-names" title={`${lane.title} ${lane.about}`}>
        <span className="lane-name name cut" data-level={lane.instance ? 1 : 0}>
          {middleEllipsis(lane.title, 18)}
        </span>
        {lane.about !== "" && (
          <span className="lane-name name cut" data-level={2}>
            {lane.about}
          </span>
        )}
      </div>
      <canvas
        ref={canvas}
        style={{ width, height: sharedHeight(lane) }}
        role="img"
        aria-label={summaryOf(lane)}
      />
    </div>
  );
}

function summaryOf(lane: SharedLane): string {
  const { source } = lane;
  const names = [...new Set(lane.stays.map((stay) => stay.name))].slice(0, 12);
  return `${lane.title}: ${names.join(", ")}. Shared ${formatDuration(source.shared_s)}, alone ${formatDuration(source.alone_s)}, idle ${formatDuration(source.idle_s)}.`;
}

function showTip(
  tip: HTMLDivElement | null,
  at: { lane: SharedLane; found: SharedFound } | null,
  { event, place }: { event: PointerEvent; place: (x: number) => string },
): void {
  if (tip === null) return;
  tip.style.visibility = at === null ? "hidden" : "visible";
  if (at === null) return;
  const { found } = at;
  const words = ({ start, end }: { start: number; end: number }) =>
    `${place(start)} to ${place(end)}, ${formatDuration(end - start)}`;
  const lines =
    found.kind === "stay"
      ? [`${found.stay.name}${found.stay.own ? "" : ", of another workload"}`, words(found.stay)]
      : [];
  if (found.shared !== null)
    lines.push(`shared by ${found.shared.names.join(", ")}`, words(found.shared));
  tip.replaceChildren(
    ...lines.map((line) => {
      const p = document.createElement("p");
      p.textContent = line;
      return p;
    }),
  );
  const room = window.innerWidth - tip.offsetWidth - 8;
  tip.style.left = `${Math.min(event.clientX + 14, room)}px`;
  tip.style.top = `${event.clientY - tip.offsetHeight - 10}px`;
}

// ---- alone and shared
interface FiguresProps {
  told: readonly Sharing[];
  metric: string;
  metrics: readonly string[];
  choose: (metric: string) => void;
}

const kHeads = ["time alone", "time shared", "mean alone", "mean shared", "ratio"];

function Figures({ told, metric, metrics, choose }: FiguresProps) {
  return (
    <>
      <div className="line-head sharing-head">
        <h3>Alone and shared</h3>
        <select
          className="select"
          aria-label="Metric, alone and shared"
          data-testid="sharing-metric"
          value={metric}
          onChange={(event) => choose(event.currentTarget.value)}
        >
          {!metrics.includes(metric) && (
            <option value={metric}>{metric === "" ? "no metric" : metric}</option>
          )}
          {metrics.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </div>
      <Scrolling className="sharing-table" label="Alone and shared">
        <table className="table" data-testid="sharing-table">
          <thead>
            <tr>
              <th scope="col">run</th>
              <th scope="col" className="left">
                collocation
              </th>
              {kHeads.map((head) => (
                <th key={head} scope="col">
                  {head}
                </th>
              ))}
              <th scope="col" className="left">
                with
              </th>
            </tr>
          </thead>
          <tbody>
            {told.flatMap((sharing) =>
              sharing.runs
                .filter((run) => run.own)
                .map((run) => <FigureRow key={run.id} run={run} sharing={sharing} />),
            )}
          </tbody>
        </table>
      </Scrolling>
    </>
  );
}

const value = ({ mean }: ShareMean): number | null => finite(mean);

function FigureRow({ run, sharing }: { run: SharingRun; sharing: Sharing }) {
  const alone = value(run.alone);
  const shared = value(run.shared);
  const ratio = alone !== null && shared !== null && alone !== 0 ? shared / alone : null;
  const others = run.with.flatMap((at) => sharing.runs[at] ?? []);
  return (
    <tr data-testid="sharing-row">
      <th scope="row" className="name">
        {middleEllipsis(run.name, 32)}
      </th>
      <td className="left" title={collocationTitle(run.collocation ?? "")}>
        {collocationWord(run.collocation ?? "")}
      </td>
      <td>{formatDuration(run.alone_s)}</td>
      <td>{formatDuration(run.shared_s)}</td>
      <td>{formatValue(alone, sharing.unit)}</td>
      <td>{formatValue(shared, sharing.unit)}</td>
      <td>{ratio === null ? "–" : `${formatValue(ratio, "", 3)} ×`}</td>
      <td className="left">
        {others.length === 0
          ? "none"
          : others.map((other, i) => (
              <span key={other.id}>
                {i > 0 && ", "}
                <Link to="/runs/$id" params={{ id: other.id }} title={other.workload ?? other.name}>
                  {middleEllipsis(other.name, 24)}
                </Link>
              </span>
            ))}
      </td>
    </tr>
  );
}
