import { describe, expect, it } from "vitest";
import { collocationTitle, collocationWord } from "./collocation";
import { endTitle, stateTitle, statusTitle } from "./outcome";
import { commandLine, middleEllipsis } from "./text";
import { formatClock, formatDuration, nsAt, secondsSince } from "./time";
import { formatCount, formatNumber, formatValue, kThin, scaleFor } from "./units";

const plain = (text: string) => text.replaceAll(kThin, " ");

describe("numbers", () => {
  it("have at most four significant digits", () => {
    expect(
      [0.123456, 1234.56, 98765.4, 12, 0.5, -3.25, 999.96].map((v) => formatNumber(v)),
    ).toEqual(["0.1235", "1235", "98765", "12", "0.5", "−3.25", "1000"]);
    expect(formatNumber(999.96, 3)).toBe("1000");
    expect(formatNumber(3.2e-7)).toBe("3.2e−7");
    expect([Number.NaN, Number.POSITIVE_INFINITY].map((v) => formatNumber(v))).toEqual([
      "NaN",
      "∞",
    ]);
  });

  it("carry IEC prefixes for bytes and SI prefixes else", () => {
    const written = [
      [1536, "B"],
      [7.73e9, "B"],
      [3 * 1024 * 1024, "B/s"],
      [0.0021, "s"],
      [2500, "s"],
      [0.0021, "s/step"],
      [2500, "s/epoch"],
      [3.1e9, "Hz"],
      [1840, "samples/s"],
      [84.26, "%"],
      [0.04, "ratio"],
      [319, "W"],
      [41234, ""],
      [9.2e17, ""],
      [1.2e30, ""],
      [1.2e30, "W"],
    ].map(([value, unit]) => plain(formatValue(value as number, unit as string, 3)));
    expect(written).toEqual([
      "1.5 KiB",
      "7.2 GiB",
      "3 MiB/s",
      "2.1 ms",
      "2500 s",
      "2.1 ms/step",
      "2500 s/epoch",
      "3.1 GHz",
      "1.84 k samples/s",
      "84.3 %",
      "4 %",
      "319 W",
      "41.2 k",
      "920 P",
      "1.2e30",
      "1.2e30 W",
    ]);
    expect(formatValue(null, "W")).toBe("–");
    expect(plain(formatCount(41234))).toBe("41.2 k");
    expect(scaleFor("B", 0)).toEqual({ factor: 1, mark: "", unit: "B" });
  });
});

describe("times", () => {
  it("read as clocks with as many decimals as the step needs", () => {
    expect([231, 3723, -5, 0.25].map((s) => formatClock(s))).toEqual([
      "3:51",
      "1:02:03",
      "−0:05",
      "0:00",
    ]);
    expect(formatClock(1.25, 0.01)).toBe("0:01.25");
    expect(formatClock(59.9999, 0.1)).toBe("1:00.0");
    expect(plain(formatClock(190000, 60))).toBe("2 d 4:46");
  });

  it("read as durations", () => {
    expect([0.0123, 9.416, 372, 0, 0.00099999, 59.99].map((s) => plain(formatDuration(s)))).toEqual(
      ["12.3 ms", "9.42 s", "6:12", "0 s", "1 ms", "1:00"],
    );
  });

  it("stay exact to the nanosecond beyond 2^53", () => {
    const origin = 1763712000000000001n;
    expect(secondsSince("1763712000500000001", origin)).toBe(0.5);
    expect(nsAt(0.5, origin)).toBe("1763712000500000001");
  });
});

describe("text", () => {
  it("is cut in the middle and quoted where a shell needs it", () => {
    expect(middleEllipsis("host.network.received", 11)).toBe("host.…eived");
    expect(commandLine(["python3", "a b.py", "it's", ""])).toBe("python3 'a b.py' 'it'\\''s' ''");
  });
});

describe("words for how runs end and share", () => {
  it("tell a status from the outcomes that it holds", () => {
    expect(statusTitle("stopped")).toMatch(
      /^stopped: stopped by Ctrl-C or SIGTERM.*\(interrupted\).*\(limit\)/,
    );
    expect(endTitle({ status: "stopped", outcome: "interrupted" })).toBe(
      "interrupted: stopped by Ctrl-C or SIGTERM",
    );
    expect(endTitle({ status: "stopped", outcome: "stopped" })).toBe(
      "stopped: stopped by its workload's end rule",
    );
    expect(endTitle({ status: "stopped", outcome: null })).toBe(statusTitle("stopped"));
    expect(endTitle({ status: "running", outcome: "failed" })).toBe("running: has not ended yet");
    expect([stateTitle("out-of-memory"), stateTitle("toString")]).toEqual([
      "out of memory: ran out of memory, of the host or a device",
      "toString",
    ]);
  });

  it("are one for each way to share a device", () => {
    expect(["-", "", "alone", "mps=50"].map(collocationWord)).toEqual([
      "as-is",
      "not set",
      "alone",
      "mps=50",
    ]);
    expect(collocationTitle("-")).toBe(
      "as-is: no sharing configured: runs on one device take turns (time slicing)",
    );
    expect(collocationTitle("as-is")).toBe(collocationTitle("-"));
    expect(collocationTitle("3g.20gb")).toBe("3g.20gb: on a MIG instance of this profile");
    expect(["my own", "constructor"].map(collocationTitle)).toEqual(["my own", "constructor"]);
  });
});
