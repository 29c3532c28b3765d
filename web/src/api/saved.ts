// Boards, lists of runs and reports that people saved on the server under a name, and the actions on them. A change
// that loses something offers to undo it.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { offerUndo } from "../state/toast";
import { getJson, sendJson } from "./client";

export interface Saved {
  name: string;
  updated_ns: string;
  // Text of the page's own.
  state: string;
}

export type SavedKind = "boards" | "lists" | "reports";
const kTitles: Record<SavedKind, string> = { boards: "Board", lists: "List", reports: "Report" };

// `failed`: why the last action failed. The actions return true once they are done.
export function useSaved(kind: SavedKind) {
  const client = useQueryClient();
  const [failed, setFailed] = useState<string | null>(null);
  const answer = useQuery({
    queryKey: [kind],
    queryFn: ({ signal }) =>
      getJson<Partial<Record<SavedKind, Saved[]>>>(`/${kind}`, {}, signal).then(
        (body) => body[kind] ?? [],
      ),
  });
  const title = kTitles[kind];
  const act = async (doing: Promise<unknown>): Promise<boolean> => {
    try {
      await doing;
      setFailed(null);
      return true;
    } catch (reason) {
      setFailed(reason instanceof Error ? reason.message : "failed");
      return false;
    } finally {
      await client.invalidateQueries({ queryKey: [kind] }).catch(() => {});
    }
  };
  const path = (of: string) => `/${kind}/${encodeURIComponent(of)}`;
  const put = (name: string, state: string, expected?: string) =>
    sendJson<Saved>("PUT", path(name), {
      state,
      ...(expected === undefined ? {} : { expected_updated_ns: expected }),
    });
  // As it was, unless somebody has saved another one since.
  const putBack = (before: Saved, over: string) => () =>
    void act(put(before.name, before.state, over));
  const all = answer.data ?? [];
  const save = async (name: string, state: string, expected?: string) => {
    const before = all.find((one) => one.name === name);
    const saved = await put(name, state, expected);
    if (before !== undefined)
      offerUndo({ text: `${title} ${name} replaced`, undo: putBack(before, saved.updated_ns) });
  };
  const remove = async (one: Saved) => {
    await sendJson("DELETE", path(one.name));
    offerUndo({ text: `${title} ${one.name} deleted`, undo: putBack(one, "0") });
  };
  // The new name first: a failure between the two steps leaves both, and loses neither.
  const rename = async (one: Saved, to: string) => {
    if (all.some(({ name }) => name === to))
      throw new Error(`there is a ${title.toLowerCase()} ${to} already`);
    await put(to, one.state, "0");
    await sendJson("DELETE", path(one.name));
  };
  return {
    all,
    known: answer.data !== undefined,
    error: answer.error,
    failed,
    // With `expected`, only over that version.
    save: (name: string, state: string, expected?: string) => act(save(name, state, expected)),
    remove: (one: Saved) => act(remove(one)),
    rename: (one: Saved, to: string) => act(rename(one, to)),
  };
}
