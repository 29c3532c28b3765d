// The basket at the foot of the side panel: the selected runs, by experiment and workload, each with a button to remove
// it. It grows upwards over the list above, so that nothing one points at moves.
import { Link } from "@tanstack/react-router";
import { type ReactNode, useMemo, useState } from "react";
import { Chevron, Cross } from "../../app/icons";
import { middleEllipsis } from "../../format/text";
import { formatCount, plural } from "../../format/units";
import {
  type BasketGroup,
  boardOf,
  clearBasket,
  countOf,
  grouped,
  removeRuns,
  useBasket,
} from "../../state/basket";
import { GroupLinks } from "../compare/GroupLinks";
import { BoardLink } from "./BoardLink";
import { UndoToast } from "./UndoToast";

const kMaxOpen = 12;
const kMaxListed = 50;

// The side panel of pages where runs are selected.
export function PanelWithBasket({ children }: { children: ReactNode }) {
  return (
    <div className="panel-split">
      <div className="panel-top">{children}</div>
      <BasketPanel />
    </div>
  );
}

function BasketPanel() {
  const basket = useBasket((state) => state.basket);
  const groups = useMemo(() => grouped(basket), [basket]);
  const count = countOf(basket);
  const [shown, setShown] = useState(true);
  return (
    <section className="basket" aria-label="Selection" data-testid="basket">
      <h2 className="section-title">
        <button
          type="button"
          className="basket-fold"
          aria-expanded={shown}
          onClick={() => setShown(!shown)}
        >
          <Chevron open={shown} />
          Selection
        </button>
        <span className={count > 0 ? "accent" : ""} data-testid="basket-count">
          {plural(count, "run")}
        </span>
      </h2>
      {shown && count === 0 && <p className="row quiet">Select runs to compare them.</p>}
      {shown && count > 0 && (
        <div className="basket-list">
          {groups.map((group) => (
            <Group key={group.id} group={group} open={count <= kMaxOpen} />
          ))}
        </div>
      )}
      {count > 0 && (
        <div className="basket-actions">
          <BoardLink selection={boardOf(basket)} className="button primary" testid="compare">
            Compare {plural(count, "run")}
          </BoardLink>
          <button type="button" className="button" onClick={clearBasket} data-testid="basket-clear">
            Clear
          </button>
          <GroupLinks ids={Object.keys(basket.runs)} />
        </div>
      )}
      <UndoToast />
    </section>
  );
}

function Remove({ what, ids }: { what: string; ids: () => string[] }) {
  return (
    <button
      type="button"
      className="icon-button small"
      aria-label={`Remove ${what}`}
      title={`Remove ${what}`}
      data-testid="basket-remove"
      onClick={() => removeRuns(ids())}
    >
      <Cross />
    </button>
  );
}

type GroupWorkload = BasketGroup["workloads"][number];
const idsOf = (workloads: readonly GroupWorkload[]) =>
  workloads.flatMap((workload) => workload.runs.map((run) => run.id));

function Group({ group, open }: { group: BasketGroup; open: boolean }) {
  const named = group.workloads.filter((workload) => workload.name !== null);
  const own = group.workloads.filter((workload) => workload.name === null);
  const ownRuns = own.flatMap((workload) => workload.runs);
  return (
    <div data-testid="basket-experiment">
      <div className="row">
        <Link
          to="/experiments/$id"
          params={{ id: group.id }}
          className="cut name"
          title={group.name}
        >
          <b>{group.name}</b>
        </Link>
        <span className="count">{formatCount(group.count)}</span>
        <Remove what={`experiment ${group.name}`} ids={() => idsOf(group.workloads)} />
      </div>
      {named.slice(0, kMaxListed).map((workload) => (
        <Runs
          key={workload.id}
          title={workload.name ?? ""}
          about={workload.whole ? "whole" : ""}
          runs={workload.runs}
          open={open}
        />
      ))}
      <More of="workload" count={named.length - kMaxListed} />
      {ownRuns.length > 0 && (
        <Runs title="without a workload" about="" runs={ownRuns} open={open} own />
      )}
    </div>
  );
}

function More({ of, count }: { of: string; count: number }) {
  return count > 0 ? <p className="row indent quiet">and {plural(count, `more ${of}`)}</p> : null;
}

interface RunsProps {
  title: string;
  about: string;
  runs: { id: string; name: string }[];
  open: boolean;
  own?: boolean;
}

function Runs({ title, about, runs, open: atFirst, own = false }: RunsProps) {
  const [chosen, setChosen] = useState<boolean | null>(null);
  const open = chosen ?? atFirst;
  return (
    <div data-testid="basket-workload">
      <div className="row indent">
        <button
          type="button"
          aria-label={own ? "Runs without a workload" : `Runs of workload ${title}`}
          aria-expanded={open}
          onClick={() => setChosen(!open)}
        >
          <Chevron open={open} />
        </button>
        <span className={own ? "cut quiet" : "cut name"} title={own ? undefined : title}>
          {title}
        </span>
        {about !== "" && <span className="quiet">{about}</span>}
        <span className="count">{formatCount(runs.length)}</span>
        <Remove
          what={own ? "the runs without a workload" : `workload ${title}`}
          ids={() => runs.map((run) => run.id)}
        />
      </div>
      {open &&
        runs.slice(0, kMaxListed).map((run) => (
          <div
            key={run.id}
            className="row indent-2"
            data-testid="basket-run"
            data-basket-run={run.id}
          >
            <Link to="/runs/$id" params={{ id: run.id }} className="cut name" title={run.name}>
              {middleEllipsis(run.name, 28)}
            </Link>
            <Remove what={run.name} ids={() => [run.id]} />
          </div>
        ))}
      {open && <More of="run" count={runs.length - kMaxListed} />}
    </div>
  );
}
