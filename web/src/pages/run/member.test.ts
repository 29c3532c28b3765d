import { expect, test } from "vitest";
import type { Metric, RunMember } from "../../api/types";
import { clockText } from "./member";

const process = (rank: number | null, attempt = 0) =>
  ({ rank, host: "node2", attempt }) as RunMember;
const measured = (source: string, offset: number, error: number) =>
  [
    { name: "corral.clock.offset", source, last: offset },
    { name: "corral.clock.error", source, last: error },
  ] as Metric[];

test("a process says how far its clock is from the server's", () => {
  const metrics = [...measured("rank3", -0.1, 3e-4), ...measured("node2", 0.25, 0.001)];
  const members = [process(3, 1), process(null), process(4), process(3)];
  const texts = members.map((one) => clockText(one, { members, metrics }));
  const ahead = "100\u2009ms ahead (± 300\u2009µs)";
  expect(texts, "the last attempt's clock alone").toEqual([
    ahead,
    "250\u2009ms behind (± 1\u2009ms)",
    "",
    "",
  ]);
  const near = { members, metrics: measured("rank3", 2e-4, 3e-4) };
  expect(clockText(members[0] as RunMember, near)).toBe("same within 300\u2009µs");
});
