// The head of the table: a click sorts, with shift as a further key; a drag of a title moves its column, a drag of
// its right edge sizes it (arrow keys do the same), a double-click there gives the width back.
import {
  type DragEvent,
  type KeyboardEvent,
  type PointerEvent,
  type ReactNode,
  useRef,
  useState,
} from "react";
import { type Column, columnOf, kNarrowest, kWidest, movedColumn, sizedColumn } from "./columns";

export interface TableHeadProps {
  columns: readonly Column[];
  sort: readonly string[];
  // Key of the order by a column; null where there is none.
  orderOf: (key: string) => string | null;
  sortBy: (by: string, also: boolean) => void;
  change: (columns: readonly Column[]) => void;
  // Selects all rows.
  tick: ReactNode;
  // While an edge is dragged.
  preview: (columns: readonly Column[] | null) => void;
}

// Rows are placed absolutely, which a table element forbids; the buttons in a head take the focus.
const kRow = { role: "row", "aria-rowindex": 1 } as const;
const kHeader = { role: "columnheader" } as const;
const kSeparator = {
  role: "separator",
  tabIndex: 0,
  "aria-orientation": "vertical",
  "aria-valuemin": kNarrowest,
  "aria-valuemax": kWidest,
} as const;

// Titles dragged onto each other: handlers of the dragged one, and of the one below it.
function useColumnDrag({ columns, change }: Pick<TableHeadProps, "columns" | "change">) {
  const [dropAt, setDropAt] = useState<string | null>(null);
  const dragged = useRef<string | null>(null);
  const dragging = (key: string, title: string) => ({
    draggable: true,
    onDragStart: (event: DragEvent) => {
      dragged.current = key;
      event.dataTransfer.effectAllowed = "move";
      event.dataTransfer.setData("text/plain", title);
    },
    onDragEnd: () => {
      dragged.current = null;
      setDropAt(null);
    },
  });
  const dropping = (key: string) => ({
    onDragOver: (event: DragEvent) => {
      if (dragged.current === null) return;
      event.preventDefault();
      setDropAt(key);
    },
    onDragLeave: () => setDropAt(null),
    onDrop: (event: DragEvent) => {
      event.preventDefault();
      if (dragged.current !== null) change(movedColumn(columns, dragged.current, key));
      setDropAt(null);
    },
  });
  return { dropAt, dragging, dropping };
}

export function TableHead(props: TableHeadProps) {
  const { columns, sort, orderOf, sortBy, change, preview, tick } = props;
  const { dropAt, dragging, dropping } = useColumnDrag(props);
  return (
    <div className="runs-row runs-head" {...kRow}>
      <span {...kHeader} className="runs-tick">
        {tick}
      </span>
      {columns.map(({ key }) => {
        const meaning = columnOf(key);
        const by = orderOf(key);
        const at = by === null ? -1 : sort.findIndex((word) => word === by || word === `-${by}`);
        const order = at < 0 ? "none" : sort[at]?.startsWith("-") ? "descending" : "ascending";
        const title = meaning.about === "" ? meaning.title : `${meaning.title}, ${meaning.about}`;
        return (
          <span
            key={key}
            {...kHeader}
            {...{ "aria-sort": order, ...dropping(key) }}
            className={`runs-title${meaning.number ? " number" : ""}${dropAt === key ? " drop" : ""}`}
            data-testid="column"
            data-column={key}
          >
            <button
              type="button"
              className="cut"
              title={by === null ? title : `${title}. Click to sort, Shift-click to add a sort key`}
              aria-label={title}
              aria-disabled={by === null}
              onClick={(event) => by !== null && sortBy(by, event.shiftKey)}
              {...dragging(key, meaning.title)}
            >
              {meaning.title}
              {meaning.value?.startsWith("metrics.") && (
                <span className="step"> {meaning.about}</span>
              )}
            </button>
            {at >= 0 && (
              <span className="sort-mark" aria-hidden="true">
                {order === "ascending" ? "↑" : "↓"}
                {sort.length > 1 && <sub>{at + 1}</sub>}
              </span>
            )}
            <Edge columns={columns} column={key} title={title} change={change} preview={preview} />
          </span>
        );
      })}
    </div>
  );
}

interface EdgeProps extends Pick<TableHeadProps, "columns" | "change" | "preview"> {
  column: string;
  title: string;
}

const kKeyStep = 16;

function Edge({ columns, column, title, change, preview }: EdgeProps) {
  const drag = useRef<{ x: number; width: number } | null>(null);
  const widthOf = (edge: Element) => edge.parentElement?.getBoundingClientRect().width ?? 0;
  const sized = (x: number) =>
    sizedColumn(columns, column, (drag.current?.width ?? 0) + x - (drag.current?.x ?? 0));
  const onPointerDown = (event: PointerEvent) => {
    event.preventDefault();
    event.currentTarget.setPointerCapture(event.pointerId);
    drag.current = { x: event.clientX, width: widthOf(event.currentTarget) };
  };
  const onPointerUp = (event: PointerEvent) => {
    if (drag.current === null) return;
    const moved = Math.abs(event.clientX - drag.current.x) > 1;
    const next = sized(event.clientX);
    drag.current = null;
    preview(null);
    if (moved) change(next);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -kKeyStep, ArrowRight: kKeyStep }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    change(sizedColumn(columns, column, widthOf(event.currentTarget) + step));
  };
  const acts = {
    "aria-label": `Width of ${title}`,
    "aria-valuenow": columns.find(({ key }) => key === column)?.width ?? columnOf(column).width,
    onPointerDown,
    onPointerMove: (event: PointerEvent) => drag.current && preview(sized(event.clientX)),
    onPointerUp,
    onPointerCancel: onPointerUp,
    onDoubleClick: () => change(sizedColumn(columns, column, null)),
    onKeyDown,
  };
  return <span className="edge" {...kSeparator} {...acts} data-testid="column-edge" />;
}
