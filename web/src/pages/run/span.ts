// A time of a run on its board.
import type { TimeWindow } from "../../api/explain";
import type { RunDetail } from "../../api/types";
import { together } from "../../board/choice";
import type { BoardView, ViewChange } from "../../board/useBoard";
import { kNoPlace, rounded, type ViewSearch } from "../../board/view";
import { secondsSince } from "../../format/time";

// The change that zooms the board there, with charts that have ranges of their own; a board on another axis changes to
// time.
export function spanOf(run: RunDetail, board: BoardView, { from_ns, to_ns }: TimeWindow) {
  const shown = board.onTime ? board.shown.find(({ id }) => id === run.id) : undefined;
  const origin = shown?.origin ?? BigInt(run.workload_start_ns);
  const range = { from: secondsSince(from_ns, origin), to: secondsSince(to_ns, origin) };
  const axis = { ...kNoPlace, x: undefined, xmetric: undefined, align: undefined };
  return ({ metric }: ViewSearch): ViewChange => ({
    ...(shown === undefined ? axis : {}),
    metric: metric && together(metric),
    ...rounded(range),
  });
}
