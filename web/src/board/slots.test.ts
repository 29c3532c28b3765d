import { expect, it } from "vitest";
import { colourSlots } from "./model";
import { slotWords } from "./slots";
import { boardSearch, slotFor } from "./view";

it("gives each run the place that it had, and new ones those that are free", () => {
  expect(colourSlots([0, 0, 0])).toEqual([0, 1, 2]);
  // The first of three is taken out.
  expect(colourSlots([0, 0], [1, 2])).toEqual([1, 2]);
  expect(colourSlots([0, 0, 0], [undefined, 1, 2])).toEqual([0, 1, 2]);
  // A slot that two runs used by turns now belongs to one.
  expect(colourSlots([0, 1], [3, 3])).toEqual([3, 1]);
});

it("says in the address which runs have another place than their usual one", () => {
  const [a, b] = ["a".repeat(32), "b".repeat(32)];
  const left = [
    { id: a, preferred: 0, slot: 0 },
    { id: b, preferred: 1, slot: 2 },
  ];
  const slot = slotWords(left);
  expect(slot).toEqual([`${"b".repeat(12)}:2`]);
  const search = boardSearch({ run: [a, b], slot });
  expect([slotFor(search, a), slotFor(search, b)]).toEqual([undefined, 2]);
  expect(slotWords([{ id: a, preferred: 3, slot: 3 }])).toBeUndefined();
  expect(boardSearch({ slot: ["nothing", "x:1", "abcdef:-1"] })).toEqual({});
});
