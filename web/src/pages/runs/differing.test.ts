import { describe, expect, it } from "vitest";
import type { Facets } from "../../api/runSearch";
import { kMostDiffering, onlyDiffering } from "./differing";

const values = (all: Record<string, number>) =>
  Object.entries(all).map(([value, count]) => ({ value, count }));
const of = (key: string, all: Record<string, number>, distinct = Object.keys(all).length) => ({
  key,
  values: values(all),
  distinct,
});
const facets: Facets = {
  host: values({ n1: 4 }),
  model: values({ vgg: 2, "": 2 }),
  params: [
    of("width", { "16": 2, "32": 2 }),
    of("batch", { "64": 4 }),
    of("dropout", { "0.5": 3, "": 1 }),
  ],
  tags: [of("team", { vision: 4 }), of("stage", { a: 1, b: 3 })],
};
const keys = (columns: readonly { key: string }[]) => columns.map(({ key }) => key);
const chosen = [
  "status",
  "name",
  "params.batch",
  "tags.team",
  "tags.stage",
  "host",
  "model",
  "metrics.loss",
  "command",
].map((key) => ({ key }));

describe("the columns that differ", () => {
  it("are every param with two values or that some run lacks, and no fact that all share", () => {
    const { shown, alike, more } = onlyDiffering(chosen, facets, {});
    expect(keys(shown)).toEqual([
      "status",
      "name",
      "params.dropout",
      "params.width",
      "tags.stage",
      "model",
      "metrics.loss",
      "command",
    ]);
    expect(keys(alike)).toEqual(["params.batch", "tags.team", "host"]);
    expect(more).toBe(0);
  });

  it("keep their place and width where they are chosen", () => {
    const columns = [{ key: "params.width", width: 200 }, { key: "name" }];
    const { shown } = onlyDiffering(columns, facets, {});
    expect(shown).toEqual([...columns, { key: "params.dropout" }]);
  });

  it("are judged among the listed runs, which a choice narrows", () => {
    const among = (search: object) => keys(onlyDiffering([{ key: "name" }], facets, search).shown);
    expect(among({ "params.width": ["16"] })).toEqual(["name", "params.dropout"]);
    expect(among({ "params.width": ["16", "gone"] })).toEqual(["name", "params.dropout"]);
    expect(among({ "params.width": ["16", "32"] })).toContain("params.width");
    // A value beyond the counted ones may be there.
    const many: Facets = { params: [of("seed", { "1": 5 }, 30)] };
    expect(
      keys(onlyDiffering([{ key: "name" }], many, { "params.seed": ["1", "29"] }).shown),
    ).toContain("params.seed");
  });

  it("leave out the experiment or the workload that the list is narrowed to", () => {
    const columns = [{ key: "name" }, { key: "experiment" }, { key: "workload" }];
    expect(keys(onlyDiffering(columns, {}, { experiment: "2" }).shown)).toEqual([
      "name",
      "workload",
    ]);
  });

  it("are so many at most, and the others are counted", () => {
    const params = Array.from({ length: 90 }, (_, i) => of(`p${i}`, { a: 1, b: 1 }));
    const { shown, more } = onlyDiffering([{ key: "name" }], { params }, {});
    expect(shown.length).toBe(kMostDiffering);
    expect(more).toBe(91 - kMostDiffering);
  });
});
