// A link to the board of these runs and workloads.
import type { ReactNode } from "react";
import { type BoardSelection, boardHref, useGo } from "../../app/links";

export interface BoardLinkProps {
  selection: BoardSelection;
  className?: string;
  title?: string;
  testid?: string;
  children: ReactNode;
}

export function BoardLink({ selection, className, title, testid, children }: BoardLinkProps) {
  return (
    <a
      href={boardHref(selection)}
      className={className}
      title={title}
      data-testid={testid}
      onClick={useGo()}
    >
      {children}
    </a>
  );
}
