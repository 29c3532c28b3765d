// Events and notes of runs: what happened, and what people wrote about it.
import { useQueries, useQuery } from "@tanstack/react-query";
import { getJson } from "./client";
import type { Plain } from "./types";

export interface RunEvent {
  time_ns: string;
  name: string;
  // `corral`: the collector's own.
  origin: string;
  attributes: Record<string, Plain>;
}

export interface Note {
  id: string;
  // null: about the run as a whole.
  time_ns: string | null;
  text: string;
  // The finding that it is about, of a mark.
  finding: string | null;
  mark: MarkKind | null;
  created_ns: string;
}

export type MarkKind = "dismissed" | "kept";
export type MarkedNote = Note & { mark: MarkKind };

export const notesQuery = (run: string) => ({
  queryKey: ["notes", run],
  queryFn: ({ signal }: { signal: AbortSignal }) =>
    getJson<{ notes: Note[] }>(`/runs/${run}/notes`, {}, signal),
});

// By finding; none without a run.
export function useMarks(run: string): ReadonlyMap<string, MarkedNote> {
  const { data } = useQuery({ ...notesQuery(run), enabled: run !== "" });
  const isMark = (note: Note): note is MarkedNote => note.mark !== null;
  return new Map((data?.notes ?? []).filter(isMark).map((note) => [note.finding ?? "", note]));
}

export const eventsQuery = (run: string) => ({
  queryKey: ["events", run],
  queryFn: ({ signal }: { signal: AbortSignal }) =>
    getJson<{ events: RunEvent[] }>(`/runs/${run}/events`, {}, signal),
});

export interface Happening {
  run: string;
  time_ns: string;
  label: string;
}

const kNone: Happening[] = [];

// All events of scripts and all notes with a time, of the shown runs.
export function useHappenings(ids: readonly string[]): readonly Happening[] {
  const events = useQueries({
    queries: ids.map(eventsQuery),
    combine: (answers) =>
      answers.flatMap(({ data }, i) =>
        (data?.events ?? [])
          .filter((event) => event.origin !== "corral")
          .map(({ time_ns, name }) => ({ run: ids[i] as string, time_ns, label: name })),
      ),
  });
  const notes = useQueries({
    queries: ids.map(notesQuery),
    combine: (answers) =>
      answers.flatMap(({ data }, i) =>
        (data?.notes ?? []).flatMap(({ time_ns, text }) =>
          time_ns === null ? [] : [{ run: ids[i] as string, time_ns, label: text }],
        ),
      ),
  });
  return events.length + notes.length === 0 ? kNone : [...events, ...notes];
}
