// A link to the board of these runs and workloads. A click stays in the page; the browser's own ways of opening a
// link work as with any.
import { useRouter } from "@tanstack/react-router";
import type { MouseEvent, ReactNode } from "react";
import { stringifySearch } from "../../app/search";

export interface BoardSelection {
  workload?: string[];
  run?: string[];
}

export const boardHref = (selection: BoardSelection): string =>
  `/board${stringifySearch({ ...selection })}`;

export interface BoardLinkProps {
  selection: BoardSelection;
  className?: string;
  title?: string;
  testid?: string;
  children: ReactNode;
}

export function BoardLink({ selection, className, title, testid, children }: BoardLinkProps) {
  const router = useRouter();
  const href = boardHref(selection);
  const go = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
      return;
    event.preventDefault();
    router.history.push(href);
  };
  return (
    <a href={href} className={className} title={title} data-testid={testid} onClick={go}>
      {children}
    </a>
  );
}
