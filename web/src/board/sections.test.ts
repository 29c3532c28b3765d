import { expect, it } from "vitest";
import { plainChoice } from "./choice";
import type { ChartDef } from "./model";
import { resolve } from "./resolve";
import { type Part, partsOf, rowsOf, sectioned } from "./sections";

const chart = (name: string): ChartDef => ({
  ...{ name, unit: "", group: "software", description: "", flat: false, lines: [], left: 0 },
});
const charts = (names: readonly string[]) => names.map(chart);
const some = (prefix: string, n: number) => Array.from({ length: n }, (_, i) => `${prefix}${i}`);

const words = (parts: readonly Part[]): string[] =>
  parts.map((part) => ("chart" in part ? part.name : `${part.name}(${part.charts.length})`));

it("leaves few metrics as they are", () => {
  expect(words(partsOf(charts(["train/loss", "train/acc", "a.b"]), "s"))).toEqual([
    "train/loss",
    "train/acc",
    "a.b",
  ]);
});

it("makes sections of slashes, and of dots where there are none, after a few metrics without", () => {
  const names = [
    "loss",
    "val/loss",
    ...some("train/m", 6),
    ...some("gpu.m", 5),
    ...some("val/m", 2),
  ];
  expect(words(partsOf(charts(names), "s"))).toEqual(["loss", "gpu.(5)", "train/(6)", "val/(3)"]);
  const many = charts([...some("m", 13), ...some("val/m", 2)]);
  expect(words(partsOf(many, "s")).slice(0, 2)).toEqual(["val/(2)", "m0"]);
  // A dot in a name with slashes separates nothing, and a name alone is no section.
  const odd = ["lr-0.1/loss", "lr-0.2/loss", "end/", "a..b", ...some("x/y/m", 12)];
  expect(words(partsOf(charts(odd), "s"))).toEqual([
    "lr-0.1/loss",
    "lr-0.2/loss",
    "end/",
    "a..b",
    "x/y/(12)",
  ]);
});

it("divides large sections again, in the order in which people count", () => {
  const layers = some("act/layer", 11).flatMap((layer) => [`${layer}/mean`, `${layer}/std`]);
  const [act] = partsOf(charts([...layers, "loss"]), "s").slice(-1);
  expect(act).toMatchObject({ name: "act/", key: "s/act/" });
  const inside = act !== undefined && "parts" in act ? act.parts : [];
  expect(words(inside).slice(0, 3)).toEqual(["layer0/(2)", "layer1/(2)", "layer2/(2)"]);
  expect(words(inside).at(-1)).toBe("layer10/(2)");
});

it("has rows for what is open only, and each metric once", () => {
  const names = [...some("train/m", 30), ...some("val/m", 30), "loss"];
  const parts = partsOf(charts(names), "s");
  expect(rowsOf(parts, () => false).map(({ key }) => key)).toEqual(["loss", "s/train/", "s/val/"]);
  const rows = rowsOf(parts, () => true);
  const listed = rows.flatMap((row) => (row.kind === "metric" ? [row.chart.name] : []));
  expect(listed.toSorted()).toEqual(names.toSorted());
  expect(new Set(rows.map(({ key }) => key)).size).toBe(rows.length);
  expect(rows.find(({ key }) => key === "train/m3")).toMatchObject({ name: "m3", depth: 1 });
});

const board = (names: readonly string[], group = "software") =>
  resolve(
    names.map(plainChoice),
    names.map((name) => ({ ...chart(name), group })),
    [],
  );
const shown = (at: ReturnType<typeof sectioned>) =>
  at.sections?.map(({ name, charts, open }) => [name, charts.length, open]);

it("puts more than twelve charts of a board below headings, in their order", () => {
  const names = ["val/b", "loss", ...some("train/m", 9), "val/a", "alone/x"];
  const all = [...board(names), ...board(["host.cpu.busy"], "cpu")];
  const { sections, drawn } = sectioned(all, {});
  expect(shown({ sections, drawn })).toEqual([
    ["software", 2, true],
    ["train/", 9, true],
    ["val/", 2, true],
    ["cpu", 1, true],
  ]);
  expect(sections?.[2]?.charts.map(({ key }) => key)).toEqual(["val/b", "val/a"]);
  expect(drawn).toHaveLength(14);
  const few = board(["a", "b"]);
  expect(sectioned(few, {})).toEqual({ sections: null, drawn: few });
  expect(shown(sectioned(few, { sections: "on" }))).toEqual([["software", 2, true]]);
  expect(sectioned(all, { sections: "off" }).sections).toBeNull();
});

it("draws no chart of a closed section, and opens all for a search", () => {
  const all = board([...some("train/m", 9), ...some("val/m", 9)]);
  const fold = ["software/train/"];
  const closed = sectioned(all, { fold });
  expect(shown(closed)).toEqual([
    ["train/", 9, false],
    ["val/", 9, true],
  ]);
  expect(closed.drawn.every(({ key }) => key.startsWith("val/"))).toBe(true);
  const found = sectioned(all, { fold, find: "m3" });
  expect(found.drawn.map(({ key }) => key)).toEqual(["train/m3", "val/m3"]);
  expect(sectioned(all.slice(0, 3), { find: "m1" }).drawn).toHaveLength(1);
});

it("puts pinned charts first, in sections below a heading of their own", () => {
  const pinned = (all: ReturnType<typeof board>, ...names: string[]) =>
    all.map((one) =>
      names.includes(one.key) ? { ...one, choice: { ...one.choice, pinned: true as const } } : one,
    );
  const few = pinned(board(["a", "b", "c"]), "c", "b");
  expect(sectioned(few, {}).drawn.map(({ key }) => key)).toEqual(["b", "c", "a"]);
  const many = pinned(board([...some("train/m", 9), ...some("val/m", 9)]), "val/m3", "val/m1");
  const at = sectioned(many, { fold: ["software/val/"] });
  expect(shown(at)).toEqual([
    ["pinned", 2, true],
    ["train/", 9, true],
    ["val/", 7, false],
  ]);
  expect(at.drawn.slice(0, 2).map(({ key }) => key)).toEqual(["val/m1", "val/m3"]);
});
