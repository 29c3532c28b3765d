import { describe, expect, it } from "vitest";
import type { FoundRun } from "../../api/runSearch";
import { parseSearch, stringifySearch } from "../../app/search";
import { trendPath } from "../../app/TrendLine";
import {
  columnWords,
  kDefault,
  meaningOf,
  movedColumn,
  parseColumns,
  sameColumns,
  sizedColumn,
  toggledColumn,
  tracksOf,
} from "./columns";
import { csvOf } from "./csv";
import {
  filterOf,
  isNarrowed,
  listOf,
  ordersOf,
  sortedBy,
  withFacet,
  withoutFacets,
} from "./filters";
import { runsSearch } from "./search";
import { rangeChange, rowAfter } from "./selection";

const keys = (columns: readonly { key: string }[]) => columns.map(({ key }) => key);
const throughAddress = (search: object) =>
  runsSearch(parseSearch(stringifySearch(search as Record<string, unknown>)));

describe("columns in the address", () => {
  it("come back as they were, widths and hostile names included", () => {
    const columns = [
      { key: "name", width: 220 },
      { key: "metrics.val/loss.min" },
      { key: "params.a:12" },
      { key: "params.a:12:7", width: 90 },
      { key: "tags.<b>&x=1\n" },
      { key: "trend.gpu power" },
    ];
    const { col } = throughAddress({ col: columnWords(columns) });
    expect(parseColumns(col ?? [])).toEqual(columns);
  });

  it("pass over what has no meaning and what stands twice", () => {
    expect(parseColumns(["name", "nonsense", "name:90", "metrics.", "constructor"])).toEqual([
      { key: "name" },
    ]);
    expect(parseColumns(["nonsense"])).toBeNull();
    expect(parseColumns(["name:5"])).toEqual([{ key: "name", width: 44 }]);
  });

  it("know a summary from a name", () => {
    expect(meaningOf("metrics.loss.min")).toMatchObject({ title: "loss", about: "min" });
    expect(meaningOf("metrics.a.b")).toMatchObject({ title: "a.b", about: "last" });
    expect(meaningOf("params.lr")).toMatchObject({ sort: "params.lr", value: "params.lr" });
  });

  it("are moved, sized, added and taken away", () => {
    const three = [{ key: "status" }, { key: "name" }, { key: "command" }];
    expect(keys(movedColumn(three, "command", "name"))).toEqual(["status", "command", "name"]);
    expect(keys(movedColumn(three, "status", null))).toEqual(["name", "command", "status"]);
    expect(keys(movedColumn(three, "name", "name"))).toEqual(keys(three));
    expect(keys(toggledColumn(three, "params.lr"))).toEqual([
      "status",
      "name",
      "params.lr",
      "command",
    ]);
    expect(keys(toggledColumn(three, "name"))).toEqual(["status", "command"]);
    expect(toggledColumn([{ key: "name" }], "name")).toEqual([{ key: "name" }]);
    const sized = sizedColumn(three, "name", 333.4);
    expect(sized[1]).toEqual({ key: "name", width: 333 });
    expect(sameColumns(sizedColumn(sized, "name", null), three)).toBe(true);
  });

  it("that are sized no longer grow", () => {
    expect(tracksOf([{ key: "name" }, { key: "status" }]).template).toMatch(
      /^14px minmax\(\d+px, 1fr\) \d+px$/,
    );
    const { template, least } = tracksOf([{ key: "name", width: 300 }]);
    expect(template).toBe("14px 300px");
    expect(least).toBeGreaterThan(314);
  });
});

describe("the question for the server", () => {
  it("says what the address says", () => {
    const search = throughAddress({
      q: "metrics.loss < 0.5",
      experiment: "2",
      workload: "none",
      status: ["failed"],
      model: [""],
      "params.lr": ["0.1", "0.01"],
      "tags.a.b": ["x"],
      sort: ["-metrics.loss.min", "name", "nonsense"],
      hidden: "1",
    });
    expect(
      listOf(search, [{ key: "metrics.loss.min" }, { key: "name" }, { key: "trend.x" }]),
    ).toEqual({
      experiments: ["2"],
      filter: "metrics.loss < 0.5",
      where: {
        workload: [""],
        status: ["failed"],
        model: [""],
        "params.lr": ["0.1", "0.01"],
        "tags.a.b": ["x"],
      },
      order: [
        { by: "metrics.loss.min", descending: true },
        { by: "name", descending: false },
      ],
      columns: ["metrics.loss.min"],
    });
  });

  it("leaves out what does not hold", () => {
    expect(filterOf({ q: "metrics.loss <" })).toEqual({});
    expect(filterOf({ q: " two words " })).toEqual({ text: "two words" });
    expect(filterOf({ workload: "abc" })).toEqual({ workloads: ["abc"] });
    expect(isNarrowed({ sort: ["name"], col: ["name"] })).toBe(false);
    expect(listOf({}, kDefault)).toEqual({});
    expect(ordersOf(["-params.-x"])).toEqual([{ by: "params.-x", descending: true }]);
  });

  it("is sorted by a click, the other way by a second, no longer by a third", () => {
    expect(sortedBy([], "name", false)).toEqual(["name"]);
    expect(sortedBy(["name"], "name", false)).toEqual(["-name"]);
    expect(sortedBy(["-name"], "name", false)).toEqual([]);
    expect(sortedBy(["-name"], "start", false)).toEqual(["-start"]);
    expect(sortedBy(["-name"], "start", true)).toEqual(["-name", "-start"]);
    expect(sortedBy(["-name", "-start"], "start", true)).toEqual(["-name", "start"]);
    expect(sortedBy(["-name", "start"], "start", true)).toEqual(["-name"]);
  });

  it("takes facets in and out", () => {
    const one = withFacet({ q: "x" }, { facet: "status", value: "failed", on: true });
    const two = withFacet(one, { facet: "params.lr", value: "", on: true });
    expect(two).toEqual({ q: "x", status: ["failed"], "params.lr": [""] });
    expect(throughAddress(two)).toEqual(two);
    expect(withFacet(two, { facet: "status", value: "failed", on: false })).toEqual({
      q: "x",
      "params.lr": [""],
    });
    expect(withoutFacets(two, ["status", "params.lr"])).toEqual({ q: "x" });
  });
});

describe("moving and ranges", () => {
  it("stays within the rows", () => {
    const extent = { count: 10, page: 4 };
    expect(rowAfter("ArrowDown", 9, extent)).toBe(9);
    expect(rowAfter("ArrowUp", 0, extent)).toBe(0);
    expect(rowAfter("j", 3, extent)).toBe(4);
    // With Shift.
    expect(rowAfter("K", 3, extent)).toBe(2);
    expect(rowAfter("PageDown", 3, extent)).toBe(7);
    expect(rowAfter("End", 3, extent)).toBe(9);
    expect(rowAfter("Home", 3, extent)).toBe(0);
    expect(rowAfter("x", 3, extent)).toBeNull();
    expect(rowAfter("constructor", 3, extent)).toBeNull();
  });

  it("a range grows, shrinks and turns round its anchor", () => {
    expect(rangeChange({ active: 5, anchor: 5 }, { active: 8, anchor: 5 })).toEqual({
      add: { first: 5, last: 8 },
      remove: [],
    });
    expect(rangeChange({ active: 8, anchor: 5 }, { active: 6, anchor: 5 })).toEqual({
      add: { first: 5, last: 6 },
      remove: [{ first: 7, last: 8 }],
    });
    expect(rangeChange({ active: 8, anchor: 5 }, { active: 3, anchor: 5 })).toEqual({
      add: { first: 3, last: 5 },
      remove: [{ first: 6, last: 8 }],
    });
    expect(rangeChange({ active: 8, anchor: 5 }, { active: 1, anchor: 2 }).remove).toEqual([]);
  });
});

describe("what leaves the table", () => {
  const run = {
    id: "ab",
    name: 'say "x", y',
    experiment: "e",
    workload: null,
    status: "finished",
    start_ns: "1700000000000000000",
    duration_s: 1.5,
    command: ["python3", "a b.py"],
    loss: { metric: "loss", value: 0.25, step: "3" },
    values: { "params.lr": "0.1", "metrics.acc": null },
  } as unknown as FoundRun;

  it("is CSV with quotes where they are due", () => {
    const columns = ["name", "trend", "loss", "start", "command", "params.lr", "metrics.acc"];
    expect(
      csvOf(
        [run],
        columns.map((key) => ({ key })),
      ),
    ).toBe(
      'run,name,loss,started,command,params.lr,metrics.acc\r\nab,"say ""x"", y",0.25,' +
        "2023-11-14T22:13:20.000Z,python3 'a b.py',0.1,\r\n",
    );
  });

  it("is a path that breaks at gaps and shows a lone point", () => {
    const gap = [1, 2, 3, null, null, null, 3, null, null, null, 4, 5];
    expect(trendPath(gap).match(/[MLh]/g)).toEqual(["M", "L", "L", "M", "h", "M", "L"]);
    expect(trendPath([1, null, null, 2, null, null, 3]).match(/[MLh]/g)).toEqual(["M", "L", "L"]);
    expect(trendPath([5, 5])).toMatch(/^M2\.0 9\.0L70\.0 9\.0$/);
    expect(trendPath([null])).toBe("");
  });
});
