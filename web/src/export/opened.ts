// Files that are opened on the page: Corral's share files lead to their board, radT's are shown as they are.
import { useNavigate } from "@tanstack/react-router";
import { create } from "zustand";
import type { RadtChart } from "./radt";
import { readShare } from "./share";

export interface Opened {
  name: string;
  charts: readonly RadtChart[];
}

interface OpenedState {
  file: Opened | null;
  // The problem with the last file that was dropped.
  wrong: string;
}

export const useOpened = create<OpenedState>(() => ({ file: null, wrong: "" }));

export const closeOpened = () => useOpened.setState({ file: null, wrong: "" });

function parsed(text: string): { value: unknown } | { wrong: string } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { wrong: `Not a share file, invalid JSON: ${(error as Error).message}.` };
  }
}

// Opens a file; returns the problem with it, "" if there is none.
export function useOpenFile(): (file: File) => Promise<string> {
  const navigate = useNavigate();
  return async (file) => {
    const read = parsed(await file.text());
    if ("wrong" in read) return read.wrong;
    if (Array.isArray(read.value)) {
      const { RadtError, readRadt } = await import("./radt");
      try {
        useOpened.setState({ file: { name: file.name, charts: readRadt(read.value) }, wrong: "" });
        return "";
      } catch (error) {
        if (!(error instanceof RadtError)) throw error;
        return `${file.name} is not a valid file of radT's page: ${error.message}.`;
      }
    }
    const share = readShare(read.value);
    if ("wrong" in share) return share.wrong;
    await navigate({ to: share.path });
    return "";
  };
}
