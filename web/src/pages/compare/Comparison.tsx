// The answer to a comparison: what could not be seen, the verdicts, the ratios, the runs, and what differs.
import { useMemo } from "react";
import type { Comparison as Compared, Difference } from "../../api/compare";
import { type Column, Rows } from "../../app/Rows";
import { RunLink } from "../../app/RunLink";
import { formatDuration } from "../../format/time";
import { formatValue, percent, plural } from "../../format/units";
import {
  isShown,
  kGroups,
  marginWords,
  type PlacedUnit,
  ratiosOf,
  unitsOf,
  unitValue,
  valuesOf,
  warningsOf,
} from "./contents";
import { Figure } from "./Figure";
import { SetUp } from "./SetUp";
import { Told } from "./Told";

const kMostRows = 12;

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
      <Ratios found={found} />
      <Values found={found} />
      {found.differences.map((one, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: as above
        <Why key={i} of={one} value={found.value} open={i === 0} />
      ))}
    </>
  );
}

function Warnings({ found }: { found: Compared }) {
  const all = warningsOf(found);
  if (all.length === 0) return null;
  return (
    <ul aria-label="Warnings" className="quiet" data-testid="warnings">
      {all.map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  );
}

function Ratios({ found }: { found: Compared }) {
  const ratios = useMemo(() => ratiosOf(found), [found]);
  return ratios && <Figure {...ratios} testid="forest" />;
}

// ---- the runs

function Values({ found }: { found: Compared }) {
  const { groups, value } = found;
  const units = unitsOf(groups);
  const values = useMemo(() => valuesOf(found), [found]);
  return (
    <section aria-label="Runs">
      <div className="line-head">
        <h2>{value}</h2>
        <span className="unit">each run in the order of starts</span>
      </div>
      <Figure
        {...values}
        testid="values"
        runsOf={(key) => units[Number(key)]?.unit.runs.map(({ id }) => id) ?? []}
      />
      <Rows label="Groups" columns={kGroups} rows={groups} most={kMostRows} />
      <Uncounted units={units} />
    </section>
  );
}

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
