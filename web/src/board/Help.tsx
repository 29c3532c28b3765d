// Lists the actions of the mouse and the keys on a page; `?` opens it, too.
import { useEffect, useRef } from "react";
import { Scrolling } from "../app/Scrolling";

export type KeyHelp = readonly (readonly [string, readonly (readonly [string, string])[]])[];

const kEverywhere: KeyHelp[number] = [
  "Everywhere",
  [
    ["Ctrl K", "search runs, metrics, actions"],
    ["?", "this"],
  ],
];

export const kBoardKeys: KeyHelp = [
  [
    "Range",
    [
      ["drag", "zoom to a range"],
      ["Shift drag", "move the range"],
      ["Alt drag", "select a region: statistics and changes"],
      ["Ctrl wheel, + −, W S", "zoom at the pointer or the cursor"],
      ["A D", "move the range"],
      ["double-click, F, Esc", "reset the zoom"],
      ["E", "enlarge a chart to the whole window, and back"],
      ["P", "pin a chart before all others, and back"],
      ["[ ]", "move a chart earlier, later; or drag it by ⋯"],
      ["L", "zoom all charts together or independently"],
      ["Ctrl Z, Ctrl Shift Z", "undo and redo, like Back and Forward"],
    ],
  ],
  [
    "Reading",
    [
      ["← →", "move the cursor, with Shift faster"],
      [", .", "previous and next phase, event or note"],
      ["click", "pin the values"],
      ["1 2", "set two marks; shows difference, mean, integral"],
      ["N", "add a note about the region, or at the cursor"],
      ["0, Esc", "clear pins, marks and the region"],
    ],
  ],
  [
    "Lines",
    [
      ["click a name", "hide or show a line"],
      ["double-click, Alt click a name", "show a line alone"],
      ["hover over a name", "highlight it in every chart"],
      ["B", "compare the others to the highlighted line"],
      ["right-click a name", "menu with these actions"],
    ],
  ],
];

export function Help({ keys }: { keys: KeyHelp }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const typing = event.target instanceof HTMLElement && event.target.matches("input, textarea");
      const open = document.querySelector("dialog[open]") !== null;
      if (event.key === "?" && !typing && !open) dialog.current?.showModal();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
  return (
    <>
      <button
        type="button"
        className="key"
        aria-label="Keys and gestures"
        title="Keys and gestures"
        onClick={() => dialog.current?.showModal()}
      >
        ?
      </button>
      <dialog ref={dialog} className="dialog" aria-label="Keys and gestures" data-testid="help">
        <header>
          <h2>Keys and gestures</h2>
          <button type="button" className="button" onClick={() => dialog.current?.close()}>
            Close
          </button>
        </header>
        <Scrolling className="dialog-body keys" label="All of them">
          {[...keys, kEverywhere].map(([title, list]) => (
            <section key={title}>
              <h3>{title}</h3>
              <dl className="facts">
                {list.map(([key, what]) => (
                  <div key={key} style={{ display: "contents" }}>
                    <dt>{key}</dt>
                    <dd>{what}</dd>
                  </div>
                ))}
              </dl>
            </section>
          ))}
        </Scrolling>
      </dialog>
    </>
  );
}
