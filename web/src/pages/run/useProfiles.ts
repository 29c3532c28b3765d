// The profiles of a run: requested once, and again when a profiler begins or ends and when the run does.

import { type FileEntry, useFolder } from "../../api/artifacts";
import type { Phase, RunDetail } from "../../api/types";
import { isProfiled } from "../../charts/lanes";

// The folder that a run's profiles are in.
const kProfileFolder = "profile";

export interface ProfilePlace {
  // The folder of a summary and of the files beside it.
  path: string;
  // null: to be asked for.
  files: FileEntry[] | null;
}

export interface ProfilePlaces {
  places: ProfilePlace[];
  // Another one when there may be more files.
  revision: string;
}

// null when there are none.
export function useProfiles(run: RunDetail, phases: readonly Phase[]): ProfilePlaces | null {
  const ended = phases.filter(isProfiled).map(({ end_ns }) => end_ns !== null);
  const revision = `${ended.length} ${ended.filter(Boolean).length} ${run.status}`;
  const expected = foldersOf(phases);
  const folder = useFolder(run.id, kProfileFolder, {
    revision,
    while: (found) =>
      run.status === "running" && expected.some((one) => !found.some(({ name }) => name === one)),
  });
  const entries = folder.data ?? [];
  const files = entries.filter(({ is_dir }) => !is_dir);
  const folders = entries
    .filter(({ is_dir }) => is_dir)
    .map(({ name }): ProfilePlace => ({ path: `${kProfileFolder}/${name}`, files: null }));
  if (entries.length === 0) return null;
  const own = files.length === 0 ? [] : [{ path: kProfileFolder, files }];
  return { places: [...own, ...folders], revision };
}

// The folders that the phases of ended profiles name.
function foldersOf(phases: readonly Phase[]): string[] {
  return phases.flatMap((phase) => {
    const artifact = String(phase.attributes.artifact ?? "");
    const there = isProfiled(phase) && phase.end_ns !== null;
    return there && artifact.startsWith(`${kProfileFolder}/`)
      ? [artifact.slice(kProfileFolder.length + 1)]
      : [];
  });
}
