// Selecting in the table of runs by mouse and keyboard; the selection is the basket.
import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, useCallback, useRef, useState } from "react";
import { type FoundRun, type RunList, type RunRows, rowsBetween } from "../../api/runSearch";
import { addRuns, removeRuns, useBasket } from "../../state/basket";
import { type Place, type Range, rangeChange, rowAfter } from "./selection";

export interface SelectionAt {
  list: RunList;
  rows: RunRows;
  from: Place;
  page: number;
  show: (index: number) => void;
  moved: (place: Place) => void;
  pin: (run: FoundRun) => void;
}

// `place`: the row the keys act on. `put` takes a range of rows in or out, `select` one row or, with shift, the range
// up to it.
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
      for (const range of remove) void put(range, false);
      void put(add, true);
    },
    [move, put],
  );
  const select = useCallback(
    (index: number, on: boolean, shift: boolean) => {
      if (shift) return extend(index);
      move({ active: index, anchor: index });
      const run = now.current.rows.at(index);
      if (run === undefined) return;
      if (on) addRuns([run]);
      else removeRuns([run.id]);
    },
    [extend, move],
  );
  const onKeyDown = (event: KeyboardEvent) => {
    const { rows, page, show } = at;
    // The buttons of the head answer by themselves.
    if (event.target !== event.currentTarget || rows.total === 0) return;
    const run = rows.at(place.active);
    const chosen = run !== undefined && run.id in useBasket.getState().basket.runs;
    const to = rowAfter(event.key, place.active, { count: rows.total, page });
    if (to !== null) {
      if (event.shiftKey) extend(to);
      else move({ active: to, anchor: to });
      show(to);
    } else if (event.key === " ") select(place.active, !chosen, event.shiftKey);
    else if (event.key === "Enter" && run)
      void navigate({ to: "/runs/$id", params: { id: run.id } });
    else if (event.key === "b" && run && !event.ctrlKey && !event.metaKey) at.pin(run);
    else if (event.key === "a" && (event.ctrlKey || event.metaKey)) addRuns(rows.loaded());
    else return;
    event.preventDefault();
  };
  return { place, move, put, select, onKeyDown };
}
