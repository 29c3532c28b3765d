// The line of a group of runs: its value, the number of its runs, and the means of their numbers.
import { memo } from "react";
import type { RunGroup, Spread } from "../../api/runSearch";
import { Chevron } from "../../app/icons";
import { collocationWord } from "../../format/collocation";
import { formatDuration } from "../../format/time";
import { formatNumber, plural } from "../../format/units";
import { isCompared } from "./baseline";
import { type Column, columnOf } from "./columns";
import { rowId } from "./TableRow";

export interface GroupRowProps {
  group: RunGroup;
  // The field that groups.
  by: string;
  open: boolean;
  index: number;
  // Place in the table, from 1.
  rowIndex: number;
  top: number;
  active: boolean;
  columns: readonly Column[];
  // Room for differences to a baseline.
  compared: boolean;
  toggle: (value: string) => void;
}

// Rows are placed absolutely, which the cells of a table element forbid; the table takes focus and keys for them.
const kCell = { role: "gridcell" } as const;

export const GroupRow = memo(function GroupRow(props: GroupRowProps) {
  const { group, by, open, index, rowIndex, top, active, columns, compared, toggle } = props;
  // The name of the group takes the room up to that of the runs.
  const spanned = Math.max(1, columns.findIndex(({ key }) => key === "name") + 1);
  const words = wordsOf(by, group.value);
  const place = { role: "row", "aria-level": 1, "aria-expanded": open, "aria-rowindex": rowIndex };
  return (
    <div
      {...place}
      {...{ onClick: () => toggle(group.value) }}
      id={rowId(index)}
      style={{ transform: `translateY(${top}px)` }}
      className={`runs-row runs-group${active ? " active" : ""}`}
      data-testid="run-group"
      data-value={group.value}
    >
      <span {...kCell} className="runs-tick">
        <Chevron open={open} />
      </span>
      <span
        {...kCell}
        {...{ "aria-colspan": spanned }}
        className="cut name"
        style={{ gridColumn: `2 / span ${spanned}` }}
        title={`${columnOf(by).title}: ${words}`}
      >
        {/^(params|tags)\./.test(by) && <span className="quiet">{columnOf(by).title} </span>}
        <b>{words}</b>{" "}
        <span className="quiet">
          {plural(group.count, "run")}
          {group.count > 1 && ", mean"}
        </span>
      </span>
      {columns.slice(spanned).map(({ key }) => {
        const spread = spreadOf(group, key);
        return (
          <span
            key={key}
            {...kCell}
            className={columnOf(key).number ? "number cut" : "cut"}
            title={titleOf(spread, key, group)}
            data-column={key}
          >
            {spread && textOf(spread.mean, key)}
            {compared && isCompared(key) && <span className="delta" />}
          </span>
        );
      })}
    </div>
  );
});

function wordsOf(by: string, value: string): string {
  if (by === "collocation") return collocationWord(value);
  if (value === "") return by === "workload" ? "without a workload" : "not set";
  return value;
}

function spreadOf(group: RunGroup, column: string): Spread | null {
  if (column === "loss") return group.loss;
  if (column === "duration") return group.duration;
  return group.values[column] ?? null;
}

const textOf = (value: number, column: string): string =>
  column === "duration" ? formatDuration(value) : formatNumber(value);

function titleOf(spread: Spread | null, column: string, group: RunGroup): string | undefined {
  if (spread === null) {
    return column === "loss" && group.count > 0
      ? "No loss that all of these runs share"
      : undefined;
  }
  const { count, mean, min, max } = spread;
  const of = column === "loss" ? `${group.loss_metric}: ` : "";
  const words = [mean, min, max].map((value) => textOf(value, column));
  return `${of}mean ${words[0]} of ${plural(count, "run")}, ${words[1]} to ${words[2]}`;
}
