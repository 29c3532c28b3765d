// The board of one run and those of its workload that are drawn along, kept in the address.
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { useOtherRuns, useWorkloadRuns } from "../../api/queries";
import type { RunDetail } from "../../api/types";
import { drawnAlong } from "../../board/model";
import { useBoard, useStable } from "../../board/useBoard";
import { type RunSearch, runSearch } from "./search";

const route = getRouteApi("/runs/$id");

type Change = { [Part in keyof RunSearch]?: RunSearch[Part] | undefined };

function useAddress() {
  const search = route.useSearch();
  const navigate = useNavigate({ from: "/runs/$id" });
  // From the address as it is by then: two quick choices both count.
  const change = (part: (old: RunSearch) => Change, replace: boolean) =>
    void navigate({
      search: (old) => runSearch({ ...old, ...part(runSearch(old)) }),
      replace,
      resetScroll: false,
    });
  return { search, change };
}

// All runs of the workload by start: their places give their colours.
function useSiblings(run: RunDetail) {
  const answer = useWorkloadRuns(run.neighbours.length > 0 ? run.workload_id : undefined);
  return useMemo(() => {
    const known: { id: string; name: string; start_ns?: string }[] = answer.data ?? [
      run,
      ...run.neighbours,
    ];
    const start = (other: { start_ns?: string }) => BigInt(other.start_ns ?? run.start_ns);
    return [...known].sort((a, b) => {
      const [x, y] = [start(a), start(b)];
      return x < y ? -1 : x > y ? 1 : a.id < b.id ? -1 : 1;
    });
  }, [answer.data, run]);
}

export function useRunBoard(run: RunDetail) {
  const { search, change } = useAddress();
  const withIds = useStable(search.with?.filter((id) => id !== "") ?? drawnAlong(run));
  const siblings = useSiblings(run);
  const others = useOtherRuns(withIds);
  const placed = [run, ...others.filter((other) => other.id !== run.id)]
    .map((one) => ({
      one,
      slot: Math.max(
        0,
        siblings.findIndex(({ id }) => id === one.id),
      ),
    }))
    .sort((a, b) => a.slot - b.slot);
  const board = useBoard({
    runs: placed.map(({ one }) => one),
    slots: placed.map(({ slot }) => slot),
    search,
    change,
  });
  const chooseRun = (id: string, on: boolean) =>
    change((old) => {
      const rest = (old.with ?? drawnAlong(run)).filter((other) => other !== id && other !== "");
      const now = on ? [...rest, id] : rest;
      // No other run is a choice too, marked by an empty id.
      return { with: now.length === 0 ? [""] : now };
    }, false);
  return { board, siblings, chooseRun, search, change };
}

export type RunBoard = ReturnType<typeof useRunBoard>;
