// The files that a run logged, as the server lists them.
import { useQuery } from "@tanstack/react-query";
import { getJson } from "../../api/client";

export interface FileEntry {
  name: string;
  is_dir: boolean;
  size: number | string | null;
}

const encoded = (path: string) => path.split("/").map(encodeURIComponent).join("/");
export const fileUrl = (run: string, path: string) => `/runs/${run}/artifacts/${encoded(path)}`;

// `revision`: asked anew when it changes, while the old answer stays.
export function useFolder(run: string, path: string, revision = "") {
  return useQuery({
    queryKey: ["artifacts", run, path, revision],
    queryFn: ({ signal }) =>
      getJson<{ entries: FileEntry[] }>(`/runs/${run}/artifacts`, { path }, signal),
    select: (answer) => answer.entries,
    placeholderData: (before, query) => (query?.queryKey[2] === path ? before : undefined),
  });
}
