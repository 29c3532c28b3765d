// The media of runs by name and step (docs/api.md#media).
import { useQueries } from "@tanstack/react-query";
import { getJson } from "./client";
import { combineBy, type Loaded } from "./queries";

export type MediaKind = "image" | "audio" | "video" | "text" | "table" | "histogram";

export interface MediaStep {
  // null: logged without a step.
  step: string | null;
  path: string;
  size: string;
}

export interface MediaEntry {
  name: string;
  kind: MediaKind;
  // `steps` may be some of them only, evenly spread.
  count: number;
  steps: MediaStep[];
}

export interface MediaIndex {
  names: number;
  media: MediaEntry[];
}

export function useMedia(ids: readonly string[]): Loaded<MediaEntry> {
  return useQueries({
    queries: ids.map((id) => ({
      queryKey: ["media", id],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        getJson<MediaIndex>(`/runs/${id}/media`, {}, signal),
      select: (answer: MediaIndex) => answer.media,
    })),
    combine: combineBy<MediaEntry>(ids),
  });
}
