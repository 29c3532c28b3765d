// A process of a job that recorded a run together with others. Pure.
import { finite, type Metric, type RunMember } from "../../api/types";
import { formatValue } from "../../format/units";

export function memberTitle({ rank, host, attempt }: RunMember, attempts: number): string {
  const who = rank === null ? host : `rank ${rank} on ${host}`;
  return attempts > 1 ? `${who}, attempt ${attempt + 1}` : who;
}

// The number of the one whose output is shown first; undefined for a run of one process.
export const firstMember = (members: readonly RunMember[]): string | undefined =>
  members[0] === undefined ? undefined : String(members[0].member);

const sourceOf = ({ rank, host }: RunMember) => (rank === null ? host : `rank${rank}`);

// Its clock against the server's: "100 ms ahead (± 300 µs)". Empty: it was not measured, or last in a newer attempt.
export function clockText(
  process: RunMember,
  { members, metrics }: { members: readonly RunMember[]; metrics: readonly Metric[] },
): string {
  const source = sourceOf(process);
  const newest = members.find((one) => sourceOf(one) === source);
  if (newest !== process) return "";
  // A batch script that started again was alone at first, and has no source.
  const sources = process === members[0] ? [source, ""] : [source];
  const last = (name: string) => {
    const some = metrics.filter((one) => one.name === name);
    const its = sources.flatMap((wanted) => some.find((one) => one.source === wanted) ?? []);
    return finite(its[0]?.last);
  };
  const offset = last("corral.clock.offset");
  const error = last("corral.clock.error");
  if (offset === null || error === null) return "";
  const within = formatValue(error, "s", 3);
  if (Math.abs(offset) <= error) return `same within ${within}`;
  return `${formatValue(Math.abs(offset), "s", 3)} ${offset > 0 ? "behind" : "ahead"} (± ${within})`;
}
