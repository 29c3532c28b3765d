// The board or run that an address in a report stands for. A board whose address is too long for a link is kept on the
// server.
import { useMemo } from "react";
import { useStoredView } from "../../api/queries";
import { parseSearch } from "../../app/search";
import { type BoardSearch, boardSearch } from "../../board/view";
import type { Block } from "./report";

export type Live = Exclude<Block, { kind: "text" }>;

export function useBlockSearch(block: Live) {
  const asked = useMemo(() => {
    const runs = block.run === undefined ? {} : { run: [block.run] };
    return boardSearch({ ...block.search, ...runs });
  }, [block]);
  const { data, error, refetch } = useStoredView(asked.v);
  const search = useMemo((): BoardSearch | null => {
    if (asked.v === undefined) return asked;
    return data === undefined ? null : boardSearch(parseSearch(data.state));
  }, [asked, data]);
  const single = block.kind === "run" && asked.v === undefined;
  return { search, single, error: asked.v === undefined ? null : error, refetch };
}
