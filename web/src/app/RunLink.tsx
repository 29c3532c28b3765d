// The name of a run, which leads to its page.
import { Link } from "@tanstack/react-router";

export function RunLink({ id, name }: { id: string; name: string }) {
  return (
    <Link to="/runs/$id" params={{ id }} className="link">
      {name}
    </Link>
  );
}
