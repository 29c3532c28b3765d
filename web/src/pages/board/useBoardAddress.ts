// The address of a board. A state that is too long for a link is stored on the server under a short id; the same state
// always has the same id.
import { useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useEffect, useMemo, useRef } from "react";
import { sendJson } from "../../api/client";
import { useStoredView, viewKey } from "../../api/queries";
import { parseSearch, stringifySearch } from "../../app/search";
import { type BoardSearch, boardSearch } from "../../board/view";

const route = getRouteApi("/board");
const kLongest = 2000;

export type BoardChange = { [Part in keyof BoardSearch]?: BoardSearch[Part] | undefined };

export function useBoardAddress() {
  const here = route.useSearch();
  const navigate = useNavigate({ from: "/board" });
  const client = useQueryClient();
  const stored = useStoredView(here.v);
  const state = stored.data?.state;
  const search = useMemo((): BoardSearch | null => {
    if (here.v === undefined) return here;
    return state === undefined ? null : boardSearch(parseSearch(state));
  }, [here, state]);
  // A change that is not in the address yet: two quick changes both count, and of states that are being stored only the
  // newest goes there.
  const coming = useRef<{ next: BoardSearch; replace: boolean } | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another address, also by Back, is the newest
  useEffect(() => {
    coming.current = null;
  }, [here]);

  const change = (part: (old: BoardSearch) => BoardChange, replace: boolean) => {
    const old = boardSearch({ ...(coming.current?.next ?? search) });
    const next = boardSearch({ ...old, ...part(old), v: undefined });
    // A change that has no step of its own must not swallow that of one before it that is still being stored.
    const mine = { next, replace: replace && (coming.current?.replace ?? true) };
    coming.current = mine;
    const go = (to: BoardSearch) => {
      if (coming.current !== mine) return;
      void navigate({ search: to, replace: mine.replace, resetScroll: false });
      mine.replace = true;
    };
    const text = stringifySearch({ ...next });
    if (text.length <= kLongest) {
      go(next);
      return;
    }
    void sendJson<{ id: string }>("POST", "/views", { state: text }).then(
      ({ id }) => {
        client.setQueryData(viewKey(id), { state: text });
        go({ v: id });
      },
      // A server that cannot store it: the long address has to do.
      () => go(next),
    );
  };
  return { search, change, error: stored.error, retry: () => void stored.refetch() };
}
