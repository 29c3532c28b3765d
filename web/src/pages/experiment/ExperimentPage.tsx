// `/experiments/$id`: one experiment at a glance: a matrix of workload × collocation with the chosen metric, the
// workloads, the runs without a workload.
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useMemo } from "react";
import { type Overview, sampleQuery, useOverview } from "../../api/runSearch";
import { MetricSelect } from "../../app/MetricSelect";
import { Failing, Loading, Notice } from "../../app/Notice";
import { RunsLink, Shell } from "../../app/Shell";
import { useTitle } from "../../app/useTitle";
import { statusTitle } from "../../format/outcome";
import { formatCount, plural } from "../../format/units";
import { PanelWithBasket } from "../basket/BasketPanel";
import { BoardLink } from "../basket/BoardLink";
import { ExperimentTree } from "../runs/ExperimentTree";
import { MatrixTable, Scale } from "./MatrixTable";
import { matrixOf, statusesOf } from "./matrix";
import { type ExperimentSearch, experimentSearch, kSummaries } from "./search";
import { WorkloadList } from "./WorkloadList";

const route = getRouteApi("/experiments/$id");

export function ExperimentPage() {
  const { id } = route.useParams();
  const search = route.useSearch();
  // A few runs show the name of the loss here, and the available metrics.
  const sample = useQuery(sampleQuery(id));
  const metric = search.metric ?? sample.data?.find((run) => run.loss)?.loss?.metric ?? "loss";
  const of = search.of ?? "last";
  const overview = useOverview(
    id,
    { metric, of },
    sample.data !== undefined || search.metric !== undefined,
  );
  const data = overview.data;
  const name = data?.experiment.name ?? id;
  useTitle(name);
  const error = overview.error ?? sample.error;
  const ids = sample.data?.map((run) => run.id) ?? [];
  return (
    <Shell
      crumbs={[<RunsLink key="runs" />, name]}
      panel={
        <PanelWithBasket>
          <ExperimentTree search={{ experiment: id }} />
        </PanelWithBasket>
      }
      toolbar={
        <>
          <h1 className="cut overview-name">{name}</h1>
          <Choice search={search} metric={metric} ids={ids} />
          <span className="grow" />
          {data && data.workloads.length > 0 && (
            <BoardLink selection={boardOfAll(data)} className="button" testid="compare-all">
              <span>
                Compare<span className="wide"> all</span>
              </span>
            </BoardLink>
          )}
        </>
      }
      footer={data ? <Counts overview={data} /> : null}
    >
      {data === undefined && error ? (
        <Failing
          error={error}
          retry={() => {
            void sample.refetch();
            void overview.refetch();
          }}
        />
      ) : data === undefined ? (
        <Loading what="the experiment" />
      ) : (
        <Body overview={data} stale={overview.isPlaceholderData} search={search} metric={metric} />
      )}
    </Shell>
  );
}

function boardOfAll({ workloads }: Overview) {
  const named = workloads.filter((workload) => workload.name !== null).map(({ id }) => id);
  const own = workloads.filter((workload) => workload.name === null);
  const run = own.flatMap((workload) => workload.runs.map(({ id }) => id));
  return {
    ...(named.length > 0 ? { workload: named } : {}),
    ...(run.length > 0 ? { run } : {}),
  };
}

interface BodyProps {
  overview: Overview;
  stale: boolean;
  search: ExperimentSearch;
  metric: string;
}

function Body({ overview, stale, search, metric }: BodyProps) {
  const by = search.rows ?? "workload";
  const matrix = useMemo(() => matrixOf(overview, by), [overview, by]);
  const { unit } = overview;
  if (overview.workloads.length === 0)
    return (
      <Notice>
        <p>This experiment has no runs.</p>
        <p>
          The next <code>corral run --experiment NAME</code> under its name appears here by itself.
        </p>
      </Notice>
    );
  const title = search.of === undefined ? `${metric}, last` : `${metric}, ${search.of}`;
  return (
    <div className={stale ? "content stale" : "content"}>
      <div className="overview-body">
        <div className="line-head">
          <h2 className="cut name" title={title}>
            {title}
          </h2>
          <span className="unit">by {by} and collocation</span>
          <Scale matrix={matrix} unit={unit} />
        </div>
        {matrix.low === null && (
          <p className="quiet" data-testid="no-values">
            No run of this experiment has {metric}. Choose another metric above.
          </p>
        )}
        <MatrixTable matrix={matrix} by={by} metric={metric} unit={unit} />
        {[false, true].map((own) => (
          <WorkloadList
            key={String(own)}
            own={own}
            experiment={overview.experiment}
            workloads={overview.workloads}
            metric={title}
            unit={unit}
          />
        ))}
      </div>
    </div>
  );
}

function Counts({ overview }: { overview: Overview }) {
  const named = overview.workloads.filter((workload) => workload.name !== null).length;
  const runs = overview.workloads.flatMap((workload) => workload.runs);
  const own = overview.workloads
    .filter((workload) => workload.name === null)
    .reduce((sum, workload) => sum + workload.runs.length, 0);
  return (
    <>
      <span data-testid="overview-counts">
        {named > 0 && `${plural(named, "workload")}, `}
        {plural(runs.length, "run")}
        {own > 0 && `, ${formatCount(own)} without a workload`}
      </span>
      {statusesOf(runs).map(([status, count]) => (
        <span key={status} className={`status status-${status}`} title={statusTitle(status)}>
          {count} {status}
        </span>
      ))}
    </>
  );
}

function Choice({
  search,
  metric,
  ids,
}: {
  search: ExperimentSearch;
  metric: string;
  ids: string[];
}) {
  const navigate = route.useNavigate();
  const change = (next: Record<string, unknown>) =>
    void navigate({ search: (old) => experimentSearch({ ...old, ...next }) });
  return (
    <>
      <MetricSelect ids={ids} metric={metric} choose={(to) => change({ metric: to })} />
      <select
        className="select"
        aria-label="Summary"
        data-testid="summary"
        value={search.of ?? "last"}
        onChange={(event) => change({ of: event.currentTarget.value })}
      >
        {kSummaries.map((of) => (
          <option key={of}>{of}</option>
        ))}
      </select>
      <fieldset className="tabs overview-rows" aria-label="Rows">
        {(["workload", "model"] as const).map((rows) => (
          <button
            key={rows}
            type="button"
            aria-pressed={(search.rows ?? "workload") === rows}
            onClick={() => change({ rows })}
          >
            <span className="wide">by </span>
            {rows}
          </button>
        ))}
      </fieldset>
    </>
  );
}
