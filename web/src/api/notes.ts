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
  // The end of the span that begins at that time; null: a moment.
  end_ns: string | null;
  text: string;
  // The finding that it is about, of a mark.
  finding: string | null;
  mark: MarkKind | null;
  created_ns: string;
  // The user who wrote it, where the store has users.
  author?: string | null;
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
  return marksByFinding(data?.notes);
}

export const eventsQuery = (run: string) => ({
  queryKey: ["events", run],
  queryFn: ({ signal }: { signal: AbortSignal }) =>
    getJson<{ events: RunEvent[] }>(`/runs/${run}/events`, {}, signal),
});

export interface Happening {
  run: string;
  time_ns: string;
  // Absent: a moment.
  end_ns?: string;
  label: string;
}

// The events of a run's script, and its notes with a time.
export const eventsOf = (run: string, events: readonly RunEvent[] = []): Happening[] =>
  events
    .filter((event) => event.origin !== "corral")
    .map(({ time_ns, name }) => ({ run, time_ns, label: name }));

export const notesOf = (run: string, notes: readonly Note[] = []): Happening[] =>
  notes.flatMap(({ time_ns, end_ns, text }) =>
    time_ns === null ? [] : [{ run, time_ns, ...(end_ns === null ? {} : { end_ns }), label: text }],
  );

export function marksByFinding(notes: readonly Note[] = []): ReadonlyMap<string, MarkedNote> {
  const isMark = (note: Note): note is MarkedNote => note.mark !== null;
  return new Map(notes.filter(isMark).map((note) => [note.finding ?? "", note]));
}

const kNone: Happening[] = [];

// Those of the shown runs.
export function useHappenings(ids: readonly string[]): readonly Happening[] {
  const events = useQueries({
    queries: ids.map(eventsQuery),
    combine: (answers) =>
      answers.flatMap(({ data }, i) => eventsOf(ids[i] as string, data?.events)),
  });
  const notes = useQueries({
    queries: ids.map(notesQuery),
    combine: (answers) => answers.flatMap(({ data }, i) => notesOf(ids[i] as string, data?.notes)),
  });
  return events.length + notes.length === 0 ? kNone : [...events, ...notes];
}
