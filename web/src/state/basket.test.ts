import { beforeEach, describe, expect, it } from "vitest";
import {
  addRuns,
  addWorkload,
  boardOf,
  clearBasket,
  countOf,
  followOtherTabs,
  grouped,
  kEmpty,
  parseBasket,
  removeRuns,
  runsOf,
  undoClear,
  useBasket,
  withoutRuns,
  withRuns,
  withWorkload,
} from "./basket";

const run = (id: string, workload: string, experiment = "1", name: string | null = workload) => ({
  id,
  name: `name ${id}`,
  experiment_id: experiment,
  experiment: `experiment ${experiment}`,
  workload_id: workload,
  workload: name,
});
const pair = [run("a", "w"), run("b", "w")];
const basket = () => useBasket.getState().basket;

describe("the basket", () => {
  it("groups by experiment and workload, across experiments", () => {
    const full = withRuns(kEmpty, [...pair, run("c", "v"), run("d", "u", "2", null)]);
    expect(countOf(full)).toBe(4);
    expect(grouped(full)).toMatchObject([
      {
        id: "1",
        name: "experiment 1",
        count: 3,
        workloads: [{ id: "w", runs: [{ id: "a" }, { id: "b" }] }, { id: "v" }],
      },
      {
        id: "2",
        count: 1,
        workloads: [{ id: "u", name: null, runs: [{ id: "d", name: "name d" }] }],
      },
    ]);
    expect(runsOf(full, "w")).toEqual(["a", "b"]);
  });

  it("keeps a workload whole until a run of it is taken out", () => {
    const whole = withWorkload(withRuns(kEmpty, [run("a", "w"), run("x", "v")]), pair);
    expect(boardOf(whole)).toEqual({ workload: ["w"], run: ["x"] });
    expect(boardOf(withRuns(whole, [run("a", "w")]))).toEqual({ workload: ["w"], run: ["x"] });
    const broken = withoutRuns(whole, ["a"]);
    expect(boardOf(broken)).toEqual({ run: ["x", "b"] });
    expect(withoutRuns(broken, ["b", "x", "unknown"])).toEqual(kEmpty);
  });

  it("never calls a run on its own a whole workload", () => {
    expect(boardOf(withWorkload(kEmpty, [run("d", "u", "2", null)]))).toEqual({ run: ["d"] });
  });

  it("is empty without a board to show", () => expect(boardOf(kEmpty)).toEqual({}));
});

describe("what is kept", () => {
  it("comes back as it was", () => {
    const full = withWorkload(withRuns(kEmpty, [run("d", "u", "2", null)]), pair);
    expect(parseBasket(JSON.stringify(full))).toEqual(full);
  });

  it.each([
    "",
    "null",
    "{",
    "[]",
    '{"runs":{"a":{"workload":"gone"}}}',
    '{"runs":7,"workloads":[1]}',
    '"x"',
  ])("is empty when it makes no sense: %s", (text) => expect(parseBasket(text)).toEqual(kEmpty));
});

describe("the basket of this browser", () => {
  beforeEach(() => {
    localStorage.clear();
    useBasket.setState({ basket: kEmpty, cleared: null });
  });

  it("survives, and clearing can be undone until something else is chosen", () => {
    addWorkload(pair);
    expect(parseBasket(localStorage.getItem("corral-basket"))).toEqual(basket());
    const before = basket();
    clearBasket();
    expect(countOf(basket())).toBe(0);
    undoClear();
    expect(basket()).toEqual(before);
    clearBasket();
    addRuns([run("c", "v")]);
    undoClear();
    expect(Object.keys(basket().runs)).toEqual(["c"]);
    removeRuns(["c"]);
    expect(basket()).toEqual(kEmpty);
  });

  it("follows other tabs", () => {
    const stop = followOtherTabs();
    const newValue = JSON.stringify(withRuns(kEmpty, pair));
    dispatchEvent(new StorageEvent("storage", { key: "other", newValue }));
    expect(countOf(basket())).toBe(0);
    dispatchEvent(new StorageEvent("storage", { key: "corral-basket", newValue }));
    expect(countOf(basket())).toBe(2);
    stop();
    dispatchEvent(new StorageEvent("storage", { key: "corral-basket", newValue: null }));
    expect(countOf(basket())).toBe(2);
  });
});
