// Divides the page's code into files. Left alone, what two parts share becomes a file of its own, some twenty for a
// page, each a request in a browser that opens six at a time. So there is one file of what the frame needs, one of what the
// list of runs shares with pages with charts over time, one of what it shares with others alone, one of what a page with
// charts over time shares with others, and one of what the rest of the pages share. Used by vite.config.ts.

// The ids of the modules that one imports, not those that it loads later.
type Imports = (id: string) => readonly string[];

function reach(from: string, imports: Imports): ReadonlySet<string> {
  const seen = new Set<string>([from]);
  for (const id of seen) for (const next of imports(id)) seen.add(next);
  return seen;
}

// The file of each module that has to be in a certain one. `first` is the list of runs, `boards` are the pages with charts
// over time; no page is there twice.
export function filesOf(
  roots: { frame: string; first: string; boards: readonly string[]; others: readonly string[] },
  imports: Imports,
): Map<string, string> {
  const frame = reach(roots.frame, imports);
  const first = reach(roots.first, imports);
  const boards = roots.boards.map((root) => reach(root, imports));
  const others = [...boards, ...roots.others.map((root) => reach(root, imports))];
  const files = new Map<string, string>();
  for (const id of new Set([...frame, ...first, ...others.flatMap((ids) => [...ids])])) {
    const pages = others.filter((ids) => ids.has(id)).length;
    const charted = boards.some((ids) => ids.has(id));
    const listed = first.has(id);
    const file = frame.has(id)
      ? "frame"
      : listed && pages > 0
        ? charted
          ? "shared"
          : "lists"
        : pages < 2
          ? ""
          : charted
            ? "charts"
            : "figures";
    // The entry stays what the page's HTML names.
    if (file !== "" && id !== roots.frame) files.set(id, file);
  }
  return files;
}
