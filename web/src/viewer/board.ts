// Charts on plain elements, without server and framework: the offline page, and the content of an opened file. Drag
// zooms, double-click shows everything, a click on a name hides or shows its line; the pointer reads the values.
import { lineAt } from "../board/lines";
import { paint } from "../charts/canvas";
import { drawChart, kInsets, summarise } from "../charts/chart";
import type { FontMetrics } from "../charts/font";
import { multiplesHeight } from "../charts/multiples";
import type {
  ChartKind,
  ChartLine,
  ChartPicture,
  EventMark,
  Margins,
  WindowMark,
  XAxisSpec,
  YAxisSpec,
} from "../charts/spec";
import { kDark, kLight } from "../charts/theme";
import { formatClock } from "../format/time";
import { formatCount, formatNumber, formatValue } from "../format/units";

export interface Range {
  from: number;
  to: number;
}

export interface ViewedChart {
  name: string;
  unit: string;
  // Name and unit of the right axis.
  second: { name: string; unit: string } | null;
  y: YAxisSpec;
  y2: YAxisSpec;
  kind: ChartKind;
  marks: readonly EventMark[];
  windows?: readonly WindowMark[];
  // A note, such as the kind of smoothing.
  note: string;
  full: Range;
  // The range that is shown at first.
  range: Range;
  // The lines over a range, for so many device pixels.
  lines: (at: { range: Range; pixels: number; dark: boolean }) => readonly ChartLine[];
  // Keys of lines that are off at first.
  hidden: readonly string[];
}

export interface ViewedBoard {
  x: Pick<XAxisSpec, "kind" | "unit">;
  // All charts zoom together.
  linked: boolean;
  charts: readonly ViewedChart[];
}

const kHeight = 220;

class ChartView {
  readonly element = document.createElement("section");
  range: Range;
  // Those of all charts, so that a moment is at the same place in each.
  margins: Margins = { left: 0, right: 0 };
  private readonly canvas = document.createElement("canvas");
  private readonly plot = document.createElement("div");
  private readonly cursor = document.createElement("div");
  private readonly selection = document.createElement("div");
  private readonly reading = document.createElement("small");
  private readonly names = document.createElement("div");
  private readonly hidden: Set<string>;
  private picture: ChartPicture | null = null;
  private lines: readonly ChartLine[] = [];
  private start: number | null = null;
  // Position of the pointer, in pixels of the window.
  private pointer: number | null = null;

  constructor(
    private readonly chart: ViewedChart,
    private readonly at: {
      x: ViewedBoard["x"];
      dark: boolean;
      font: FontMetrics;
      zoom: (to: Range | null, from: ChartView) => void;
    },
  ) {
    this.range = chart.range;
    this.hidden = new Set(chart.hidden);
    this.element.className = "viewed";
    this.element.append(this.head(), this.plot);
    this.plot.className = "plot";
    this.cursor.className = "cursor";
    this.selection.className = "selection";
    this.canvas.setAttribute("role", "img");
    this.plot.append(this.canvas, this.selection, this.cursor, this.names);
    this.listen();
  }

  // The space that its labels need beside the plot.
  get asked(): Margins {
    return this.picture?.margins ?? this.margins;
  }

  get full(): Range {
    return this.chart.full;
  }

  draw(): void {
    const { chart, range } = this;
    const { dark, font, x } = this.at;
    const width = this.plot.clientWidth;
    if (width === 0) return;
    const ratio = devicePixelRatio;
    const left = Math.max(kInsets.left, this.margins.left);
    const right = Math.max(kInsets.right, this.margins.right);
    const pixels = Math.max(1, Math.round((width - left - right) * ratio));
    this.lines = chart
      .lines({ range, pixels, dark })
      .map((line) => ({ ...line, hidden: this.hidden.has(line.key) }));
    const many = chart.kind === "multiples";
    const height = many ? multiplesHeight(this.lines.length, width) : kHeight;
    this.plot.style.height = `${height}px`;
    this.picture = drawChart(
      this.lines,
      {
        width,
        height,
        ...range,
        x: { ...x, ...range },
        y: chart.y,
        kind: chart.kind,
        unit: chart.unit,
        marks: chart.marks,
        windows: chart.windows ?? [],
        zoomed: range.from !== chart.full.from || range.to !== chart.full.to,
        theme: dark ? kDark : kLight,
        margins: this.margins,
        ...(chart.second ? { unit2: chart.second.unit } : {}),
      },
      font,
    );
    paint(this.canvas, this.picture, ratio);
    // For scripts, and for tests.
    this.canvas.dataset.plot = JSON.stringify(this.picture.plot);
    this.canvas.dataset.range = JSON.stringify([range.from, range.to]);
    const said = {
      ...range,
      unit: chart.unit,
      windows: chart.windows ?? [],
      ...(chart.second ? { unit2: chart.second.unit } : {}),
    };
    this.canvas.setAttribute("aria-label", summarise(chart.name, this.lines, said));
    this.showNames();
    this.point();
  }

  private head(): HTMLElement {
    const { chart } = this;
    const head = document.createElement("h3");
    const second = chart.second ? ` · right: ${chart.second.name} ${chart.second.unit}` : "";
    const about = document.createElement("small");
    about.textContent = [`${chart.unit}${second}`, chart.note].filter(Boolean).join(" · ");
    this.reading.className = "reading";
    head.append(`${chart.name} `, about, this.reading);
    return head;
  }

  // A button over every name that is drawn.
  private showNames(): void {
    const held = document.activeElement?.getAttribute("data-key");
    const buttons = (this.picture?.labels ?? []).map((label) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "line-name";
      button.dataset.key = label.key;
      const name = this.lines.find(({ key }) => key === label.key)?.label ?? "";
      button.ariaPressed = String(!label.hidden);
      button.ariaLabel = `${name}, ${label.hidden ? "hidden" : "shown"}`;
      button.title = name;
      Object.assign(button.style, {
        left: `${label.x - 2}px`,
        top: `${label.y}px`,
        width: `${label.width + 4}px`,
        height: `${label.height}px`,
      });
      button.addEventListener("click", () => this.toggle(label.key));
      return button;
    });
    this.names.replaceChildren(...buttons);
    if (held) buttons.find((button) => button.dataset.key === held)?.focus();
  }

  private toggle(key: string): void {
    if (!this.hidden.delete(key)) this.hidden.add(key);
    this.draw();
  }

  // The place on the axis under the pointer; null where plots have an axis each.
  private get place(): number | null {
    const { picture, range, pointer } = this;
    if (pointer === null || picture === null || picture.plots.length !== 1) return null;
    const { x, width } = picture.plot;
    const offset = pointer - this.canvas.getBoundingClientRect().left;
    const part = Math.min(1, Math.max(0, (offset - x) / width));
    return range.from + part * (range.to - range.from);
  }

  private listen(): void {
    const { canvas } = this;
    canvas.addEventListener("pointerdown", (event) => {
      this.pointer = event.clientX;
      this.start = this.place;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      this.pointer = event.clientX;
      this.point();
    });
    canvas.addEventListener("pointerleave", () => {
      this.pointer = null;
      this.point();
    });
    canvas.addEventListener("pointerup", (event) => {
      this.pointer = event.clientX;
      const [a, b] = [this.start, this.place];
      this.start = null;
      this.point();
      if (a === null || b === null) return;
      const least = Math.max((this.full.to - this.full.from) / 1e7, this.span / 200);
      if (Math.abs(a - b) > least) this.at.zoom({ from: Math.min(a, b), to: Math.max(a, b) }, this);
    });
    canvas.addEventListener("dblclick", () => this.at.zoom(null, this));
  }

  private get span(): number {
    return this.range.to - this.range.from;
  }

  // Cursor, selection and values at the pointer, which stays where it is while the range becomes another.
  private point(): void {
    const { cursor, selection, reading, picture, start, place } = this;
    cursor.style.visibility = place === null ? "hidden" : "visible";
    selection.style.visibility = place === null || start === null ? "hidden" : "visible";
    reading.textContent = place === null ? "" : this.readingAt(place);
    if (place === null || picture === null) return;
    const { x, width } = picture.plot;
    const pixel = (at: number) => x + ((at - this.range.from) / this.span) * width;
    cursor.style.transform = `translateX(${pixel(place)}px)`;
    if (start === null) return;
    const [left, right] = [start, place].sort((a, b) => a - b).map(pixel) as [number, number];
    selection.style.transform = `translateX(${left}px)`;
    selection.style.width = `${right - left}px`;
  }

  private readingAt(place: number): string {
    const { chart } = this;
    const values = this.lines.flatMap((line) => {
      const value = line.hidden ? null : lineAt(line, place);
      const unit = line.axis === 1 ? (chart.second?.unit ?? "") : chart.unit;
      return value === null
        ? []
        : [{ value, text: `${line.label} ${formatValue(value, unit, 4)}` }];
    });
    const sorted = values.sort((a, b) => b.value - a.value).map(({ text }) => text);
    return [placeWords(this.at.x, place, this.span), ...sorted].join(" · ");
  }
}

function placeWords(x: ViewedBoard["x"], place: number, span: number): string {
  switch (x.kind) {
    case "time":
      return formatClock(place, Math.min(1, 10 ** Math.floor(Math.log10(span / 600))));
    case "wall":
      return new Date(place * 1000).toISOString().replace("T", " ");
    case "step":
      return formatCount(Math.floor(place));
    default:
      return formatNumber(place, 4);
  }
}

// Draws the board into an element; the result redraws it, for another width.
export function mountBoard(
  root: HTMLElement,
  board: ViewedBoard,
  at: { dark: boolean; font: FontMetrics },
): { draw: () => void } {
  const views = board.charts.map((chart) => new ChartView(chart, { x: board.x, ...at, zoom }));
  function zoom(to: Range | null, from: ChartView): void {
    for (const view of board.linked ? views : [from]) view.range = to ?? view.full;
    draw();
  }
  function draw(): void {
    for (const view of views) view.draw();
    const most = (side: keyof Margins) => Math.max(...views.map(({ asked }) => asked[side]));
    const margins = { left: most("left"), right: most("right") };
    for (const view of views) {
      const { left, right } = view.margins;
      if (left === margins.left && right === margins.right) continue;
      view.margins = margins;
      view.draw();
    }
  }
  root.append(...views.map((view) => view.element));
  draw();
  return { draw };
}
