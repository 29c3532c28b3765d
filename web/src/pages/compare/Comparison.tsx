// The answer to a comparison: what could not be seen, the verdicts, the ratios, the runs, and what differs.
import { useCallback } from "react";
import type { Comparison as Compared, ComparedGroup, Difference, Verdict } from "../../api/compare";
import { type Column, Rows } from "../../app/Rows";
import { RunLink } from "../../app/RunLink";
import { drawForest } from "../../charts/forest";
import { drawSequence } from "../../charts/sequence";
import { formatDuration } from "../../format/time";
import { formatCount, formatNumber, formatValue, percent, plural } from "../../format/units";
import { type Drawing, Figure } from "./Figure";
import { SetUp } from "./SetUp";
import { Told } from "./Told";

const kHeight = 240;
const kMostRows = 12;
const kNeutral: readonly Verdict[] = ["inconclusive", "too few", "unequal budgets"];
const isShown = (verdict: Verdict) => !kNeutral.includes(verdict);

export function Comparison({ found }: { found: Compared }) {
  return (
    <>
      <Warnings found={found} />
      <section aria-label="Verdicts">
        <p className="quiet" data-testid="margin-words">
          {marginWords(found)}
        </p>
        {found.differences.map((one, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a difference is its place
          <Told key={i} verdict={one.verdict} shown={isShown(one.verdict)} text={one.text} />
        ))}
      </section>
      {found.margin !== null && found.differences.some(({ ratio }) => ratio !== null) && (
        <Ratios found={found} margin={found.margin} />
      )}
      <Values found={found} />
      {found.differences.map((one, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: as above
        <Why key={i} of={one} value={found.value} open={i === 0} />
      ))}
    </>
  );
}

function marginWords({ value, margin, margin_planned, family }: Compared): string {
  const planned = margin_planned ? "given when the runs started" : "post hoc";
  const corrected = family > 1 ? `; corrected for ${formatCount(family)} comparisons` : "";
  if (margin === null) return `${value}, by ranks${corrected}`;
  return `${value}, within a margin of ${percent(margin)} (${planned})${corrected}`;
}

function Warnings({ found }: { found: Compared }) {
  const all = [
    ...found.groups.flatMap(({ name, warnings }) => warnings.map((text) => `${name}: ${text}`)),
    ...found.differences.flatMap(({ a, b, warnings }) =>
      warnings.map((text) => `${b} against ${a}: ${text}`),
    ),
  ];
  if (all.length === 0) return null;
  return (
    <ul aria-label="Warnings" className="quiet" data-testid="warnings">
      {[...new Set(all)].map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  );
}

function Ratios({ found, margin }: { found: Compared; margin: number }) {
  const { differences, confidence } = found;
  const baseline = found.groups[0]?.name ?? "";
  const draw = useCallback(
    (on: Drawing) => {
      const rows = differences.map(({ b, ratio, low, high, verdict }) => {
        return { name: b, ratio, low, high, shown: isShown(verdict) };
      });
      return drawForest(rows, { width: on.width, theme: on.theme, margin, baseline }, on.font);
    },
    [differences, margin, baseline],
  );
  const [low, high] = [1 / (1 + margin), 1 + margin].map((one) => formatNumber(one, 3));
  const caption = `Ratios of geometric means with ${percent(confidence)} intervals; shaded: the margin, ${low} to ${high}`;
  return <Figure label="Ratios to the baseline" caption={caption} testid="forest" draw={draw} />;
}

// ---- the runs

interface PlacedUnit {
  group: ComparedGroup;
  unit: ComparedGroup["units"][number];
}

const unitsOf = (groups: readonly ComparedGroup[]): PlacedUnit[] =>
  groups.flatMap((group) => group.units.map((unit) => ({ group, unit })));

function unitValue({ group, unit }: PlacedUnit) {
  if (unit.missed_s !== null) return `missed after ${formatDuration(unit.missed_s)}`;
  return unit.value === null ? (unit.reason ?? "no value") : formatValue(unit.value, group.unit);
}

function Values({ found: { groups, value } }: { found: Compared }) {
  const units = unitsOf(groups);
  const unit = groups.find((group) => group.unit !== "")?.unit ?? "";
  const draw = useCallback(
    (on: Drawing) => drawSequence(sequenceOf(groups), { ...on, height: kHeight, unit }, on.font),
    [groups, unit],
  );
  return (
    <section aria-label="Runs">
      <div className="line-head">
        <h2>{value}</h2>
        <span className="unit">each run in the order of starts</span>
      </div>
      <Figure
        label={`${value} of each run`}
        caption={`A point per run, a cross where there is no value${groups.some(({ mean }) => mean !== null) ? "; lines: geometric means" : ""}`}
        testid="values"
        draw={draw}
        runsOf={(key) => units[Number(key)]?.unit.runs.map(({ id }) => id) ?? []}
      />
      <Rows label="Groups" columns={kGroups} rows={groups} most={kMostRows} />
      <Uncounted units={units} />
    </section>
  );
}

function sequenceOf(groups: readonly ComparedGroup[]) {
  let first = 0;
  const places = groups.map((group, series) => {
    const last = first + group.units.length - 1;
    const place = { first, last, series, mean: group.mean, text: group.name };
    first = last + 1;
    return { ...place, low: null, high: null };
  });
  const values = unitsOf(groups).map((one, i) => ({
    key: String(i),
    words: `${one.unit.name} of ${one.group.name}: ${unitValue(one)}`,
    value: one.unit.value,
  }));
  return { values, stretches: places, labels: places };
}

const kGroups: Column<ComparedGroup>[] = [
  { name: "group", cell: ({ name }) => name, left: true },
  { name: "counted", cell: ({ n, units }) => `${n} of ${units.length}` },
  { name: "mean", cell: ({ mean, unit }) => formatValue(mean, unit) },
  { name: "least", cell: ({ min, unit }) => formatValue(min, unit) },
  { name: "greatest", cell: ({ max, unit }) => formatValue(max, unit) },
];

const kUncounted: Column<PlacedUnit>[] = [
  { name: "not counted", cell: ({ unit }) => <UnitName unit={unit} />, left: true },
  { name: "group", cell: ({ group }) => group.name, left: true },
  { name: "reason", cell: unitValue, left: true },
];

function UnitName({ unit }: Pick<PlacedUnit, "unit">) {
  const [run] = unit.runs;
  return run === undefined ? unit.name : <RunLink id={run.id} name={unit.name} />;
}

function Uncounted({ units }: { units: readonly PlacedUnit[] }) {
  const lost = units.filter(({ unit }) => unit.value === null);
  if (lost.length === 0) return null;
  return <Rows label="Without a value" columns={kUncounted} rows={lost} most={kMostRows} />;
}

// ---- where a difference comes from

type Part = Difference["parts"][number];
type Mean = Difference["metrics"][number];

const signed = (value: number, words: string) => (value > 0 ? `+${words}` : words);

function partColumns([a, b]: readonly [string, string], parts: readonly Part[]): Column<Part>[] {
  const most = Math.max(...parts.map(({ a_s, b_s }) => Math.max(a_s, b_s)));
  const time = (seconds: number) => (
    <>
      <span className="share-bar" style={{ width: `${(seconds / most) * 64}px` }} />
      {formatDuration(seconds)}
    </>
  );
  return [
    { name: "part", cell: ({ name, apart }) => (apart ? `${name} (apart)` : name), left: true },
    { name: a, cell: ({ a_s }) => time(a_s) },
    { name: b, cell: ({ b_s }) => time(b_s) },
    {
      name: "difference",
      cell: ({ a_s, b_s }) => {
        const more = b_s - a_s;
        return signed(more, more < 0 ? `−${formatDuration(-more)}` : formatDuration(more));
      },
    },
  ];
}

const metricColumns = ([a, b]: readonly [string, string]): Column<Mean>[] => [
  { name: "metric", cell: ({ metric }) => metric, left: true },
  { name: "source", cell: ({ source }) => source ?? "–", left: true },
  { name: a, cell: (one) => formatValue(one.a, one.unit) },
  { name: b, cell: (one) => formatValue(one.b, one.unit) },
  {
    name: "difference",
    cell: (one) => {
      if (one.a === 0) return "–";
      const change = (one.b - one.a) / Math.abs(one.a);
      return signed(change, percent(change));
    },
  },
];

function Why({ of, value, open }: { of: Difference; value: string; open: boolean }) {
  const { a, b, parts, metrics, set_up, set_up_left_out } = of;
  if (parts.length + metrics.length + set_up.length === 0) return null;
  const sides: readonly [string, string] = a === b ? ["A", "B"] : [a, b];
  const title = `${b} against ${a}`;
  return (
    <details className="why" open={open} data-testid="why">
      <summary>
        <h2>{title}</h2>
        <span className="quiet">what differs</span>
      </summary>
      {parts.length > 0 && (
        <Rows
          label={`Parts of the ${value}, ${title}`}
          columns={partColumns(sides, parts)}
          rows={parts}
          most={kMostRows}
        />
      )}
      {metrics.length > 0 && (
        <Rows
          label={`Metrics, ${title}`}
          columns={metricColumns(sides)}
          rows={metrics}
          most={kMostRows}
        />
      )}
      <SetUp label={`Set-up, ${title}`} sides={sides} rows={set_up} />
      {set_up_left_out > 0 && (
        <p className="quiet">
          {plural(set_up_left_out, "more difference")} of the set-up: corral diff shows two runs
        </p>
      )}
    </details>
  );
}
