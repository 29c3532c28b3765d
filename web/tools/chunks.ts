// Divides the page's code into files. Left alone, what two parts share becomes a file of its own, some twenty for a
// page, each a request in a browser that opens six at a time. So: what the frame needs is one file, what the list of
// runs shares with another page is one, what a page with charts over time shares with others is one, and what the rest of
// the pages share is one. Used by vite.config.ts.

// The ids of the modules that one imports, not those that it loads later.
type Imports = (id: string) => readonly string[];

// Its barrel names all components; what a page uses of them is not said by the graph of modules. Left alone, with all
// that imports it, so that no two files need each other.
const kBarrel = /node_modules\/(@mantine|@floating-ui)\//;

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
    const listed = first.has(id);
    const file = frame.has(id)
      ? "frame"
      : listed && pages > 0
        ? "shared"
        : pages < 2
          ? ""
          : boards.some((ids) => ids.has(id))
            ? "charts"
            : "figures";
    if (file === "" || [...reach(id, imports)].some((one) => kBarrel.test(one))) continue;
    files.set(id, file);
  }
  return files;
}
