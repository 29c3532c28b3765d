// Changes runs: name, tags, archive and trash. Live events then show them everywhere.
import { sendJson } from "./client";
import type { RunState } from "./types";

// A tag of null is removed.
export interface Change {
  name?: string;
  tags?: Record<string, string | null>;
  state?: RunState;
}
export interface RunsChange extends Change {
  runs: string[];
}
export interface ChangedRun {
  id: string;
  name: string;
  state: RunState;
  // The change that takes it back; null: the run was so already.
  undo: Change | null;
}

const kAtOnce = 1000; // runs in one request

// All or none of each thousand runs. An ApiError of status 409 without `force`: some of them are running.
export async function changeRuns(
  changes: readonly RunsChange[],
  force = false,
): Promise<ChangedRun[]> {
  const single = changes.flatMap(({ runs, ...change }) => {
    const parts: RunsChange[] = [];
    for (let from = 0; from < runs.length; from += kAtOnce)
      parts.push({ runs: runs.slice(from, from + kAtOnce), ...change });
    return parts;
  });
  const requests: RunsChange[][] = [];
  let room = 0;
  for (const one of single) {
    if (one.runs.length > room) {
      requests.push([]);
      room = kAtOnce;
    }
    requests.at(-1)?.push(one);
    room -= one.runs.length;
  }
  const changed: ChangedRun[] = [];
  for (const some of requests) {
    const body = { changes: some, force };
    changed.push(...(await sendJson<{ runs: ChangedRun[] }>("POST", "/runs/changes", body)).runs);
  }
  return changed;
}

export interface Removal {
  // Points of the runs' own series, and bytes as stored.
  points: number;
  bytes: number;
}

// Removes a run of the trash for good, or with `dry` only says what would go. An ApiError of status 409: it is running;
// of 404: it is not in the trash any more, and stays if it is there.
export async function removeTrashed(id: string, { dry = false } = {}): Promise<Removal> {
  const answer = await sendJson<{ points: string; bytes: string }>(
    "DELETE",
    `/runs/${id}?state=trashed&dry_run=${dry}`,
  );
  return { points: Number(answer.points), bytes: Number(answer.bytes) };
}

export const undoOf = (changed: readonly ChangedRun[]): RunsChange[] =>
  changed.flatMap(({ id, undo }) => (undo === null ? [] : [{ runs: [id], ...undo }]));

// "team=vision", or "team=" to remove it, one a line; null where a line is neither.
export function readTags(text: string): Record<string, string | null> | null {
  const lines = text.split("\n").map((line) => line.trim());
  const tags: [string, string | null][] = [];
  for (const line of lines.filter((one) => one !== "")) {
    const [, key, value] = /^([^=]+)=(.*)$/.exec(line) ?? [];
    if (key === undefined) return null;
    tags.push([key.trim(), value || null]);
  }
  return tags.length === 0 ? null : Object.fromEntries(tags);
}
