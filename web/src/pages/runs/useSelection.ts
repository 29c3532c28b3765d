// Selecting in the table of runs by mouse and keyboard; the selection is the basket.
import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, useCallback, useRef, useState } from "react";
import { type FoundRun, type RunList, type RunRows, rowsBetween } from "../../api/runSearch";
import { addRuns, removeRuns, useBasket } from "../../state/basket";
import type { Lines } from "./lines";
import { type Place, type Range, rangeChange, rowAfter } from "./selection";

export interface SelectionAt {
  list: RunList;
  rows: RunRows;
  lines: Lines;
  // Opens or closes the group of this value.
  toggle: (value: string) => void;
  open: ReadonlySet<string>;
  from: Place;
  page: number;
  show: (index: number) => void;
  moved: (place: Place) => void;
  pin: (run: FoundRun) => void;
}

type Rows = Pick<SelectionAt, "rows" | "lines">;

function runOf({ rows, lines }: Rows, line: number): FoundRun | undefined {
  const run = lines.runAt(line);
  return run === null ? undefined : rows.at(run);
}

// True if the key has opened or closed the group of the line.
function toggles(key: string, { lines, open, toggle }: SelectionAt, line: number): boolean {
  const group = lines.groupAt(line);
  if (group === null) return false;
  const now = open.has(group.value);
  const means = key === "Enter" || key === " " || key === (now ? "ArrowLeft" : "ArrowRight");
  if (means) toggle(group.value);
  return means;
}

// `place`: the line the keys act on. `put` takes a range of runs in or out, `select` the run of a line or, with shift,
// those of the lines up to it.
export function useSelection(at: SelectionAt) {
  const navigate = useNavigate();
  const [place, setPlace] = useState<Place>(at.from);
  const now = useRef({ ...at, place });
  now.current = { ...at, place };
  const move = useCallback((next: Place) => {
    now.current.place = next;
    now.current.moved(next);
    setPlace(next);
  }, []);
  const put = useCallback(async (range: Range, on: boolean) => {
    const { rows, list } = now.current;
    const known = Array.from({ length: range.last - range.first + 1 }, (_, i) =>
      rows.at(range.first + i),
    );
    // Rows that have not come yet are asked for; a range that cannot be read changes nothing.
    const runs = known.every((run) => run !== undefined)
      ? known
      : await rowsBetween(list, range).catch(() => []);
    if (on) addRuns(runs);
    else removeRuns(runs.map((run) => run.id));
  }, []);
  const extend = useCallback(
    (active: number) => {
      const before = now.current.place;
      const after = { ...before, active };
      const { add, remove } = rangeChange(before, after);
      move(after);
      const { runsIn } = now.current.lines;
      for (const range of remove.flatMap(runsIn)) void put(range, false);
      for (const range of runsIn(add)) void put(range, true);
    },
    [move, put],
  );
  const select = useCallback(
    (index: number, on: boolean, shift: boolean) => {
      if (shift) return extend(index);
      move({ active: index, anchor: index });
      const run = runOf(now.current, index);
      if (run === undefined) return;
      if (on) addRuns([run]);
      else removeRuns([run.id]);
    },
    [extend, move],
  );
  const onKeyDown = (event: KeyboardEvent) => {
    const { rows, lines, page, show } = at;
    // The buttons of the head answer by themselves.
    if (event.target !== event.currentTarget || lines.total === 0) return;
    if (toggles(event.key, at, place.active)) return event.preventDefault();
    const run = runOf(at, place.active);
    const chosen = run !== undefined && run.id in useBasket.getState().basket.runs;
    const command = event.ctrlKey || event.metaKey;
    const to = command ? null : rowAfter(event.key, place.active, { count: lines.total, page });
    if (to !== null) {
      if (event.shiftKey) extend(to);
      else move({ active: to, anchor: to });
      show(to);
    } else if (event.key === " ") select(place.active, !chosen, event.shiftKey);
    else if (event.key === "Enter" && run)
      void navigate({ to: "/runs/$id", params: { id: run.id } });
    else if (event.key.toLowerCase() === "b" && run && !command) at.pin(run);
    else if (event.key === "a" && command) addRuns(rows.loaded());
    else return;
    event.preventDefault();
  };
  return { place, move, put, select, onKeyDown };
}
