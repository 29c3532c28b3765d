// The runs of a board, by experiment and workload, each with the sign of its line and a way to take it out.
import { Link } from "@tanstack/react-router";
import { useChartTheme } from "../../app/colours";
import { Swatch } from "../../app/icons";
import type { ShownRun } from "../../board/model";
import type { BoardSearch } from "../../board/view";
import { seriesColour, seriesDash } from "../../charts/theme";
import { fittingNames, middleEllipsis } from "../../format/text";
import { plural } from "../../format/units";
import { useView } from "../../state/view";
import { GroupLinks } from "../compare/GroupLinks";
import type { BoardChange } from "./useBoardAddress";

export interface SelectionPanelProps {
  runs: readonly ShownRun[];
  search: BoardSearch;
  change: (part: (old: BoardSearch) => BoardChange, replace: boolean) => void;
  // The colour entries for the address when only these runs remain.
  slotsLeft: (ids: readonly string[]) => string[] | undefined;
}

interface Branch {
  workload: string;
  title: string;
  runs: ShownRun[];
}

function branches(runs: readonly ShownRun[]): Map<string, Branch[]> {
  const out = new Map<string, Branch[]>();
  for (const run of runs) {
    const some = out.get(run.experiment) ?? [];
    out.set(run.experiment, some);
    const title = run.workloadName ?? "";
    const found = some.find((one) =>
      title === "" ? one.title === "" : one.workload === run.workload,
    );
    if (found) found.runs.push(run);
    else some.push({ workload: run.workload, title, runs: [run] });
  }
  return out;
}

const orNone = (list: string[]) => (list.length === 0 ? undefined : list);

export function SelectionPanel({ runs, search, change, slotsLeft }: SelectionPanelProps) {
  // A workload of which one run is taken out becomes the list of its others.
  const remove = (gone: readonly ShownRun[]) =>
    change(() => {
      const ids = new Set(gone.map((run) => run.id));
      const touched = new Set(gone.map((run) => run.workload));
      const workloads = (search.workload ?? []).filter((id) => !touched.has(id));
      const left = runs.filter((run) => !ids.has(run.id));
      const rest = left.filter((run) => !workloads.includes(run.workload)).map((run) => run.id);
      const slot = slotsLeft(left.map((run) => run.id));
      return { run: orNone(rest), workload: orNone(workloads), slot };
    }, false);
  const names = fittingNames(
    runs.map((run) => run.name),
    kMaxLetters,
  );
  const nameOf = (run: ShownRun) => names[runs.indexOf(run)] ?? run.name;
  return (
    <section aria-label="Selection" data-testid="selection">
      <h2 className="section-title">
        Selection
        <span style={{ color: "var(--accent)" }}>{plural(runs.length, "run")}</span>
      </h2>
      {[...branches(runs)].map(([experiment, some]) => (
        <div key={experiment}>
          <p className="row">
            <b className="cut name" title={experiment}>
              {middleEllipsis(experiment, 28)}
            </b>
          </p>
          {some.map((branch) => (
            <div key={branch.workload}>
              {branch.title !== "" && (
                <p className="row indent">
                  <span className="cut name" title={branch.title}>
                    {middleEllipsis(branch.title, 26)}
                  </span>
                  <Remove label={`Remove ${branch.title}`} act={() => remove(branch.runs)} />
                </p>
              )}
              {branch.runs.map((run) => (
                <RunRow key={run.id} run={run} name={nameOf(run)} remove={() => remove([run])} />
              ))}
            </div>
          ))}
        </div>
      ))}
      <div className="row indent">
        <GroupLinks ids={runs.map((run) => run.id)} />
      </div>
    </section>
  );
}

function Remove({ label, act }: { label: string; act: () => void }) {
  return (
    <button
      type="button"
      className="icon-button small"
      aria-label={label}
      title={label}
      onClick={act}
    >
      ×
    </button>
  );
}

const kMaxLetters = 24;

interface RunRowProps {
  run: ShownRun;
  name: string;
  remove: () => void;
}

function RunRow({ run, name, remove }: RunRowProps) {
  const theme = useChartTheme();
  return (
    <div
      className="row indent"
      data-run={run.id}
      onPointerEnter={() => useView.setState({ line: run.id })}
      onPointerLeave={() => useView.setState({ line: null })}
    >
      <Swatch colour={seriesColour(theme, run.index)} dash={seriesDash(run.dash ?? run.index)} />
      <Link to="/runs/$id" params={{ id: run.id }} className="cut name" title={run.name}>
        {name}
      </Link>
      <Remove label={`Remove ${run.name}`} act={remove} />
    </div>
  );
}
