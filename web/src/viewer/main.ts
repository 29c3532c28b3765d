// The page of a shared board that opens without a server: the same drawing as in Corral, over data that lie in the
// page itself.
import { canvasFont, kFixedFont } from "../charts/font";
import { kDark, kLight } from "../charts/theme";
import type { OfflineBoard } from "../export/offline";
import { mountBoard } from "./board";
import { viewedBoard } from "./offline";

const board = JSON.parse(document.getElementById("data")?.textContent ?? "{}") as OfflineBoard;
const dark = matchMedia("(prefers-color-scheme: dark)").matches;
const theme = dark ? kDark : kLight;

function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  text: string,
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

document.head.append(
  element(
    "style",
    `body{margin:0;padding:16px 24px;background:${theme.background};color:${theme.ink1};font:13px/18px Inter,system-ui,sans-serif}
h1,h3{font-size:13px}h3{margin:14px 0 0}small{color:${theme.ink2};font-weight:400}.reading{margin-left:12px}
.plot{position:relative;user-select:none}canvas{display:block;width:100%;height:100%;cursor:crosshair;touch-action:none}
.cursor,.selection{position:absolute;top:0;bottom:0;left:0;pointer-events:none;visibility:hidden}
.cursor{border-left:1.5px dotted ${theme.ink2}}.selection{background:${theme.series[0]};opacity:.14}
.line-name{position:absolute;border:0;background:none;padding:0;cursor:pointer}a{color:inherit;overflow-wrap:anywhere}`,
  ),
);
const root = document.getElementById("board") as HTMLElement;
root.append(element("h1", board.title));
const about = element(
  "p",
  `${board.words}. Drag to zoom, double-click to reset, click a name to hide its line. Made ${board.made} from `,
);
const link = element("a", board.link);
link.href = board.link;
about.append(link);
root.append(about);
const measuring = document.createElement("canvas").getContext("2d");
const font = measuring === null ? kFixedFont : canvasFont(measuring);
const { draw } = mountBoard(root, viewedBoard(board), { dark, font });
addEventListener("resize", draw);
