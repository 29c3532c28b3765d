import { describe, expect, it } from "vitest";
import { newerPhases, type PhaseList } from "./phases";
import type { Phase } from "./types";

const second = (s: number) =>
  String(1_700_000_000_000_000_000n + BigInt(Math.round(s * 1000)) * 1_000_000n);
const phase = (id: string, from: number, to: number | null): Phase => ({
  id,
  parent: null,
  name: "step",
  type: "",
  kind: "compute",
  lane: "main",
  start_ns: second(from),
  end_ns: to === null ? null : second(to),
  attributes: {},
});

// A server with these phases; `asked` has the beginning of every question.
function server(all: readonly Phase[]) {
  const asked: (string | undefined)[] = [];
  const ask = async (from?: string): Promise<PhaseList> => {
    asked.push(from);
    const seen = ({ start_ns, end_ns }: Phase) =>
      from === undefined || end_ns === null || end_ns > from || start_ns >= from;
    return { phases: all.filter(seen), total: all.length };
  };
  return { ask, asked };
}

describe("newerPhases", () => {
  const known: PhaseList = {
    phases: [phase("run", 0, null), phase("a", 1, 2), phase("b", 8, 9), phase("c", 9, null)],
    total: 4,
  };

  it("asks for the newest alone, and puts them where they belong", async () => {
    const now = [phase("run", 0, null), phase("a", 1, 2), phase("b", 8, 9), phase("c", 9, 10)];
    const { ask, asked } = server([...now, phase("d", 10, null)]);
    const answer = await newerPhases(known, ask);
    expect(answer).toEqual({ phases: [...now, phase("d", 10, null)], total: 5 });
    expect(asked).toEqual([second(7)]);
  });

  it("asks for all where a phase arrived late, or ended long ago without having been seen", async () => {
    const late = [...known.phases.slice(0, 2), phase("late", 3, 4), ...known.phases.slice(2)];
    const first = server(late);
    expect((await newerPhases(known, first.ask)).phases).toEqual(late);
    expect(first.asked).toEqual([second(7), undefined]);
    const ended = [phase("run", 0, 5), ...known.phases.slice(1)];
    const second_ = server(ended);
    expect((await newerPhases(known, second_.ask)).phases).toEqual(ended);
    expect(second_.asked.at(-1)).toBeUndefined();
  });

  it("asks an earlier server, or for the first time, for all", async () => {
    const { ask, asked } = server(known.phases);
    await newerPhases(undefined, ask);
    await newerPhases({ phases: known.phases }, ask);
    await newerPhases({ phases: [], total: 0 }, ask);
    expect(asked).toEqual([undefined, undefined, undefined]);
  });
});
