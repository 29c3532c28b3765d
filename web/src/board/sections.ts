// The list of metrics as rows: groups, in large ones sections by how names begin (`train/`, `a.b`), and in these the
// metrics. A closed section has no rows below it. Pure.
import { natural } from "../format/order";
import type { ChartDef } from "./model";

export interface Section {
  // Unique among all sections.
  key: string;
  name: string;
  // All metrics in it and in the sections below it.
  charts: readonly ChartDef[];
  parts: readonly Part[];
}

interface Leaf {
  chart: ChartDef;
  // Without what the sections above it say.
  name: string;
}

export type Part = Section | Leaf;

// So many are told apart at a glance.
const kFew = 12;

const separatorOf = (name: string) => (name.includes("/") ? "/" : ".");

// The part of a name from `cut` to behind the next separator; empty: there is none, or nothing behind it.
function nextPart(name: string, cut: number): string {
  const at = name.indexOf(separatorOf(name), cut + 1);
  return at < 0 || at === name.length - 1 ? "" : name.slice(cut, at + 1);
}

// The longest beginning up to a separator that all names share, which share one up to `cut`.
function sharedCut(charts: readonly ChartDef[], cut: number): number {
  const [first] = charts;
  if (first === undefined) return cut;
  const next = nextPart(first.name, cut);
  const all = next !== "" && charts.every(({ name }) => nextPart(name, cut) === next);
  return all ? sharedCut(charts, cut + next.length) : cut;
}

// A few metrics, in their order, come before the sections, which are sorted by name; many come after them. `key`: of
// what they are in, which says the first `cut` letters of each name.
export function partsOf(charts: readonly ChartDef[], key: string, cut = 0): Part[] {
  const leaf = (chart: ChartDef): Leaf => ({ chart, name: chart.name.slice(cut) });
  if (charts.length <= kFew) return charts.map(leaf);
  const byPart = new Map<string, ChartDef[]>();
  for (const chart of charts) {
    const part = nextPart(chart.name, cut);
    const known = byPart.get(part);
    if (known === undefined) byPart.set(part, [chart]);
    else known.push(chart);
  }
  const isSection = (part: string) => part !== "" && (byPart.get(part)?.length ?? 0) > 1;
  const leaves = charts.filter((chart) => !isSection(nextPart(chart.name, cut))).map(leaf);
  const sections = [...byPart].filter(([part]) => isSection(part));
  const made = sections.map(([, inside]): Section => {
    const end = sharedCut(inside, cut);
    const name = (inside[0] as ChartDef).name.slice(cut, end);
    const own = `${key}/${name}`;
    return { key: own, name, charts: inside, parts: partsOf(inside, own, end) };
  });
  made.sort((a, b) => natural(a.name, b.name));
  return leaves.length <= kFew ? [...leaves, ...made] : [...made, ...leaves];
}

export type MetricRow =
  | { kind: "section"; key: string; section: Section; depth: number; open: boolean }
  | { kind: "metric"; key: string; chart: ChartDef; name: string; depth: number };

export function rowsOf(
  parts: readonly Part[],
  isOpen: (section: Section, depth: number) => boolean,
  depth = 0,
): MetricRow[] {
  return parts.flatMap((part): MetricRow[] => {
    if ("chart" in part) return [{ kind: "metric", key: part.chart.name, depth, ...part }];
    const open = isOpen(part, depth);
    const row = { kind: "section", key: part.key, section: part, depth, open } as const;
    return open ? [row, ...rowsOf(part.parts, isOpen, depth + 1)] : [row];
  });
}
