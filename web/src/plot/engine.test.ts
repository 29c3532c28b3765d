import { describe, expect, it } from "vitest";
import { LocalClock, SearchPairs } from "./engine";

describe("what stands for a browser's parts", () => {
  it("writes addresses as a browser does", () => {
    const words = ["a b", "ä/é?&=#%", "~!'()*-._", "loss~with:x", "🏇", "+"];
    const [page, plot] = [new URLSearchParams(), new SearchPairs()];
    for (const word of words) {
      page.append(word, word);
      plot.append(word, word);
    }
    expect(plot.toString()).toBe(page.toString());
  });

  it("has the parts of local time", () => {
    const format = new Intl.DateTimeFormat("en-GB", {
      ...{ year: "numeric", month: "numeric", day: "numeric" },
      ...{ hour: "numeric", minute: "numeric", second: "numeric", hourCycle: "h23" },
    } as const);
    for (const time of [0, 1_763_719_387_000, 1_750_000_000_000]) {
      const numbers = (parts: { type: string; value: string }[]) =>
        Object.fromEntries(
          parts.flatMap(({ type, value }) => (type === "literal" ? [] : [[type, Number(value)]])),
        );
      expect(numbers(new LocalClock().formatToParts(time))).toEqual(
        numbers(format.formatToParts(time)),
      );
    }
  });
});
