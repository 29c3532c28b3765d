// Metrics as rows of groups, in large ones of sections by how names begin (`train/`, `a.b`), and of the metrics in
// these, for the list of metrics and the charts of a board. A closed section has no rows below it. Pure.
import { natural } from "../format/order";
import { score } from "../state/palette";
import { type ChartDef, kGroups } from "./model";
import type { BoardChart } from "./resolve";
import type { ViewSearch } from "./view";

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
export const kFew = 12;

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
// what they are in, which says the first `cut` letters of each name. Up to `few` make no sections.
export function partsOf(
  charts: readonly ChartDef[],
  key: string,
  { cut, few }: { cut: number; few: number } = { cut: 0, few: kFew },
): Part[] {
  const leaf = (chart: ChartDef): Leaf => ({ chart, name: chart.name.slice(cut) });
  if (charts.length <= few) return charts.map(leaf);
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
    return { key: own, name, charts: inside, parts: partsOf(inside, own, { cut: end, few: kFew }) };
  });
  made.sort((a, b) => natural(a.name, b.name));
  return leaves.length <= kFew ? [...leaves, ...made] : [...made, ...leaves];
}

// Sections at the top: the groups that have any.
export function groupsOf(charts: readonly ChartDef[], few = kFew): Section[] {
  return kGroups.flatMap((group): Section[] => {
    const mine = charts.filter((chart) => chart.group === group);
    // The catalogue's names are few and known; a script's may be any.
    const parts =
      group === "software"
        ? partsOf(mine, group, { cut: 0, few })
        : mine.map((chart) => ({ chart, name: chart.name }));
    return mine.length === 0 ? [] : [{ key: group, name: group, charts: mine, parts }];
  });
}

// Charts of a board below one heading.
export interface ChartSection {
  key: string;
  name: string;
  charts: readonly BoardChart[];
  open: boolean;
}

// The section of each metric, by name: those of the metric list down to the first level, also where a script has few.
function headings(defs: readonly ChartDef[]): Map<string, Pick<ChartSection, "key" | "name">> {
  const isDerived = ({ lines }: ChartDef) => lines.some(({ made }) => made !== undefined);
  const made = { key: "expressions", name: "expressions" };
  const found = new Map<string, Pick<ChartSection, "key" | "name">>();
  for (const def of defs) if (isDerived(def)) found.set(def.name, made);
  for (const group of groupsOf(
    defs.filter((def) => !isDerived(def)),
    0,
  ))
    for (const part of group.parts) {
      const inside = "chart" in part ? [part.chart] : part.charts;
      for (const { name } of inside) found.set(name, "chart" in part ? group : part);
    }
  return found;
}

const kPinned = "pinned";

// The charts of a board as they are drawn, the pinned ones first. `sections`: null where they have no headings; `drawn`:
// those that are neither in a closed section nor left out by the search. In a section charts keep the board's order.
export function sectioned(
  charts: readonly BoardChart[],
  { sections, fold = [], find }: Pick<ViewSearch, "sections" | "fold" | "find">,
): { sections: readonly ChartSection[] | null; drawn: readonly BoardChart[] } {
  const found =
    find === undefined
      ? charts
      : charts.filter(({ def, second }) =>
          [def, second].some((one) => one !== null && score(one.name, find) !== null),
        );
  const pinned = found.filter(({ choice }) => choice.pinned);
  const wanted = [...pinned, ...found.filter(({ choice }) => !choice.pinned)];
  const on = sections === undefined ? charts.length > kFew : sections === "on";
  if (!on) return { sections: null, drawn: wanted };
  const heading = headings([...new Map(charts.map(({ def }) => [def.name, def])).values()]);
  const sectionOf = ({ choice, def }: BoardChart) =>
    choice.pinned ? kPinned : heading.get(def.name)?.key;
  const rest = new Map([...heading.values()].map(({ key, name }) => [key, name]));
  const list = [[kPinned, kPinned] as const, ...rest].flatMap(([key, name]): ChartSection[] => {
    const mine = wanted.filter((chart) => sectionOf(chart) === key);
    const open = find !== undefined || !fold.includes(key);
    return mine.length === 0 ? [] : [{ key, name, charts: mine, open }];
  });
  return { sections: list, drawn: list.flatMap((one) => (one.open ? one.charts : [])) };
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
