import { expect, it } from "vitest";
import { type HealthPart, healthWords } from "./health";

const part = (
  name: string,
  state: HealthPart["state"] = "active",
  more: Partial<HealthPart> = {},
) => ({
  ...{ part: name, process: null, state, reason: null, at_ns: "1" },
  problem: state === "partial" || state === "given up",
  ...more,
});

it("says nothing of what is well, nor of listeners without a device", () => {
  const nvidia = part("listener.nvidia", "not captured", { reason: "no driver" });
  expect(healthWords([part("capture.keras.fit"), nvidia])).toBeNull();
  expect(healthWords([])).toBeNull();
});

it("counts hooks and says which failed and why", () => {
  const parts = [
    ...["torch.optimizer", "torch.dataloader", "torch.save"].map((name) => part(`capture.${name}`)),
    part("capture.keras.fit", "given up", { process: "rank 0", reason: "TypeError: no" }),
  ];
  expect(healthWords(parts)).toBe(
    "Capture: 3 of 4 hooks active · keras.fit given up: TypeError: no",
  );
});

it("says the same of several processes once, and how many more there are", () => {
  const failed = ["rank 0", "rank 1"].map((process) =>
    part("capture.keras.fit", "given up", { process, reason: "TypeError: no" }),
  );
  const ok = part("capture.keras.fit", "active", { process: "rank 2" });
  expect(healthWords([...failed, ok])).toBe(
    "Capture: 0 of 1 hook active · keras.fit given up in 2 processes: TypeError: no",
  );
  const sources = [1, 2, 3, 4, 5].map((n) =>
    part(`source.exec.s${n}`, "partial", { reason: "no value" }),
  );
  expect(healthWords([part("capture.x"), ...sources])).toMatch(
    /^Health: source\.exec\.s1 partial: no value · .*s3 partial: no value · and 2 more$/,
  );
});
