// The part that an address shows inside a report: the charts of a board or a run, with what was found in the run; a
// comparison. Zooming and choosing there change nothing in the report.
import { type ReactNode, useMemo, useRef, useState } from "react";
import { useComparison } from "../../api/compare";
import { Boundary } from "../../app/Boundary";
import { useChartTheme } from "../../app/colours";
import { late } from "../../app/late";
import { Failing, Loading, Notice } from "../../app/Notice";
import { Board } from "../../board/Board";
import type { Reader } from "../../board/Readout";
import { useBoard } from "../../board/useBoard";
import { usePageFont } from "../../board/usePageFont";
import { type BoardSearch, boardSearch } from "../../board/view";
import { SelectedRuns, useSelected } from "../board/selected";
import type { BoardChange } from "../board/useBoardAddress";
import { compareSearch, questionOf } from "../compare/search";
import { type Live, useBlockSearch } from "./useBlockSearch";

const Comparison = late({
  what: "The comparison",
  load: async () => (await import("../compare/Comparison")).Comparison,
});
const Found = late({
  what: "Where the time went",
  load: async () => (await import("../run/Found")).Found,
});

export function LiveBlock({ block }: { block: Live }) {
  return (
    <section className="report-live" aria-label={`Live: ${block.address}`} data-testid="live-block">
      <Boundary what="This part of the report" again={block.address}>
        {block.kind === "compare" ? <Compared block={block} /> : <Charts block={block} />}
      </Boundary>
      <a className="link" href={block.address}>
        Open
      </a>
    </section>
  );
}

function Compared({ block }: { block: Live }) {
  const question = useMemo(() => questionOf(compareSearch(block.search)), [block]);
  const { data, error, refetch } = useComparison(question);
  if (data === undefined && error) return <Failing error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Loading what="the comparison" />;
  return <Comparison found={data} />;
}

function Charts({ block }: { block: Live }) {
  const { search, single, error, refetch } = useBlockSearch(block);
  if (error) return <Failing error={error} retry={() => void refetch()} />;
  if (search === null) return <Loading what="the board" />;
  return <Drawn asked={search} single={single} />;
}

function Drawn({ asked, single }: { asked: BoardSearch; single: boolean }) {
  const [search, setSearch] = useState(asked);
  const change = (part: (old: BoardSearch) => BoardChange) =>
    setSearch((old) => boardSearch({ ...old, ...part(old) }));
  const { slots, slotsLeft: _, ...selected } = useSelected(search);
  const view = useBoard({ runs: selected.runs, slots, search, change });
  const reader = useRef<Reader | null>(null);
  const drawing = { theme: useChartTheme(), font: usePageFont() };
  const [run] = selected.runs;
  let words: ReactNode = null;
  if (view.charts.length === 0)
    words = view.metrics.pending ? (
      <Loading what="metrics" />
    ) : (
      <Notice>
        <p>No data in these runs</p>
      </Notice>
    );
  return (
    <SelectedRuns {...selected}>
      {single && run && <Found run={run} board={view} />}
      {words ?? <Board {...drawing} view={view} reader={reader} />}
    </SelectedRuns>
  );
}
