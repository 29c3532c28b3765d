// The files that a run logged, as the server lists them.
import { useQuery } from "@tanstack/react-query";
import { getJson } from "./client";

export interface FileEntry {
  name: string;
  is_dir: boolean;
  size: number | string | null;
}

const encoded = (path: string) => path.split("/").map(encodeURIComponent).join("/");
export const fileUrl = (run: string, path: string) => `/runs/${run}/artifacts/${encoded(path)}`;

interface FolderOptions {
  // A change causes a new request, while the old answer stays.
  revision?: string;
  // Asked again every second while this holds of the answer, for a minute at most: files come a moment after what
  // speaks of them.
  while?: (entries: readonly FileEntry[]) => boolean;
}

const kPause = 1000;
const kTries = 60;

export function useFolder(run: string, path: string, options: FolderOptions = {}) {
  const { revision = "", while: lacks } = options;
  return useQuery({
    queryKey: ["artifacts", run, path, revision],
    queryFn: ({ signal }) =>
      getJson<{ entries: FileEntry[] }>(`/runs/${run}/artifacts`, { path }, signal),
    select: (answer) => answer.entries,
    refetchInterval: ({ state: { data, dataUpdateCount } }) =>
      data && dataUpdateCount < kTries && lacks?.(data.entries) ? kPause : false,
    placeholderData: (before, query) => (query?.queryKey[2] === path ? before : undefined),
  });
}
