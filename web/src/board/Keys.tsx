// The actions of the mouse and the keys on a page.
import { Scrolling } from "../app/Scrolling";

type KeyHelp = readonly (readonly [string, readonly (readonly [string, string])[]])[];

const kEverywhere: KeyHelp = [
  [
    "Everywhere",
    [
      ["Ctrl K", "search runs, metrics, actions"],
      ["?", "this"],
    ],
  ],
];

const kBoardKeys: KeyHelp = [
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

const kListKeys: KeyHelp = [
  [
    "Rows",
    [
      ["↑ ↓, J K", "move; from anywhere, to the list"],
      ["Page, Home, End", "move further"],
      ["Space", "select a run; open or close a group"],
      ["Shift ↑ ↓, Shift J K", "select a range; Shift click too"],
      ["Ctrl A", "select all loaded runs"],
      ["Enter", "open the run"],
      ["→ ←", "open, close a group"],
      ["B", "compare all runs to this one"],
    ],
  ],
  [
    "List",
    [
      ["/", "search runs; ↓ or Esc leads back to the list"],
      ["click a title", "sort; with Shift by one more column"],
      ["drag a title, its edge", "move a column, change its width"],
    ],
  ],
];

const kKeys = { board: kBoardKeys, runs: kListKeys };

export function Keys({ of }: { of: keyof typeof kKeys }) {
  return (
    <Scrolling className="dialog-body keys" label="All of them">
      {[...kKeys[of], ...kEverywhere].map(([title, list]) => (
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
  );
}
