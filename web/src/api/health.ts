// A run's health: the coverage of its capture, listeners and sources (docs/health.md), and the line above its charts
// about it.
import { useQuery } from "@tanstack/react-query";
import { plural } from "../format/units";
import { getJson } from "./client";

export interface HealthPart {
  part: string;
  // `rank N` or `pid N`, with pid and host if another process has the same; null for parts that the supervisor reports.
  process: string | null;
  state: "active" | "partial" | "given up" | "not captured";
  reason: string | null;
  at_ns: string;
  problem: boolean;
}

export interface RunHealth {
  parts: HealthPart[];
  // The share of the run's time inside its outermost phases, 0 to 1.
  coverage: { lane: string; phases: number; share: number }[];
}

// A server of an earlier version knows of no health: then there is nothing to say.
export function useHealth(run: string): RunHealth | undefined {
  const answer = useQuery({
    queryKey: ["health", run],
    queryFn: ({ signal }) => getJson<RunHealth>(`/runs/${run}/health`, {}, signal),
    retry: false,
  });
  return answer.data;
}

const kMaxSaid = 3;
const kCapture = "capture.";

const plainPart = (part: string) =>
  part.startsWith(kCapture) ? part.slice(kCapture.length) : part;

// "keras.fit given up: TypeError: …"; where several processes say the same, how many.
function problemWords(parts: readonly HealthPart[]): string[] {
  const alike = new Map<string, HealthPart[]>();
  for (const part of parts) {
    const key = JSON.stringify([part.part, part.state, part.reason]);
    alike.set(key, [...(alike.get(key) ?? []), part]);
  }
  return [...alike.values()].map((some) => {
    const { part, state, reason } = some[0] as HealthPart;
    const where = some.length > 1 ? ` in ${plural(some.length, "process", "processes")}` : "";
    return `${plainPart(part)} ${state}${where}${reason === null ? "" : `: ${reason}`}`;
  });
}

// One line about the parts that are not active; null if all are. A hook counts as active where it is in every process.
// Pure.
export function healthWords(parts: readonly HealthPart[]): string | null {
  const problems = problemWords(parts.filter(({ problem }) => problem));
  if (problems.length === 0) return null;
  const hooks = new Map<string, boolean>();
  for (const { part, state } of parts)
    if (part.startsWith(kCapture)) hooks.set(part, state === "active" && (hooks.get(part) ?? true));
  const active = [...hooks.values()].filter(Boolean).length;
  const counted = active < hooks.size ? [`${active} of ${plural(hooks.size, "hook")} active`] : [];
  const rest = problems.length - kMaxSaid;
  const more = rest > 0 ? [`and ${rest} more`] : [];
  const said = [...counted, ...problems.slice(0, kMaxSaid), ...more].join(" · ");
  return `${counted.length > 0 ? "Capture" : "Health"}: ${said}`;
}
