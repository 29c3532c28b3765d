import { describe, expect, it } from "vitest";
import * as page from "../format/nanos";
import * as plot from "./nanos";

const kTexts = [
  "0",
  "1",
  "-1",
  "999999999",
  "1000000000",
  "-1000000000",
  "-1000000001",
  "1763719387123456789",
  "1763719387000000000",
  "-1763719387123456789",
  "9223372036854775807",
  "-9223372036854775808",
];

function viewOf(value: bigint): DataView {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigInt64(0, value, true);
  return view;
}

describe("nanoseconds without BigInt", () => {
  it("are the same numbers", () => {
    // Moments a century apart at most.
    const moments = kTexts.filter((text) => !text.includes("922337203685477580"));
    for (const text of moments)
      for (const other of moments)
        expect(plot.nanosBetween(plot.nanos(text), plot.nanos(other))).toBe(
          page.nanosBetween(page.nanos(text), page.nanos(other)),
        );
    for (const text of kTexts) {
      expect(String(plot.nanos(text))).toBe(text);
      expect(String(plot.readNanos(viewOf(BigInt(text)), 0))).toBe(text);
      expect(JSON.stringify(plot.nanos(text))).toBe(`"${text}"`);
    }
    for (const text of moments)
      for (const by of [0, 1, -1, 999999999, 1e9, -1500000000, 3e15 + 1])
        expect(String(plot.later(plot.nanos(text), by))).toBe(
          String(page.later(page.nanos(text), by)),
        );
    for (const value of [0, -0, 5e8, -5e8, 2 ** 53, 1.7637193871234568e18, -1.7637193871234568e18])
      expect(String(plot.nanos(value))).toBe(String(page.nanos(value)));
    for (const text of kTexts.filter((one) => one[0] !== "-"))
      expect(plot.readCount(viewOf(BigInt(text)), 0)).toBe(page.readCount(viewOf(BigInt(text)), 0));
  });

  it("are refused as BigInt refuses them", () => {
    for (const text of ["1.5", "x", "1e9", "--1"]) {
      expect(() => page.nanos(text)).toThrow(SyntaxError);
      expect(() => plot.nanos(text)).toThrow(SyntaxError);
    }
  });
});
