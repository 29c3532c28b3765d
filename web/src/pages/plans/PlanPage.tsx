// `/plans/$id`: an experiment file as a matrix: a row for each workload in the order of the file, a cell for each of its
// runs with its state; what failed says why, with the last lines of its output.
import { getRouteApi, Link } from "@tanstack/react-router";
import { useCallback, useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import { ApiError } from "../../api/client";
import {
  type PacedRun,
  type Plan,
  type PlanRun,
  usePace,
  usePlan,
  usePlanValues,
} from "../../api/plans";
import { finite } from "../../api/types";
import { MetricSelect } from "../../app/MetricSelect";
import { Failing, Loading, Notice } from "../../app/Notice";
import { type Crumbs, RunsLink, Shell } from "../../app/Shell";
import { useNow } from "../../app/useNow";
import { useTitle } from "../../app/useTitle";
import { formatClock, formatExactMoment, formatMoment } from "../../format/time";
import { formatCount, formatValue, plural } from "../../format/units";
import { PlanFilters } from "./PlanFilters";
import { type CellWords, PlanMatrix } from "./PlanMatrix";
import { PlanState, ProgressBar, StateCounts } from "./parts";
import {
  countStates,
  estimateOf,
  facetsOf,
  filtered,
  ordinal,
  type PlanRow,
  progressOf,
  queueOf,
  rowsOf,
  waitsFor,
} from "./plan";
import { type PlanSearch, planSearch } from "./search";

const route = getRouteApi("/plans/$id");

export function PlanPage() {
  const { id } = route.useParams();
  const plan = usePlan(id);
  const pace = usePace(id, plan.data?.state === "running");
  const name = plan.data?.file ?? id;
  useTitle(name);
  if (plan.data) return <Loaded plan={plan.data} pace={pace} />;
  return (
    <Shell
      crumbs={crumbsOf(name)}
      panel={null}
      toolbar={<h1 className="cut">{name}</h1>}
      footer={null}
    >
      {plan.error instanceof ApiError && plan.error.status === 404 ? (
        <Notice>
          <p>No plan with this ID</p>
          <p>
            <Link to="/plans">The list of plans</Link> shows those that were.
          </p>
        </Notice>
      ) : plan.error ? (
        <Failing error={plan.error} retry={() => void plan.refetch()} />
      ) : (
        <Loading what="the plan" />
      )}
    </Shell>
  );
}

const crumbsOf = (name: string): Crumbs => [
  <RunsLink key="runs" />,
  <Link key="plans" to="/plans" activeOptions={{ exact: true }}>
    Plans
  </Link>,
  name,
];

function Loaded({ plan, pace }: { plan: Plan; pace: readonly PacedRun[] }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = (next: PlanSearch, replace = false) =>
    void navigate({ search: () => planSearch({ ...next }), replace });
  const rows = useMemo(() => rowsOf(plan), [plan]);
  const facets = useMemo(() => facetsOf(plan), [plan]);
  const filter = useDeferredValue(search);
  const shown = useMemo(() => filtered(rows, filterOf(filter)), [rows, filter]);
  const counts = useMemo(() => countStates(plan.runs), [plan]);
  const metric = search.metric ?? "";
  const wordsOf = useCellWords(plan, rows, metric);
  const matrix = useRef<HTMLDivElement>(null);
  return (
    <Shell
      crumbs={crumbsOf(plan.file)}
      panel={<PlanFilters facets={facets} search={search} change={change} />}
      toolbar={
        <>
          <h1 className="cut">{plan.file}</h1>
          <PlanState state={plan.state} />
          <Progress plan={plan} rows={rows} counts={counts} pace={pace} />
          <span className="grow" />
          <MetricSelect
            ids={sampleOf(plan)}
            metric={metric}
            choose={(to) => change({ ...search, metric: to })}
            none="state"
          />
          <Finder
            text={search.q ?? ""}
            find={(q) => {
              const { q: _q, ...rest } = search;
              change({ ...rest, q }, true);
            }}
            leave={() => matrix.current?.focus()}
          />
        </>
      }
      footer={
        <>
          <StateCounts counts={counts} />
          <span className="grow" />
          <Slowdowns />
          <span className="plan-told" title={formatExactMoment(plan.updated_ns)}>
            {plan.host}, told {formatMoment(plan.updated_ns, new Date())}
          </span>
        </>
      }
    >
      <div className="plan-body">
        {plan.message && (
          <p className="plan-message" role="status" data-testid="plan-message">
            {plan.message}
          </p>
        )}
        {plan.runs.length === 0 ? (
          <Notice>
            <p>This plan has no runs.</p>
          </Notice>
        ) : shown.length === 0 ? (
          <Notice>
            <p>No workloads match the filters.</p>
            <button
              type="button"
              className="button"
              onClick={() => change(metric === "" ? {} : { metric })}
            >
              Show all workloads
            </button>
          </Notice>
        ) : (
          <PlanMatrix rows={shown} wordsOf={wordsOf} matrix={matrix} />
        )}
      </div>
    </Shell>
  );
}

// So many runs say which metrics there are.
const kSample = 8;
const sampleOf = ({ runs }: Plan) =>
  runs.flatMap(({ run }) => (run ? [run] : [])).slice(0, kSample);

// The value of the chosen metric, and what a workload waits for.
function useCellWords(plan: Plan, rows: readonly PlanRow[], metric: string) {
  const values = usePlanValues(plan, metric);
  const queue = useMemo(() => queueOf(rows), [rows]);
  return useCallback(
    (row: PlanRow, run: PlanRun): CellWords => {
      const before = queue.get(row.key);
      if (before !== undefined) {
        const value = before === 0 ? "next" : `${ordinal(before + 1)} in line`;
        return { value, about: waitsFor(rows, before) };
      }
      const found = values.get(run.run ?? "");
      if (metric === "" || found === undefined) return { value: "", about: "" };
      const value = formatValue(finite(found.value), found.unit);
      return { value, about: `${metric} ${value}` };
    },
    [rows, queue, values, metric],
  );
}

function Slowdowns() {
  const { id } = route.useParams();
  return (
    <Link to="/collocation" search={{ plan: id }} className="link" data-testid="to-collocation">
      Workflow and slowdowns
    </Link>
  );
}

interface FinderProps {
  text: string;
  find: (text: string) => void;
  leave: () => void;
}

// The typed text appears at once; the address follows.
function Finder({ text, find, leave }: FinderProps) {
  const [typed, setTyped] = useState(text);
  const told = useRef(text);
  useEffect(() => {
    if (told.current === text) return;
    told.current = text;
    setTyped(text);
  }, [text]);
  return (
    <input
      className="search-input plan-search"
      type="search"
      aria-label="Find in the plan"
      placeholder="Find workloads, models, reasons"
      data-testid="plan-search"
      value={typed}
      onChange={(event) => {
        const now = event.currentTarget.value;
        told.current = now;
        setTyped(now);
        find(now);
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter" || event.key === "Escape") leave();
      }}
    />
  );
}

const filterOf = (search: PlanSearch) => ({
  text: search.q ?? "",
  states: search.state ?? [],
  experiments: search.experiment ?? [],
  collocations: search.collocation ?? [],
});

interface ProgressProps {
  plan: Plan;
  rows: readonly PlanRow[];
  counts: Readonly<Record<string, number>>;
  pace: readonly PacedRun[];
}

function Progress({ plan, rows, counts, pace }: ProgressProps) {
  const progress = progressOf(counts);
  const running = plan.state === "running";
  const left = useMemo(() => (running ? estimateOf(rows, pace) : null), [rows, pace, running]);
  const now = useNow(running && left !== null);
  const share = progress.runs > 0 ? Math.floor((100 * progress.ended) / progress.runs) : 100;
  return (
    <span className="plan-progress">
      <ProgressBar progress={progress} />
      <span data-testid="plan-progress">
        {formatCount(progress.ended)} of {plural(progress.runs, "run")}, {share} %
      </span>
      {left !== null && left > 0 && (
        <span
          className="quiet wide-only"
          data-testid="plan-estimate"
          title={`At the current pace it ends ${formatMoment(nsOf(now + left * 1000), new Date(now))}`}
        >
          about {formatClock(left, 60)} left
        </span>
      )}
    </span>
  );
}

const nsOf = (ms: number) => String(BigInt(Math.round(ms)) * 1_000_000n);
