// The columns of charts on an axis of time whose data grow: each answer after the first has only the columns that
// changed. The picture of a running training is asked for once a second, and nearly all of it is known.
//
// The columns stand on a grid that keeps its first column while the range grows at its end: between one and two columns
// per pixel, two of which become one when there are more. A series whose kept columns do not hold as many points as the
// server counts (late data, another summary) is asked for again as a whole.
import type { ColumnsQuestion } from "./chartBodies";
import type { Columns } from "./columns";
import { joinColumns, rebin } from "./rebin";

export type GrowingQuestion = ColumnsQuestion & { live?: boolean };

// `since`: of each series the first column to send; null: all.
export type AskSince = (
  question: ColumnsQuestion,
  since: readonly number[] | null,
) => Promise<Map<number, Columns>>;

interface Series {
  origin: bigint;
  columns: Columns;
}

interface Grid {
  asked: GrowingQuestion;
  // Seconds of a column.
  step: number;
  count: number;
  // The grid is no longer that of the pixels.
  moved: boolean;
  series: ReadonlyMap<number, Series>;
}

const kMostColumns = 8192; // the limit of a question

export class Growing {
  private kept: Grid | null = null;

  // `moved`: the columns are those of the grid, moved to the pixels.
  async columns(
    question: GrowingQuestion,
    ask: AskSince,
  ): Promise<{ series: Map<number, Columns>; moved: boolean }> {
    const grid = gridFor(question, this.kept);
    const { from, width } = question;
    const to = grid.moved ? from + grid.count * grid.step : question.to;
    const asked = { ...question, to, width: grid.count };
    const found = await askGrown(asked, grid.series, ask);
    this.kept = { ...grid, asked: question, series: found };
    const scale = (grid.step * width) / (question.to - from);
    const shown = ({ columns }: Series) =>
      grid.moved ? { ...rebin(columns, (px) => px * scale), exact: false } : columns;
    const series = new Map([...found].map(([id, one]) => [id, shown(one)] as const));
    return { series, moved: grid.moved };
  }
}

function gridFor(question: GrowingQuestion, kept: Grid | null): Omit<Grid, "asked"> {
  const { from, to, width, live = false } = question;
  const fresh = { step: (to - from) / width, count: width, moved: false, series: new Map() };
  if (kept === null || kept.asked.from !== from || kept.asked.width !== width) return fresh;
  if (kept.asked.to === to && (live || !kept.moved)) return kept;
  // After the end of the runs the picture is drawn anew, at the pixels.
  if (to <= kept.asked.to || !live || 2 * width > kMostColumns) return fresh;
  let { step, series } = kept;
  while (Math.ceil((to - from) / step) > 2 * width) {
    step *= 2;
    series = new Map([...series].map(([id, one]) => [id, halved(one)] as const));
  }
  return { step, series, count: Math.ceil((to - from) / step), moved: true };
}

const halved = ({ origin, columns }: Series): Series => ({
  origin,
  columns: rebin(columns, (px) => px / 2),
});

// The last column is not complete, and rounding may have put its first point into the next one.
function firstUnsure(known: Series | undefined, origin: bigint): number {
  const last = known?.origin === origin ? known.columns.firstX.at(-1) : undefined;
  return Math.max(0, Math.floor(last ?? 0) - 1);
}

async function askGrown(
  asked: ColumnsQuestion,
  known: ReadonlyMap<number, Series>,
  ask: AskSince,
): Promise<Map<number, Series>> {
  const since = asked.series.map(({ id, origin }) => firstUnsure(known.get(id), origin));
  const answer = await ask(asked, since.some((column) => column > 0) ? since : null);
  const found = new Map<number, Series>();
  const again = asked.series.filter(({ id, origin }, i) => {
    const part = answer.get(id);
    if (part === undefined) return false;
    const before = known.get(id)?.columns;
    const first = since[i] as number;
    const whole = before && first > 0 ? appended(before, part, first) : part;
    if (whole === null) return true;
    found.set(id, { origin, columns: whole });
    return false;
  });
  if (again.length > 0) {
    for (const [id, columns] of await ask({ ...asked, series: again }, null)) {
      const { origin } = again.find((one) => one.id === id) as { origin: bigint };
      found.set(id, { origin, columns });
    }
  }
  return found;
}

// The columns of `before` up to `first`, then those of `part`, whose totals are those of all. null: points are missing.
function appended(before: Columns, part: Columns, first: number): Columns | null {
  const past = before.firstX.findIndex((x) => Math.floor(x) >= first);
  const head = {
    ...before,
    segments: before.segments.subarray(0, 1),
    gaps: [],
  };
  for (const name of kArrays)
    head[name] = before[name].subarray(0, past < 0 ? undefined : past) as never;
  const joined = joinColumns(head.firstX.length > 0 ? [head, part] : [part]) as Columns;
  const { points, nonFinite, exact, rate, gaps, unknownGap } = part;
  const counted = joined.counts.reduce((sum, count) => sum + count, 0);
  if (counted !== points - nonFinite) return null;
  const segments = Uint32Array.from(joined.firstX.length > 0 ? [0] : []);
  return {
    ...joined,
    points,
    nonFinite,
    exact: exact && before.exact,
    rate,
    gaps,
    unknownGap,
    segments,
  };
}

const kArrays = [
  "first",
  "min",
  "max",
  "last",
  "firstX",
  "minX",
  "maxX",
  "lastX",
  "counts",
] as const;
