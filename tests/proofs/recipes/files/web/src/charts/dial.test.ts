import { expect, it } from "vitest";
import { drawDial } from "./dial";
import { kFixedFont } from "./font";
import { rounded } from "./testing";

it("draws a value between its ends", async () => {
  const marks = drawDial(
    { value: 3, from: 0, to: 4 },
    { width: 300, height: 60, colour: "#000" },
    kFixedFont,
  );
  await expect(`${JSON.stringify(rounded(marks), null, 1)}\n`).toMatchFileSnapshot(
    "golden/dial.golden.json",
  );
});
