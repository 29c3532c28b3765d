// Findings about the run, above its charts: where its time went, what bounded it, which epochs differ. Each
// finding zooms the board to its evidence. Its three lines have their room before the answer comes; details open below.
import { type ReactNode, useState } from "react";
import {
  type Explanation,
  type Finding,
  type LaneOfEpochs,
  type OddEpoch,
  type TimeWindow,
  useExplanation,
} from "../../api/explain";
import { regionFinding, useInterests, withItsBegin } from "../../api/interest";
import { useMarks } from "../../api/notes";
import type { RunDetail } from "../../api/types";
import { laneTitle } from "../../board/laneRows";
import { TimeBar } from "../../board/TimeBar";
import { partsOfLane } from "../../board/timeBar";
import type { BoardView } from "../../board/useBoard";
import { formatDuration } from "../../format/time";
import { formatCount, plural } from "../../format/units";
import { Devices } from "./Devices";
import { Evidence } from "./Evidence";
import { FindingList } from "./FindingList";
import { Footprint } from "./Footprint";
import { alikeWords, apart, oddOf, oddWords, steadyWords, toldLane, verdictWords } from "./found";
import { spanOf } from "./span";
import { WhatIf } from "./WhatIf";

export interface FoundProps {
  run: RunDetail;
  board: BoardView;
}

type Zoom = (to: TimeWindow) => void;

const kOddInLine = 4;
const kOddInDetails = 20;
const kBarsOfLanes = 8;

export function Found({ run, board }: FoundProps) {
  const answer = useExplanation(run.id);
  const [opened, open] = useState(false);
  const found = answer.data;
  const zoom: Zoom = (to) => board.change(spanOf(run, board, to), false);
  const slot = board.shown.find(({ id }) => id === run.id)?.index ?? 0;
  return (
    <section className="found" aria-label="What was found" data-testid="found">
      <div className="line-head">
        <h2>Where the time went</h2>
        <span className="unit cut">{found && headWords(found)}</span>
        <span className="grow" />
        {found && found.parts.length > 0 && (
          <button
            type="button"
            className="link"
            aria-expanded={opened}
            data-testid="found-details"
            onClick={() => open(!opened)}
          >
            {opened ? "Less" : "Details"}
          </button>
        )}
      </div>
      {answer.error && !found ? (
        <p className="quiet">{answer.error.message}</p>
      ) : (
        found && (
          <>
            {found.parts.length > 0 && (
              <TimeBar parts={found.parts} slot={slot} label="Where the time went" />
            )}
            {opened ? (
              <Details run={run.id} found={found} board={board} slot={slot} zoom={zoom} />
            ) : (
              <Lines
                run={run.id}
                found={found}
                zoom={zoom}
                condense={board.shown.length === 1 ? () => board.setAxis("condensed") : null}
              />
            )}
          </>
        )
      )}
    </section>
  );
}

function headWords(found: Explanation): string {
  const training = found.lanes.filter(({ trains }) => trains).length;
  const mean = training > 1 ? `mean of ${plural(training, "training lane")}` : "";
  return [mean, found.provisional ? "so far" : ""].filter((word) => word !== "").join(", ");
}

interface LinesProps {
  run: string;
  found: Explanation;
  zoom: Zoom;
  // null: several runs are drawn.
  condense: (() => void) | null;
}

function Lines({ run, found, zoom, condense }: LinesProps) {
  const lane = toldLane(found.epochs);
  const epochs = lane === null ? "" : epochWords(found, lane);
  const parts = apart(found.findings, useMarks(run));
  const verdict = verdictWords(parts, found.summary);
  return (
    <>
      <p className="cut" title={verdict} data-testid="verdict">
        {verdict}
      </p>
      <p className="cut" data-testid="alike" title={`${epochs} ${steadyWords(found)}`}>
        {lane && <EpochLine words={epochs} lane={lane} odd={oddOf(lane, parts)} zoom={zoom} />}{" "}
        {condense && epochs !== "" && (
          <button type="button" className="link" onClick={condense}>
            Condense
          </button>
        )}{" "}
        {steadyWords(found)}
      </p>
    </>
  );
}

// The name of the lane stands where several have epochs.
const epochWords = (found: Explanation, lane: LaneOfEpochs) =>
  alikeWords(lane, found.epochs.length > 1 ? laneTitle(lane.lane) : "");

interface EpochLineProps {
  words: string;
  lane: LaneOfEpochs;
  odd: readonly OddEpoch[];
  zoom: Zoom;
}

function EpochLine({ words, lane, odd, zoom }: EpochLineProps) {
  const more = lane.odd_epochs - (lane.odd.length - odd.length) - kOddInLine;
  return (
    <>
      {words}
      {odd.slice(0, kOddInLine).map((one, i) => (
        <span key={one.from_ns}>
          {i === 0 ? " Odd: " : ", "}
          <Jump to={one} zoom={zoom} title={oddWords(one)}>
            epoch {one.epoch}
          </Jump>
        </span>
      ))}
      {more > 0 && ` and ${formatCount(more)} more`}
      {odd.length > 0 && "."}
    </>
  );
}

function Jump(at: { to: TimeWindow; zoom: Zoom; title: string; children: ReactNode }) {
  return (
    <button
      type="button"
      className="link"
      title={`Zoom: ${at.title}`}
      onClick={() => at.zoom(at.to)}
    >
      {at.children}
    </button>
  );
}

interface DetailsProps {
  run: string;
  found: Explanation;
  board: BoardView;
  slot: number;
  zoom: Zoom;
}

function Details({ run, found, board, slot, zoom }: DetailsProps) {
  const { steady } = found;
  const training = found.lanes.filter(({ trains }) => trains);
  return (
    <div className="found-details">
      {found.unseen.length > 0 && (
        <p data-testid="unseen">
          <b>Not seen:</b> {found.unseen.map((one) => `${one.part} (${one.reason})`).join(", ")}
        </p>
      )}
      {training.length > 1 && (
        <div data-testid="lane-bars">
          {training.slice(0, kBarsOfLanes).map((lane) => (
            <div key={lane.lane} className="lane">
              <span className="cut quiet" title={lane.lane}>
                {laneTitle(lane.lane)}
              </span>
              <TimeBar parts={partsOfLane(lane)} slot={slot} label={lane.lane} />
            </div>
          ))}
          {training.length > kBarsOfLanes && (
            <p className="quiet">
              and {plural(training.length - kBarsOfLanes, "more lane")}: corral explain lists them
            </p>
          )}
        </div>
      )}
      {found.findings.length === 0 && <p>{found.summary}</p>}
      <FindingList run={run} name="Findings" findings={found.findings} show={zoom} />
      {found.bottleneck && (
        <Evidence run={run} bottleneck={found.bottleneck} board={board} over={steady} zoom={zoom} />
      )}
      {steady.steps > 0 && (
        <p>
          {steadyWords(found)}{" "}
          <Jump to={steady} zoom={zoom} title="the steady part">
            show
          </Jump>
        </p>
      )}
      <WhatIf found={found} slot={slot} />
      <Regions run={run} board={board} zoom={zoom} />
      {found.epochs.map((lane) => (
        <Epochs key={lane.lane} lane={lane} alone={found.epochs.length === 1} zoom={zoom} />
      ))}
      <Devices devices={found.devices} slot={slot} />
      <Footprint run={run} level="h3" />
    </div>
  );
}

const kChartsOfRegion = 2;

// The stretches where metrics jumped. A click shows the charts of those that moved most.
function Regions({ run, board, zoom }: Pick<DetailsProps, "run" | "board" | "zoom">) {
  const [found] = useInterests([run]);
  if (found === undefined || found.regions.length === 0) return null;
  const show = (finding: Finding) => {
    const region = found.regions.find((one) => regionFinding(one).id === finding.id);
    for (const { metric } of region?.moved.slice(0, kChartsOfRegion) ?? [])
      if (board.defs.some(({ name }) => name === metric) && !board.chosen.has(metric))
        board.chooseMetric(metric, true);
    zoom(withItsBegin(finding, found));
  };
  return (
    <div data-testid="regions">
      <h3>Worth looking at</h3>
      <FindingList
        run={run}
        name="Worth looking at"
        findings={found.regions.map(regionFinding)}
        show={show}
      />
    </div>
  );
}

function Epochs({ lane, alone, zoom }: { lane: LaneOfEpochs; alone: boolean; zoom: Zoom }) {
  return (
    <div>
      <h3 className="cut" title={lane.lane}>
        Epochs{alone ? "" : ` of ${laneTitle(lane.lane)}`}
      </h3>
      <ul>
        {lane.regimes.map((regime) => (
          <li key={`${regime.first} ${regime.typical?.from_ns}`}>
            {regime.first === regime.last ? "Epoch" : "Epochs"} {regime.first}
            {regime.first !== regime.last && ` to ${regime.last}`}:{" "}
            {regime.compared
              ? `${formatCount(regime.alike)} of ${formatCount(regime.epochs)} alike`
              : "too few to compare"}
            {regime.typical && (
              <>
                , {formatDuration(regime.median_s)} ({formatDuration(regime.p10_s)} to{" "}
                {formatDuration(regime.p90_s)});{" "}
                <Jump to={regime.typical} zoom={zoom} title="the typical epoch">
                  typical: epoch {regime.typical.epoch}
                </Jump>
              </>
            )}
          </li>
        ))}
        {lane.odd.slice(0, kOddInDetails).map((odd) => (
          <li key={odd.from_ns}>
            <Jump to={odd} zoom={zoom} title="this epoch">
              epoch {odd.epoch}
            </Jump>
            : {oddWords(odd)}
          </li>
        ))}
        {lane.odd_epochs > kOddInDetails && (
          <li className="quiet">and {plural(lane.odd_epochs - kOddInDetails, "more odd epoch")}</li>
        )}
        {lane.left_out > 0 && (
          <li className="quiet">{plural(lane.left_out, "further epoch")} not compared</li>
        )}
      </ul>
    </div>
  );
}
