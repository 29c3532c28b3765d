// The names at the lines' ends as buttons: a click hides or shows, a double-click shows alone, and a menu
// (right button, or the menu key) says what else can be done with a line.
import { useEffect, useRef, useState } from "react";
import type { ChartLine, LabelBox } from "../charts/spec";
import { useView } from "../state/view";
import { baselineOf } from "./lines";
import type { BoardChart, BoardView } from "./useBoard";

export interface LineNamesProps {
  chart: BoardChart;
  view: BoardView;
  lines: readonly ChartLine[];
  labels: readonly LabelBox[];
}

// So long a click waits for being the first half of a double-click, milliseconds: a hidden line's name moves away
// from under the pointer.
const kPatience = 250;

interface Place {
  key: string;
  x: number;
  y: number;
}

// Hides, shows, shows alone: a click waits until it cannot be half of a double-click.
function useClicks(view: BoardView, all: readonly string[]) {
  const waiting = useRef<ReturnType<typeof setTimeout>>(undefined);
  const toggled = useRef(false);
  useEffect(() => () => clearTimeout(waiting.current), []);
  const click = (key: string, event: React.MouseEvent) => {
    if (event.altKey) view.soloLine(key, all, false);
    // By the keyboard.
    else if (event.detail === 0) view.toggleLine(key);
    else if (event.detail === 1) {
      clearTimeout(waiting.current);
      toggled.current = false;
      waiting.current = setTimeout(() => {
        toggled.current = true;
        view.toggleLine(key);
      }, kPatience);
    }
  };
  const solo = (key: string, event: React.MouseEvent) => {
    if (event.altKey) return;
    clearTimeout(waiting.current);
    view.soloLine(key, all, toggled.current);
  };
  return { click, solo };
}

export function LineNames({ chart, view, lines, labels }: LineNamesProps) {
  const [menu, setMenu] = useState<Place | null>(null);
  const all = lines.map((line) => line.key);
  const { click, solo } = useClicks(view, all);
  const point = (line: string | null) => useView.setState({ line });
  const opened = menu && lines.find((line) => line.key === menu.key);
  return (
    <>
      {labels.map(({ key, hidden, ...box }) => {
        const name = lines.find((line) => line.key === key)?.label;
        return (
          <button
            key={key}
            type="button"
            className="line-name"
            style={{ left: box.x - 2, top: box.y, width: box.width + 4, height: box.height }}
            aria-pressed={!hidden}
            aria-label={`${name}, ${hidden ? "hidden" : "shown"}`}
            title={`${name}: click to hide or show, double-click to show alone, right-click for more`}
            onPointerEnter={() => point(key)}
            onPointerLeave={() => point(null)}
            onFocus={(event) => event.currentTarget.matches(":focus-visible") && point(key)}
            onBlur={() => point(null)}
            onClick={(event) => click(key, event)}
            onDoubleClick={(event) => solo(key, event)}
            onContextMenu={(event) => {
              event.preventDefault();
              const { left, bottom } = event.currentTarget.getBoundingClientRect();
              const byKey = event.clientX === 0 && event.clientY === 0;
              setMenu({
                key,
                x: byKey ? left : event.clientX,
                y: byKey ? bottom : event.clientY,
              });
            }}
          />
        );
      })}
      {menu && opened && (
        <LineMenu
          line={opened}
          at={menu}
          base={view.counted === null ? null : baselineOf(menu.key, chart, view.making)}
          view={view}
          all={all}
          close={() => setMenu(null)}
        />
      )}
    </>
  );
}

interface MenuProps {
  line: ChartLine;
  at: Place;
  // The baseline of the comparison; null if there is none.
  base: string | null;
  view: BoardView;
  all: readonly string[];
  close: () => void;
}

const kEdge = 8;

function LineMenu({ line, at, base, view, all, close }: MenuProps) {
  const panel = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = panel.current;
    if (element === null) return;
    element.showPopover();
    const { width, height } = element.getBoundingClientRect();
    element.style.left = `${Math.max(kEdge, Math.min(at.x, innerWidth - width - kEdge))}px`;
    element.style.top = `${Math.max(kEdge, Math.min(at.y, innerHeight - height - kEdge))}px`;
    element.querySelector("button")?.focus();
  }, [at]);
  // Not by the browser: where the menu opens at the press of the button, its release would close it.
  const closing = useRef(close);
  closing.current = close;
  useEffect(() => {
    const beside = (event: Event) =>
      panel.current?.contains(event.target as Node) || closing.current();
    const leave = (event: KeyboardEvent) => event.key === "Escape" && closing.current();
    window.addEventListener("pointerdown", beside, true);
    window.addEventListener("scroll", beside, true);
    window.addEventListener("keydown", leave);
    return () => {
      window.removeEventListener("pointerdown", beside, true);
      window.removeEventListener("scroll", beside, true);
      window.removeEventListener("keydown", leave);
    };
  }, []);
  const based = base !== null && view.making.baseline?.key === base;
  const alone = !line.hidden && all.every((key) => key === line.key || view.hidden.has(key));
  const entries: [string, () => void][] = [
    [line.hidden ? "Show" : "Hide", () => view.toggleLine(line.key)],
    [alone ? "Show all" : "Show alone", () => view.soloLine(line.key, all, false)],
  ];
  if (base !== null)
    entries.push([
      based ? "Stop comparing" : "Compare to this (B)",
      () => view.compareTo(based ? null : base),
    ]);
  return (
    <div
      ref={panel}
      popover="manual"
      className="popup line-menu"
      role="menu"
      aria-label={line.label}
      data-testid="line-menu"
    >
      <p className="quiet cut">{line.label}</p>
      {entries.map(([words, act]) => (
        <button
          key={words}
          type="button"
          role="menuitem"
          onClick={() => {
            act();
            close();
          }}
        >
          {words}
        </button>
      ))}
    </div>
  );
}
