// `/collocation`: how the runs of a plan, workload or experiment followed each other, how much slower they were beside
// others than alone, and what the hardware gained by it.
import { getRouteApi, Link } from "@tanstack/react-router";
import { kRunGroups, type RunGroupKind, useCollocation } from "../../api/collocation";
import { usePlans } from "../../api/plans";
import { useExperiments, useWorkloadRuns } from "../../api/queries";
import { TextField } from "../../app/fields";
import { Failing, Loading, Notice } from "../../app/Notice";
import { RunsLink, Shell } from "../../app/Shell";
import { useTitle } from "../../app/useTitle";
import { collocationSearch } from "./search";
import { Tables } from "./Tables";
import { Workflow } from "./Workflow";

const route = getRouteApi("/collocation");

// Its name, or its id until that is known.
function useName(kind: RunGroupKind | undefined, id: string): string {
  const plan = usePlans(kind === "plan").data?.find((one) => one.id === id)?.file;
  const experiment = useExperiments(kind === "experiment").data?.find((one) => one.id === id)?.name;
  const workload = useWorkloadRuns(kind === "workload" ? id : undefined).data?.[0]?.workload;
  return (kind === "plan" ? plan : kind === "experiment" ? experiment : workload) ?? id;
}

export function CollocationPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const kind = kRunGroups.find((one) => search[one] !== undefined);
  const id = kind && search[kind];
  const answer = useCollocation(kind ?? "plan", id, search.job);
  const name = useName(kind, id ?? "");
  useTitle("Runs together");
  return (
    <Shell
      crumbs={[
        <RunsLink key="runs" />,
        <Home key="home" kind={kind} id={id ?? ""} name={name} />,
        "Together",
      ]}
      panel={
        <section aria-label="Jobs" className="summary-panel">
          <h2 className="section-title">Jobs</h2>
          <div className="form">
            <div className="form-line">
              <span>Told apart by</span>
              <TextField
                label="Jobs are told apart by"
                value={search.job ?? ""}
                placeholder="the command"
                testid="job"
                change={(job) =>
                  void navigate({ search: (old) => collocationSearch({ ...old, job }) })
                }
              />
            </div>
            <p className="quiet">
              A field such as params.model, where commands differ in a seed or a path.
            </p>
          </div>
        </section>
      }
      toolbar={<h1 className="cut">Runs of {name} together</h1>}
      footer={null}
    >
      {id === undefined || kind === undefined ? (
        <Notice>
          <p>No plan, workload or experiment is chosen.</p>
          <p>
            Open one of the <Link to="/plans">plans</Link>, or an experiment in the{" "}
            <Link to="/">list of runs</Link>.
          </p>
        </Notice>
      ) : answer.error ? (
        <Failing error={answer.error} retry={() => void answer.refetch()} />
      ) : answer.data === undefined ? (
        <Loading what="the runs and their steps" />
      ) : (
        <div className="content">
          <div className="about" data-testid="collocation">
            <Workflow kind={kind} id={id} />
            <Tables found={answer.data} />
          </div>
        </div>
      )}
    </Shell>
  );
}

function Home({ kind, id, name }: { kind: RunGroupKind | undefined; id: string; name: string }) {
  if (kind === "plan")
    return (
      <Link to="/plans/$id" params={{ id }}>
        {name}
      </Link>
    );
  if (kind === "experiment")
    return (
      <Link to="/experiments/$id" params={{ id }}>
        {name}
      </Link>
    );
  return <span>{kind === undefined ? "" : `Workload ${name}`}</span>;
}
