import { describe, expect, it } from "vitest";
import { kDefault } from "./columns";
import { differs, listState, searchOf } from "./savedList";
import type { RunsSearch } from "./search";

const columns = [
  { key: "name", width: 220 },
  { key: "metrics.val/loss.min" },
  { key: "tags.a&b=c" },
];
const search: RunsSearch = {
  tab: "old",
  q: "metrics.loss < 0.5 & x",
  sort: ["-metrics.loss", "name"],
  status: ["finished", "failed"],
  "params.lr": ["0.1", ""],
};

describe("a saved list", () => {
  it("comes back as it was, under its new name", () => {
    const state = listState(search, columns);
    const back = searchOf({ name: "new", state });
    expect(back).toEqual({
      ...search,
      tab: "new",
      status: ["failed", "finished"],
      "params.lr": ["", "0.1"],
      col: ["name:220", "metrics.val/loss.min", "tags.a&b=c"],
    });
    expect(differs({ name: "new", state }, back, columns)).toBe(false);
  });

  it("differs by search, order and columns, and not by the order of ticks", () => {
    const saved = { name: "old", state: listState(search, columns) };
    expect(differs(saved, { ...search, status: ["failed", "finished"] }, columns)).toBe(false);
    expect(differs(saved, { ...search, status: ["failed"] }, columns)).toBe(true);
    expect(differs(saved, { ...search, sort: ["name", "-metrics.loss"] }, columns)).toBe(true);
    expect(differs(saved, { ...search, state: "archived" }, columns)).toBe(true);
    expect(differs(saved, search, columns.slice(1))).toBe(true);
  });

  it("that says no columns, or nonsense, has the default ones", () => {
    for (const state of ["q=x", "?q=x&col=nonsense&hidden=1"]) {
      const shown = searchOf({ name: "n", state });
      expect(shown.q).toBe("x");
      expect(shown.col).toEqual(kDefault.map(({ key }) => key));
      expect(differs({ name: "n", state }, shown, kDefault)).toBe(false);
    }
  });
});
