import { expect, it } from "vitest";
import { natural } from "./order";

const sorted = (...words: string[]) => words.sort(natural);

it("sorts numbers by their value, also small, negative and with exponents", () => {
  expect(sorted("0.1", "0.03", "0.01", "1e-3", "-2", "10", "9")).toEqual([
    "-2",
    "1e-3",
    "0.01",
    "0.03",
    "0.1",
    "9",
    "10",
  ]);
});

it("sorts words as people count, after numbers", () => {
  expect(sorted("run 10", "run 9", "", "adam", "32")).toEqual([
    "32",
    "",
    "adam",
    "run 9",
    "run 10",
  ]);
});

it("does not depend on the engine's language", () => {
  expect(sorted("gpu10", "GPU2", "gpu1", "gpu2", "Zeta", "adam", "gpu_a", "gpu/a")).toEqual([
    "adam",
    "gpu/a",
    "gpu1",
    "gpu2",
    "GPU2",
    "gpu10",
    "gpu_a",
    "Zeta",
  ]);
});
