import { describe, expect, it, vi } from "vitest";
import { changeRuns, readTags, undoOf } from "./changeRuns";

describe("changes of runs", () => {
  it("sends at most a thousand runs at once, and each change whole where it fits", async () => {
    const sent: { changes: { runs: string[]; name?: string }[] }[] = [];
    vi.stubGlobal("fetch", async (_: string, at: { body: string }) => {
      const body = JSON.parse(at.body) as (typeof sent)[number];
      sent.push(body);
      const runs = body.changes.flatMap((one) => one.runs.map((id) => ({ id, undo: null })));
      return new Response(JSON.stringify({ runs }));
    });
    const many = Array.from({ length: 1500 }, (_, i) => `r${i}`);
    const changed = await changeRuns([
      { runs: many, state: "trashed" },
      { runs: ["x"], name: "y" },
    ]);
    expect(changed.length).toBe(1501);
    expect(sent.map(({ changes }) => changes.map(({ runs }) => runs.length))).toEqual([
      [1000],
      [500, 1],
    ]);
    expect(sent[1]?.changes[1]).toEqual({ runs: ["x"], name: "y" });
  });

  it("takes back what has changed", () => {
    const none = { id: "b", name: "b", state: "active", undo: null } as const;
    const one = { id: "a", name: "new", state: "trashed", undo: { name: "old" } } as const;
    expect(undoOf([one, none])).toEqual([{ runs: ["a"], name: "old" }]);
  });

  it("reads tags to set and to remove", () => {
    expect(readTags("team=vision\n\n old= \nurl=a=b")).toEqual({
      team: "vision",
      old: null,
      url: "a=b",
    });
    expect(readTags("team")).toBeNull();
    expect(readTags("=x")).toBeNull();
    expect(readTags(" ")).toBeNull();
  });
});
