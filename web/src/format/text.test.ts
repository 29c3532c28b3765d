import { expect, it } from "vitest";
import { fittingNames, middleEllipsis, withoutCommon } from "./text";

it("leaves out of names what all of them share, word by word", () => {
  expect(withoutCommon(["resnet50-bs32-lr0.1", "resnet50-bs32-lr0.15"])).toEqual([
    "…lr0.1",
    "…lr0.15",
  ]);
  expect(withoutCommon(["run 1 of host-a", "run 2 of host-a"])).toEqual(["…1…", "…2…"]);
  expect(withoutCommon(["alpha", "beta"])).toEqual(["alpha", "beta"]);
  // Nothing is left of none, and names that are all alike stay.
  expect(withoutCommon(["a-b", "a-b-c"])).toEqual(["…b", "…b-c"]);
  expect(withoutCommon(["same-name", "same-name"])).toEqual(["same-name", "same-name"]);
  expect(withoutCommon(["only-one"])).toEqual(["only-one"]);
  expect(withoutCommon([])).toEqual([]);
});

it("cuts no sign of two code units in half", () => {
  const horses = "\u{1f3c7}".repeat(40);
  for (const most of [5, 6, 7, 8, 9]) {
    const cut = middleEllipsis(horses, most);
    expect([...cut].every((sign) => sign === "…" || sign === "\u{1f3c7}")).toBe(true);
  }
});

it("tells names apart that differ in their middle, and keeps short ones whole", () => {
  const names = [
    "imagenet-resnet50-lr0.1-seed-of-the-day",
    "imagenet-resnet50-lr0.2-seed-of-the-day",
  ];
  const cut = fittingNames(names, 20);
  expect(new Set(cut).size).toBe(2);
  expect(cut[0]).toBe("…lr0.1…");
  expect(fittingNames(["short", ...names], 20)[0]).toBe("short");
});
