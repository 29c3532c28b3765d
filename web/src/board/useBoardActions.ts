// The palette entries of a board: its metrics as charts, its axes, its ways of display.
import { useMemo, useRef } from "react";
import { type Action, usePaletteActions } from "../state/palette";
import { kAxisWords } from "./axis";
import type { BoardView } from "./useBoard";
import type { Axis } from "./view";

const kOffered: readonly Axis[] = ["workload", "run", "step", "epoch", "condensed", "wall"];

export function useBoardActions(view: BoardView): void {
  // The list of actions is rebuilt when their names change; they always act on the newest board.
  const latest = useRef(view);
  latest.current = view;
  const { defs } = view;
  const names = useMemo(() => defs.map((def) => def.name), [defs]);
  const actions = useMemo((): Action[] => {
    const now = () => latest.current;
    return [
      ...names.map((name) => ({
        id: `metric/${name}`,
        group: "metric",
        label: name,
        act: () => now().chooseMetric(name, !now().chosen.has(name)),
      })),
      ...kOffered.map((axis) => ({
        id: `axis/${axis}`,
        group: "axis",
        label: kAxisWords[axis],
        act: () => now().setAxis(axis),
      })),
      {
        id: "view/all",
        group: "view",
        label: "reset the zoom",
        hint: "F",
        act: () => now().gestures.zoom(null),
      },
      {
        id: "view/back",
        group: "view",
        label: "view before",
        hint: "Ctrl Z",
        act: () => history.back(),
      },
      {
        id: "view/sections",
        group: "view",
        label: "charts in sections",
        act: () => now().setSections(now().sections === null),
      },
      {
        id: "view/default",
        group: "view",
        label: "default charts",
        act: () => now().resetMetrics(),
      },
    ];
  }, [names]);
  usePaletteActions("board", actions);
}
