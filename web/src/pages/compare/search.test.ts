import { describe, expect, it } from "vitest";
import { parseSearch, stringifySearch } from "../../app/search";
import {
  commandOf,
  compareSearch,
  groupOfRuns,
  historySearch,
  questionOf,
  runsOfGroup,
  searchOfRuns,
  shareOf,
} from "./search";

const [a, b] = ["a".repeat(32), "b".repeat(32)] as [string, string];

describe("the address of a comparison", () => {
  it("holds all of its question, in the words of the command line", () => {
    const search = {
      group: ["before", "params.batch = '64'"],
      by: "params.batch",
      metric: "val_acc",
      of: "last",
      margin: "5%",
    } as const;
    const again = compareSearch(parseSearch(stringifySearch(search)));
    expect(again).toEqual(search);
    expect(questionOf(again)).toEqual({
      groups: [{ named: "before" }, { named: "params.batch = '64'" }],
      by: "params.batch",
      value: "val_acc",
      of: "last",
      margin: 0.05,
    });
    expect(commandOf("compare", again)).toBe(
      "corral compare before 'params.batch = '\\''64'\\''' --by params.batch --metric val_acc --of last --margin 5%",
    );
  });

  it("leaves out what says nothing or does not fit", () => {
    expect(
      compareSearch({ group: ["", " x "], metric: "step_time", of: "last", better: "less" }),
    ).toEqual({
      group: ["x"],
    });
    expect(historySearch({ metric: "duration", better: "less" })).toEqual({ metric: "duration" });
    expect(historySearch({ metric: "loss", of: "worst", better: "less" })).toEqual({
      metric: "loss",
      better: "less",
    });
    expect(compareSearch({ metric: "loss", better: "less" })).toEqual({ metric: "loss" });
  });

  it("asks for the time to a target instead of a metric, and for limits of a history", () => {
    const raw = {
      group: ["a", "b"],
      metric: "loss",
      of: "last",
      target: "loss < 1",
      better: "less",
    };
    expect(compareSearch(raw)).toEqual({ group: ["a", "b"], target: "loss < 1" });
    expect(questionOf(compareSearch(raw))).toMatchObject({ target: "loss < 1" });
    const limits = { group: ["a"], "at-most": "0.12", "at-least": "x", target: "loss < 1" };
    expect(historySearch(limits)).toEqual({ group: ["a"], "at-most": "0.12" });
    expect(questionOf(historySearch(limits))).toMatchObject({ at_most: 0.12 });
    expect(commandOf("history", historySearch(limits))).toBe("corral history a --at-most 0.12");
    expect(historySearch({ group: ["a"], "at-least": "0x10" })).toEqual({ group: ["a"] });
    expect(commandOf("compare", { group: ["-x", "a"], metric: "loss" })).toBe(
      "corral compare --metric loss -- -x a",
    );
  });

  it("asks for selected runs as a group of their own, named apart from others", () => {
    const [one, two] = [groupOfRuns([a, b]), groupOfRuns([b])];
    expect(runsOfGroup(one)).toEqual([a, b]);
    expect(runsOfGroup("attributes.run_id IN ('x')")).toBeNull();
    expect(questionOf({ group: [one] })?.groups).toEqual([{ runs: [a, b], name: "selection" }]);
    expect(questionOf({ group: [one, "after", two] })?.groups).toEqual([
      { runs: [a, b], name: "selection 1" },
      { named: "after" },
      { runs: [b], name: "selection 2" },
    ]);
    expect(searchOfRuns([a])).toEqual({ group: [groupOfRuns([a])], by: "name" });
    expect(searchOfRuns([])).toBeUndefined();
    expect(searchOfRuns(Array.from({ length: 201 }, () => a))).toBeUndefined();
  });

  it("takes a margin as the command line does", () => {
    expect(["2%", " 2 % ", "0.02", ".5"].map(shareOf)).toEqual([0.02, 0.02, 0.02, 0.5]);
    expect(["", "%", "2", "100%", "0", "-1%", "x"].map(shareOf)).toEqual(Array(7).fill(null));
    expect(questionOf({ group: ["a"], margin: "2" })).toBeNull();
    expect(questionOf({ group: ["a"] })?.margin).toBeUndefined();
  });
});
