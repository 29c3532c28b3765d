// The evidence of a verdict: each metric with its course over the time that was judged, and the rules that could not be
// applied.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { Columns } from "../../api/columns";
import type { Bottleneck, Evidence as Fact, TimeWindow } from "../../api/explain";
import { askColumns } from "../../api/useCharts";
import { kTrendWidth, TrendLine } from "../../app/TrendLine";
import type { LineDef } from "../../board/model";
import type { BoardView } from "../../board/useBoard";
import { secondsSince } from "../../format/time";
import { plural } from "../../format/units";
import { evidenceWords } from "./found";

interface EvidenceProps {
  run: string;
  bottleneck: Bottleneck;
  board: BoardView;
  over: TimeWindow;
  zoom: (to: TimeWindow) => void;
}

export function Evidence({ run, bottleneck, board, over, zoom }: EvidenceProps) {
  const { evidence, unproven } = bottleneck;
  const show = (metric: string) => {
    if (!board.chosen.has(metric)) board.chooseMetric(metric, true);
    zoom(over);
  };
  return (
    <>
      {evidence.length > 0 && (
        <ul className="findings" aria-label="Evidence">
          {evidence.map((fact) => (
            <li key={`${fact.metric} ${fact.source}`}>
              <Course name={nameOf(fact)} line={lineOf(board, run, fact)} over={over} />
              <button
                type="button"
                className="link"
                title="Show its chart in this time"
                onClick={() => show(fact.metric)}
              >
                {nameOf(fact)}
              </button>
              <span className="quiet">{evidenceWords(fact.mean, fact.unit, fact.points)}</span>
            </li>
          ))}
        </ul>
      )}
      {unproven.length > 0 && (
        <details>
          <summary>{plural(unproven.length, "rule")} that could not be applied</summary>
          <ul>
            {unproven.map(({ resource, metric, reason }) => (
              <li key={`${resource} ${metric}`} className="quiet">
                {resource}: {metric}: {reason}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

const nameOf = ({ metric, source }: Fact) => (source === null ? metric : `${metric} of ${source}`);

// Undefined: the board does not draw this source.
const lineOf = (board: BoardView, run: string, { metric, source }: Fact): LineDef | undefined =>
  board.defs
    .find(({ name }) => name === metric)
    ?.lines.find(
      (line) => (line.run === run || line.shared) && (source === null || line.source === source),
    );

interface CourseProps {
  name: string;
  line: LineDef | undefined;
  over: TimeWindow;
}

function Course({ name, line, over }: CourseProps) {
  const { from_ns, to_ns } = over;
  const answer = useQuery({
    queryKey: ["course", line?.series, from_ns, to_ns],
    queryFn: ({ signal }) => {
      const { series: id = 0, origin = 0n } = line ?? {};
      const [from, to] = [from_ns, to_ns].map((ns) => secondsSince(ns, origin)) as [number, number];
      const asked = { axis: "time" as const, series: [{ id, origin }], from, to };
      return askColumns({ ...asked, width: kTrendWidth }, { exact: false, signal });
    },
    enabled: line !== undefined && to_ns > from_ns,
    // A live run's time grows.
    placeholderData: keepPreviousData,
  });
  const columns = line && answer.data?.get(line.series);
  return (
    <span className="course">
      {columns && <TrendLine label={`${name} over the judged time`} y={courseOf(columns)} />}
    </span>
  );
}

// The last value in each pixel column.
function courseOf({ lastX, last }: Columns): (number | null)[] {
  const y: (number | null)[] = new Array(kTrendWidth).fill(null);
  lastX.forEach((x, i) => {
    y[Math.min(kTrendWidth - 1, Math.floor(x))] = last[i] as number;
  });
  return y;
}
