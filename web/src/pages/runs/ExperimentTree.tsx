// The side panel of the runs list: experiments, and under each its workloads. A click narrows the list.
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useExperiments, useWorkloads } from "../../api/queries";
import type { Experiment, Workload } from "../../api/types";
import { Chevron } from "../../app/icons";
import type { RunsSearch } from "../../app/search";
import { formatCount, plural } from "../../format/units";

export function ExperimentTree({ search }: { search: RunsSearch }) {
  const experiments = useExperiments();
  const all = experiments.data ?? [];
  const total = all.reduce((sum, experiment) => sum + experiment.runs, 0);
  const none = search.experiment === undefined && search.workload === undefined;
  return (
    <nav aria-label="Experiments">
      <h2 className="section-title">
        Experiments
        {experiments.data && <span>{formatCount(all.length)}</span>}
      </h2>
      {experiments.data && all.length > 0 && (
        <Link to="/" search={{}} className={none ? "row selected" : "row"}>
          <span className="cut">All runs</span>
          <span className="count">{formatCount(total)}</span>
        </Link>
      )}
      {all.map((experiment) => (
        <Branch key={experiment.id} experiment={experiment} search={search} />
      ))}
      {experiments.data && all.length === 0 && <p className="row quiet">None yet.</p>}
      {experiments.error && <p className="row quiet">Not known: the server could not say.</p>}
    </nav>
  );
}

function Branch({ experiment, search }: { experiment: Experiment; search: RunsSearch }) {
  const here = search.experiment === experiment.id;
  const [open, setOpen] = useState(here);
  const workloads = useWorkloads(experiment.id, open);
  const selected = here && search.workload === undefined;
  // A run without --workload is a workload of its own; a list of those would say nothing.
  const named = workloads.data?.filter((workload) => workload.name !== null) ?? [];
  const alone = (workloads.data?.length ?? 0) - named.length;
  return (
    <>
      <div className={selected ? "row selected" : "row"}>
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
          search={{ experiment: experiment.id }}
          className="cut name"
          onClick={() => setOpen(true)}
        >
          <b>{experiment.name}</b>
        </Link>
        {experiment.running > 0 && (
          <span className="status status-running">{experiment.running}</span>
        )}
        <span className="count">{formatCount(experiment.runs)}</span>
      </div>
      {open &&
        named.map((workload) => (
          <Leaf key={workload.id} workload={workload} selected={search.workload === workload.id} />
        ))}
      {open && alone > 0 && (
        <p className="row indent quiet" title="Started without --workload">
          <span className="cut">on their own</span>
          <span className="count">{plural(alone, "run")}</span>
        </p>
      )}
      {open && workloads.isPending && <p className="row indent quiet">Loading workloads.</p>}
    </>
  );
}

function Leaf({ workload, selected }: { workload: Workload; selected: boolean }) {
  return (
    <Link
      to="/"
      search={{ experiment: workload.experiment_id, workload: workload.id }}
      className={selected ? "row indent selected" : "row indent"}
      title={workload.name ?? workload.id}
    >
      <span className="cut name">{workload.name}</span>
      <span className="count">{plural(workload.runs.length, "run")}</span>
    </Link>
  );
}
