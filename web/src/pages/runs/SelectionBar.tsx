// The foot of the runs page: what can be done with the runs selected, and with the list.

import { type ReactNode, useState } from "react";
import { allRows, type RunList } from "../../api/runSearch";
import type { RunState } from "../../api/types";
import { download } from "../../app/download";
import { late } from "../../app/late";
import { Help } from "../../board/Help";
import { plural } from "../../format/units";
import { boardOf, clearBasket, countOf, useBasket } from "../../state/basket";
import { BoardLink } from "../basket/BoardLink";
import { GroupLinks } from "../compare/GroupLinks";
import type { Column } from "./columns";
import { csvOf } from "./csv";

export interface SelectionBarProps {
  list: RunList;
  columns: readonly Column[];
  total: number;
  // Makes a run the baseline of the list, or lets it go if it is.
  pin: (run: { id: string }) => void;
  // The baseline, if there is one.
  children?: ReactNode;
}

const Manage = late({
  what: "Changing runs",
  load: async () => (await import("./Manage")).Manage,
});

export function SelectionBar({ list, columns, total, pin, children }: SelectionBarProps) {
  const basket = useBasket((state) => state.basket);
  const count = countOf(basket);
  const state: RunState = list.state ?? "active";
  // Also after the selected runs are gone: it offers the undo.
  const [managed, setManaged] = useState(false);
  if (count > 0 && !managed) setManaged(true);
  const ids = Object.keys(basket.runs);
  return (
    <>
      {count > 0 && (
        <div className="selection-bar" data-testid="selection-bar">
          <b>{plural(count, "run")} selected</b>
          <BoardLink selection={boardOf(basket)} className="link">
            Compare
          </BoardLink>
          <GroupLinks ids={Object.keys(basket.runs)} />
          {ids.length === 1 && (
            <button
              type="button"
              className="link"
              title="Compare all runs of the list to this one (B)"
              data-testid="pin-selected"
              onClick={() => pin({ id: ids[0] ?? "" })}
            >
              Baseline
            </button>
          )}
          <button type="button" className="link" onClick={clearBasket}>
            Clear
          </button>
        </div>
      )}
      {managed && (
        <div className="selection-bar">
          <Manage ids={ids} name={basket.runs[ids[0] ?? ""]?.name ?? ""} state={state} />
        </div>
      )}
      {children}
      <Export list={list} columns={columns} ids={ids} total={total} />
      <span className="grow" />
      <span className="hints">
        <kbd className="key">↑↓</kbd> move <kbd className="key">space</kbd> select{" "}
        <kbd className="key">↵</kbd> open
      </span>
      <Help of="runs" />
    </>
  );
}

interface ExportProps extends Omit<SelectionBarProps, "children" | "pin"> {
  ids: string[];
}

type Progress = "idle" | "reading" | "failed";

function Export({ list, columns, ids, total }: ExportProps) {
  const [state, setState] = useState<Progress>("idle");
  if (ids.length === 0 && total === 0) return null;
  const run = async () => {
    setState("reading");
    try {
      const { order, columns: values, state: kept } = list;
      const chosen = {
        runs: ids,
        ...(kept ? { state: kept } : {}),
        ...(order ? { order } : {}),
        ...(values ? { columns: values } : {}),
      };
      const rows = await allRows(ids.length > 0 ? chosen : list);
      download(
        csvOf(rows, columns),
        `runs-${new Date().toISOString().slice(0, 10)}.csv`,
        "text/csv;charset=utf-8",
      );
      setState("idle");
    } catch {
      setState("failed");
    }
  };
  const what = ids.length > 0 ? plural(ids.length, "run") : `all ${plural(total, "run")}`;
  return (
    <>
      <button
        type="button"
        className="link"
        title={`The visible columns, for ${what}`}
        disabled={state === "reading"}
        data-testid="export-csv"
        onClick={() => void run()}
      >
        Export list CSV
      </button>
      <span role="status">
        {state === "reading" && `Reading ${what}.`}
        {state === "failed" && "Not exported: the server does not answer. Try again."}
      </span>
    </>
  );
}
