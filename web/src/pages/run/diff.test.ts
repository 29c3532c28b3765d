import { expect, test } from "vitest";
import { diffRows, environment } from "./Diff";

test("lists differ by their lines", () => {
  const a = environment({
    cpu: "x",
    "environment.packages": "numpy==1.26\nsix==1.0\n",
    collecting_ticks: 1,
  });
  const b = environment({ cpu: "x", "environment.packages": "numpy==2.0\nsix==1.0\nhere\n" });
  expect(diffRows(a, b)).toEqual([
    { key: "packages here", a: "–", b: "there", note: "" },
    { key: "packages numpy", a: "1.26", b: "2.0", note: "" },
    { key: "cpu", a: "x", b: "x", note: "" },
    { key: "packages six", a: "1.0", b: "1.0", note: "" },
  ]);
});

test("a variable's value may hold equals signs, a single line stays as it is", () => {
  expect(
    environment({ "environment.variables": "XLA_FLAGS=--a=b\nRANK=0\n", "environment.kind": "uv" }),
  ).toEqual({ "variables XLA_FLAGS": "--a=b", "variables RANK": "0", "environment.kind": "uv" });
});
