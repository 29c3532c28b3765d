// The ways from selected runs to a comparison of their groups and to their history; nothing for too many.
import { Link } from "@tanstack/react-router";
import { type CompareSearch, kPages, searchOfRuns } from "./search";

export interface GroupLinksProps {
  ids: readonly string[];
  // The field that divides them, and their value.
  asked?: CompareSearch;
}

export function GroupLinks({ ids, asked = {} }: GroupLinksProps) {
  const found = searchOfRuns(ids);
  if (found === undefined) return null;
  const search = { ...found, ...asked };
  return (
    <>
      <Link to="/compare" search={search} className="link" data-testid="to-compare">
        {kPages.compare.title}
      </Link>
      <Link to="/history" search={search} className="link wide-only" data-testid="to-history">
        {kPages.history.title}
      </Link>
    </>
  );
}
