// The tables of a collocation: alone, together against alone, who slows down whom, every cell, what is not measured.
import type { ReactNode } from "react";
import type { AloneJob, Collocation, Configuration, Gains } from "../../api/collocation";
import { download } from "../../app/download";
import { type Column, Rows } from "../../app/Rows";
import { RunLink } from "../../app/RunLink";
import { collocationWord } from "../../format/collocation";
import { stateWords } from "../../format/outcome";
import { middleEllipsis } from "../../format/text";
import { formatDuration } from "../../format/time";
import { formatValue } from "../../format/units";
import { EffectTable } from "./EffectTable";
import { type CellRun, cellRuns, csvOfRows, effectMatrices, jobWords, numberWords } from "./table";

const kMost = 40;
const kLetters = 60;
const placeWords = (place: string | null) => place ?? "all";

export function Tables({ found }: { found: Collocation }) {
  const { configurations, cells } = found;
  const runs = cellRuns(cells);
  return (
    <>
      <NotKnown found={found} />
      {configurations.length === 0 && <p>No runs of it were beside each other in a workload.</p>}
      {configurations.length > 0 && (
        <>
          <Titled title="Together, against alone" columns={kTogether} rows={configurations} />
          <section aria-label="Who is slowed down by whom">
            <h2>Who is slowed down by whom</h2>
            {effectMatrices(found).map((matrix) => (
              <EffectTable key={matrix.sharing} matrix={matrix} />
            ))}
          </section>
        </>
      )}
      <Titled title="Alone" columns={kAlone} rows={aloneRows(found)} />
      {runs.length > 0 && <Titled title="Cells" columns={kCells} rows={runs} file="cells.csv" />}
      <NotMeasured found={found} />
    </>
  );
}

interface TitledProps<T> {
  title: string;
  columns: Column<T>[];
  rows: readonly T[];
  file?: string;
}

function Titled<T>({ title, columns, rows, file }: TitledProps<T>) {
  return (
    <section aria-label={title}>
      <div className="line-head">
        <h2>{title}</h2>
        {file !== undefined && (
          <button
            type="button"
            className="link"
            data-testid="collocation-csv"
            onClick={() => download(csvOfRows(columns, rows), file, "text/csv;charset=utf-8")}
          >
            CSV
          </button>
        )}
      </div>
      <Rows label={title} columns={columns} rows={rows} most={kMost} />
    </section>
  );
}

// First, because every number is to be read with it.
function NotKnown({ found }: { found: Collocation }) {
  const measured = cellRuns(found.cells).filter(({ run }) => run.step_s !== null);
  const unsteady = measured.filter(({ run }) => run.not_steady !== null).length;
  if (found.missing.length === 0 && unsteady === 0) return null;
  return (
    <ul className="quiet" aria-label="Not known" data-testid="missing">
      {found.missing.map((text) => (
        <li key={text}>Not known: {text}.</li>
      ))}
      {unsteady > 0 && (
        <li>
          {unsteady} of {measured.length} runs beside others were not steady: all their common steps
          count, the first ones too.
        </li>
      )}
    </ul>
  );
}

const number = <T,>(name: string, of: (row: T) => number | null): Column<T> => ({
  name,
  cell: (row) => numberWords(of(row)),
  raw: of,
});

const gains = <T,>(of: (row: T) => Gains): Column<T>[] => [
  number("throughput", (row) => of(row).throughput),
  number("turnaround", (row) => of(row).turnaround),
  number("fairness", (row) => of(row).fairness),
  number("speed-up", (row) => of(row).speedup),
  number("energy", (row) => of(row).energy),
];

const kTogether: Column<Configuration>[] = [
  { name: "sharing", cell: ({ sharing }) => collocationWord(sharing), left: true },
  { name: "jobs", cell: ({ jobs, places }) => jobWords(jobs, places), left: true },
  { name: "measured", cell: ({ measured, cells }) => `${measured} of ${cells}` },
  ...gains((one: Configuration) => one),
];

interface AloneRow extends Partial<AloneJob> {
  job: string;
  what: string;
}

// A job that never ran alone has a row, too.
const aloneRows = ({ jobs }: Collocation): AloneRow[] =>
  jobs.flatMap(({ job, what, alone }) =>
    alone.length === 0 ? [{ job, what }] : alone.map((one) => ({ job, what, ...one })),
  );

const kAlone: Column<AloneRow>[] = [
  { name: "job", cell: ({ job }) => job, left: true },
  {
    name: "what",
    cell: ({ what }) => <span title={what}>{middleEllipsis(what, kLetters)}</span>,
    left: true,
  },
  { name: "host", cell: ({ host }) => host ?? "–", left: true },
  { name: "part", cell: ({ host, place }) => (host ? placeWords(place ?? null) : "–"), left: true },
  { name: "runs", cell: ({ n }) => n ?? 0 },
  { name: "step", cell: ({ step_s }) => formatDuration(step_s) },
  { name: "duration", cell: ({ duration_s }) => formatDuration(duration_s) },
  { name: "power", cell: ({ watts }) => formatValue(watts, "W") },
];

const runLink = (id: string, name: string): ReactNode => <RunLink id={id} name={name} />;

const kCells: Column<CellRun>[] = [
  { name: "workload", cell: ({ cell }) => cell.workload, left: true },
  {
    name: "sharing",
    cell: ({ cell }) => collocationWord(cell.sharing),
    raw: ({ cell }) => cell.sharing,
    left: true,
  },
  {
    name: "run",
    cell: ({ run }) => runLink(run.id, run.name),
    raw: ({ run }) => run.name,
    left: true,
  },
  { name: "job", cell: ({ run }) => run.job, left: true },
  { name: "part", cell: ({ run }) => placeWords(run.place), left: true },
  number("slowdown", ({ run }) => run.slowdown),
  number("capacity loss", ({ run }) => run.capacity),
  number("interference", ({ run }) => run.interference),
  ...gains(({ cell }: CellRun) => cell),
];

// ---- what is not measured

interface Lost {
  workload: string;
  sharing: string;
  runs: ReactNode;
  reason: string;
}

function lostOf({ cells, unmeasured }: Collocation): Lost[] {
  const ends = (runs: Collocation["cells"][number]["runs"]) =>
    runs.map(({ id, name, job, outcome }, i) => (
      <span key={id}>
        {i > 0 && ", "}
        {job} {runLink(id, name)} {stateWords(outcome)}
      </span>
    ));
  return [
    ...cells.flatMap(({ workload, sharing, runs, reason }) =>
      reason === null
        ? []
        : [{ workload, sharing: collocationWord(sharing), runs: ends(runs), reason }],
    ),
    ...unmeasured.map(({ run, reason }) => ({
      workload: run.name,
      sharing: "alone",
      runs: ends([run]),
      reason,
    })),
  ];
}

const kLost: Column<Lost>[] = [
  { name: "workload", cell: ({ workload }) => workload, left: true },
  { name: "sharing", cell: ({ sharing }) => sharing, left: true },
  { name: "runs", cell: ({ runs }) => runs, left: true },
  { name: "reason", cell: ({ reason }) => reason, left: true },
];

function NotMeasured({ found }: { found: Collocation }) {
  const lost = lostOf(found);
  if (lost.length === 0) return null;
  return <Titled title="Not measured" columns={kLost} rows={lost} />;
}
