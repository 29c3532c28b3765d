// `/plans`: the experiment files that schedulers reported, the latest first, each with its progress.
import { Link, useNavigate } from "@tanstack/react-router";
import { type PlanSummary, usePlans } from "../../api/plans";
import { Failing, Loading, Notice } from "../../app/Notice";
import { RunsLink, Shell } from "../../app/Shell";
import { useNow } from "../../app/useNow";
import { useTitle } from "../../app/useTitle";
import { middleEllipsis } from "../../format/text";
import { formatExactMoment, formatMoment } from "../../format/time";
import { formatCount, plural } from "../../format/units";
import { PanelWithBasket } from "../basket/BasketPanel";
import { ExperimentTree } from "../runs/ExperimentTree";
import { PlanState, ProgressBar, ToneCounts } from "./parts";
import { progressOf } from "./plan";

export function PlansPage() {
  const plans = usePlans();
  useTitle("Plans");
  const { data, error } = plans;
  return (
    <Shell
      crumbs={[<RunsLink key="runs" />, "Plans"]}
      panel={
        <PanelWithBasket>
          <ExperimentTree search={{}} elsewhere />
        </PanelWithBasket>
      }
      toolbar={<h1>{data === undefined ? "Plans" : plural(data.length, "plan")}</h1>}
      footer={null}
    >
      {data === undefined && error ? (
        <Failing error={error} retry={() => void plans.refetch()} />
      ) : data === undefined ? (
        <Loading what="plans" />
      ) : data.length === 0 ? (
        <Notice>
          <p>No plans yet.</p>
          <p>
            A plan is a file of many runs, alone and together: <code>corral run plan.csv</code> runs
            one, and it appears here. <code>corral plan check plan.csv</code> checks it without
            running it.
          </p>
        </Notice>
      ) : (
        <div className="content">
          <PlanTable plans={data} />
        </div>
      )}
    </Shell>
  );
}

function PlanTable({ plans }: { plans: readonly PlanSummary[] }) {
  const now = useNow(plans.some((plan) => plan.state === "running"));
  return (
    <div className="overview-body">
      <div className="matrix-frame">
        <table className="overview plans" data-testid="plans">
          <thead>
            <tr>
              <th scope="col">Plan</th>
              <th scope="col">State</th>
              <th scope="col">Progress</th>
              <th scope="col" className="number">
                Workloads
              </th>
              <th scope="col">Runs by state</th>
              <th scope="col">Host</th>
              <th scope="col">Last update</th>
              <th scope="col">Experiments</th>
            </tr>
          </thead>
          <tbody>
            {plans.map((plan) => (
              <PlanLine key={plan.id} plan={plan} now={now} />
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

function PlanLine({ plan, now }: { plan: PlanSummary; now: number }) {
  const navigate = useNavigate();
  const progress = progressOf(plan.counts);
  const experiments = plan.experiments.join(", ");
  const open = () => void navigate({ to: "/plans/$id", params: { id: plan.id } });
  return (
    // The name is a link, for the keyboard.
    <tr data-testid="plan" data-plan={plan.id} className="plans-row" onClick={open}>
      <td className="name" title={plan.file}>
        <Link to="/plans/$id" params={{ id: plan.id }} onClick={(event) => event.stopPropagation()}>
          <b>{middleEllipsis(plan.file, 40)}</b>
        </Link>
      </td>
      <td title={plan.message}>
        <PlanState state={plan.state} />
      </td>
      <td>
        <span className="plans-progress">
          <ProgressBar progress={progress} />
          {formatCount(progress.ended)} of {plural(progress.runs, "run")}
        </span>
      </td>
      <td className="number">{formatCount(plan.workloads)}</td>
      <td>
        <ToneCounts counts={plan.counts} />
      </td>
      <td className="soft">{plan.host}</td>
      <td className="soft" title={formatExactMoment(plan.received_ns)}>
        {formatMoment(plan.received_ns, new Date(now))}
      </td>
      <td className="soft name cut plans-experiments" title={experiments}>
        {experiments}
      </td>
    </tr>
  );
}
