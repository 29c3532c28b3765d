// The tree of the runs page: experiments, under each its workloads and the runs without a workload, under these the
// runs. A click narrows the list, a tick selects.
import { Link } from "@tanstack/react-router";
import { type ReactNode, useMemo, useState } from "react";
import { usePlans } from "../../api/plans";
import { useExperiments, useWorkloads } from "../../api/queries";
import {
  allRows,
  type FoundRun,
  type RunFilter,
  useFirstRuns,
  useHiddenCount,
} from "../../api/runSearch";
import type { Experiment, Workload } from "../../api/types";
import { Check } from "../../app/Check";
import { Chevron } from "../../app/icons";
import { statusTitle } from "../../format/outcome";
import { middleEllipsis } from "../../format/text";
import { formatDuration } from "../../format/time";
import { formatCount } from "../../format/units";
import { addRuns, addWorkload, removeRuns, useBasket } from "../../state/basket";
import { kNoWorkload } from "./filters";
import type { RunsSearch } from "./search";

const kAtFirst = 10;
const kStep = 100;
const kMaxListed = 1000;

type Place = Pick<RunsSearch, "experiment" | "workload">;
const at = (search: RunsSearch, place: Place): RunsSearch => {
  const { experiment: _e, workload: _w, state: _s, ...rest } = search;
  return { ...rest, ...place };
};

export interface ExperimentTreeProps {
  search: RunsSearch;
  // On a page that shows no list of runs.
  elsewhere?: boolean;
}

export function ExperimentTree({ search, elsewhere = false }: ExperimentTreeProps) {
  const experiments = useExperiments();
  const all = experiments.data ?? [];
  const total = all.reduce((sum, experiment) => sum + experiment.runs, 0);
  const none =
    !elsewhere &&
    search.experiment === undefined &&
    search.workload === undefined &&
    search.state === undefined;
  return (
    <nav aria-label="Experiments" data-testid="experiment-tree">
      <h2 className="section-title">
        Experiments
        {experiments.data && <span>{formatCount(all.length)}</span>}
      </h2>
      {experiments.data && all.length > 0 && (
        <Link to="/" search={at(search, {})} className={none ? "row selected" : "row"}>
          <span className="cut">All runs</span>
          <span className="count">{formatCount(total)}</span>
        </Link>
      )}
      {all.map((experiment) => (
        <Branch key={experiment.id} experiment={experiment} search={search} />
      ))}
      {experiments.data && all.length === 0 && <p className="row quiet">None yet.</p>}
      {experiments.error && <p className="row quiet">Unknown: the server did not answer.</p>}
      <PlansLink />
      <ReportsLink />
      <HiddenLink state="archived" search={search} />
      <HiddenLink state="trashed" search={search} />
    </nav>
  );
}

const kHidden = { archived: "Archive", trashed: "Trash" };

// The way to the archive or the trash, where it has runs.
function HiddenLink({ state, search }: { state: "archived" | "trashed"; search: RunsSearch }) {
  const count = useHiddenCount(state);
  const here = search.state === state;
  if (count === 0 && !here) return null;
  return (
    <Link
      to="/"
      search={{ state }}
      className={here ? "row selected" : "row"}
      data-testid={`tree-${state}`}
    >
      <span className="cut">{kHidden[state]}</span>
      <span className="count">{formatCount(count)}</span>
    </Link>
  );
}

// The way to the plans, where there are any.
function PlansLink() {
  const plans = usePlans().data ?? [];
  if (plans.length === 0) return null;
  const running = plans.filter((plan) => plan.state === "running").length;
  return (
    <Link
      to="/plans"
      className="row"
      activeOptions={{ exact: true }}
      activeProps={{ className: "row selected" }}
      data-testid="tree-plans"
    >
      <span className="cut">Plans</span>
      {running > 0 && (
        <span className="status status-running" title={`${running} running`}>
          {running}
        </span>
      )}
      <span className="count">{formatCount(plans.length)}</span>
    </Link>
  );
}

function ReportsLink() {
  return (
    <Link
      to="/reports"
      className="row"
      activeOptions={{ exact: true }}
      activeProps={{ className: "row selected" }}
      data-testid="tree-reports"
    >
      <span className="cut">Reports</span>
    </Link>
  );
}

function Branch({ experiment, search }: { experiment: Experiment; search: RunsSearch }) {
  const here = search.experiment === experiment.id;
  const [open, setOpen] = useState(here);
  const [most, setMost] = useState(kAtFirst);
  const workloads = useWorkloads(experiment.id, open);
  const selected = here && search.workload === undefined;
  // A run without --workload is a workload of its own; a list of those would say nothing.
  const named = workloads.data?.filter((workload) => workload.name !== null) ?? [];
  const own = workloads.data?.filter((workload) => workload.name === null) ?? [];
  return (
    <>
      <div className={selected ? "row selected" : "row"} data-testid="tree-experiment">
        <button
          type="button"
          aria-label={`Workloads of ${experiment.name}`}
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        >
          <Chevron open={open} />
        </button>
        <Link
          to="/"
          search={at(search, { experiment: experiment.id })}
          className="cut name"
          title={experiment.name}
          onClick={() => setOpen(true)}
        >
          <b>{experiment.name}</b>
        </Link>
        <Link
          to="/experiments/$id"
          params={{ id: experiment.id }}
          className="link row-more"
          aria-label={`Overview of ${experiment.name}`}
        >
          overview
        </Link>
        {experiment.running > 0 && (
          <span className="status status-running" title={`${experiment.running} running`}>
            {experiment.running}
          </span>
        )}
        <span className="count">{formatCount(experiment.runs)}</span>
      </div>
      {open &&
        named
          .filter((workload, i) => i < most || workload.id === search.workload)
          .map((workload) => (
            <WorkloadNode key={workload.id} workload={workload} search={search} />
          ))}
      {open && named.length > most && (
        <button type="button" className="row indent link" onClick={() => setMost(most + kStep)}>
          Show {Math.min(kStep, named.length - most)} of {named.length - most} more
        </button>
      )}
      {open && own.length > 0 && (
        <OwnNode
          experiment={experiment.id}
          ids={own.flatMap((workload) => workload.runs)}
          search={search}
        />
      )}
      {open && workloads.isPending && <p className="row indent quiet">Loading workloads.</p>}
      {open && workloads.error && (
        <p className="row indent quiet">Unknown: the server did not answer.</p>
      )}
    </>
  );
}

function WorkloadNode({ workload, search }: { workload: Workload; search: RunsSearch }) {
  const filter = useMemo(() => ({ workloads: [workload.id] }), [workload.id]);
  const name = workload.name ?? workload.id;
  return (
    <TreeNode
      label={`workload ${name}`}
      ids={workload.runs}
      selected={search.workload === workload.id}
      filter={filter}
      add={async () => addWorkload(await allRows(filter))}
      testid="tree-workload"
    >
      <Link
        to="/"
        search={at(search, { experiment: workload.experiment_id, workload: workload.id })}
        className="cut name"
        title={name}
      >
        {name}
      </Link>
    </TreeNode>
  );
}

interface OwnNodeProps {
  experiment: string;
  ids: string[];
  search: RunsSearch;
}

function OwnNode({ experiment, ids, search }: OwnNodeProps) {
  const filter = useMemo(
    () => ({ experiments: [experiment], where: { workload: [""] } }),
    [experiment],
  );
  return (
    <TreeNode
      label="the runs without a workload"
      ids={ids}
      selected={search.experiment === experiment && search.workload === kNoWorkload}
      filter={filter}
      add={async () => addRuns(await allRows(filter))}
      testid="tree-own"
    >
      <Link
        to="/"
        search={at(search, { experiment, workload: kNoWorkload })}
        className="cut quiet"
        title="Started without --workload"
      >
        without a workload
      </Link>
    </TreeNode>
  );
}

interface TreeNodeProps {
  label: string;
  ids: readonly string[];
  selected: boolean;
  filter: RunFilter;
  add: () => Promise<void>;
  testid: string;
  children: ReactNode;
}

function TreeNode({ label, ids, selected, filter, add, testid, children }: TreeNodeProps) {
  const [open, setOpen] = useState(false);
  const [failed, setFailed] = useState(false);
  const chosen = useBasket(({ basket }) =>
    ids.reduce((n, id) => n + (id in basket.runs ? 1 : 0), 0),
  );
  const change = (on: boolean) => {
    setFailed(false);
    if (on) add().catch(() => setFailed(true));
    else removeRuns(ids);
  };
  return (
    <>
      <div className={selected ? "row indent selected" : "row indent"} data-testid={testid}>
        <button
          type="button"
          aria-label={`Runs of ${label}`}
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        >
          <Chevron open={open} />
        </button>
        <Check
          label={`Select ${label}`}
          checked={ids.length > 0 && chosen === ids.length}
          some={chosen > 0}
          change={change}
        />
        {children}
        <span className="count">
          {chosen > 0 && chosen < ids.length && `${formatCount(chosen)} of `}
          {formatCount(ids.length)}
        </span>
      </div>
      {failed && (
        <p className="row indent-2 quiet" role="alert">
          Not selected: the server does not answer.
        </p>
      )}
      {open && <NodeRuns filter={filter} />}
    </>
  );
}

function NodeRuns({ filter }: { filter: RunFilter }) {
  const [most, setMost] = useState(kStep);
  const { data, error } = useFirstRuns(filter, most);
  if (data === undefined) {
    const words = error ? "Unknown: the server did not answer." : "Loading runs.";
    return <p className="row indent-2 quiet">{words}</p>;
  }
  const left = data.total - data.runs.length;
  return (
    <>
      {data.runs.map((run) => (
        <Leaf key={run.id} run={run} />
      ))}
      {left > 0 && most < kMaxListed && (
        <button type="button" className="row indent-2 link" onClick={() => setMost(most + kStep)}>
          Show {Math.min(kStep, left)} of {left} more
        </button>
      )}
      {left > 0 && most >= kMaxListed && (
        <p className="row indent-2 quiet">and {formatCount(left)} more, in the table</p>
      )}
    </>
  );
}

function Leaf({ run }: { run: FoundRun }) {
  const chosen = useBasket(({ basket }) => run.id in basket.runs);
  return (
    <div className={chosen ? "row indent-2 selected" : "row indent-2"} data-testid="tree-run">
      <Check
        label={`Select run ${run.name}`}
        checked={chosen}
        change={(on) => (on ? addRuns([run]) : removeRuns([run.id]))}
      />
      <Link to="/runs/$id" params={{ id: run.id }} className="cut name" title={run.name}>
        {middleEllipsis(run.name, 24)}
      </Link>
      <span className={`count status-${run.status}`} title={statusTitle(run.status)}>
        {run.status === "finished" ? formatDuration(run.duration_s) : run.status}
      </span>
    </div>
  );
}
