// Links that are plain anchors: to the board of some runs, and clicks on them that stay in the page.
import { useRouter } from "@tanstack/react-router";
import type { MouseEvent } from "react";
import { stringifySearch } from "./search";

export interface BoardSelection {
  workload?: string[];
  run?: string[];
}

export const boardHref = (selection: BoardSelection): string =>
  `/board${stringifySearch({ ...selection })}`;

// The browser's own ways of opening a link work as with any.
export function useGo(): (event: MouseEvent<HTMLAnchorElement>) => void {
  const router = useRouter();
  return (event) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
      return;
    event.preventDefault();
    const { pathname, search } = event.currentTarget;
    router.history.push(pathname + search);
  };
}
