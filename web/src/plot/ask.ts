// Asks the server, by way of the program that runs this code, one question after the other.

import {
  type Charts,
  type ChartsQuestion,
  chartsOf,
  columnParts,
  columnsBodies,
  joinedParts,
  kAcceptCharts,
  kAcceptPairs,
  linesBodies,
  pairsBodies,
} from "../api/chartBodies";
import { decodeCharts } from "../api/columns";
import type { Stretch } from "../api/condensed";
import { type EpochPages, type RunEpochs, withPage } from "../api/epochs";
import { type Interest, regionBegins } from "../api/interest";
import { decodeLines, kAcceptLines } from "../api/lines";
import {
  eventsOf,
  type Happening,
  marksByFinding,
  type Note,
  notesOf,
  type RunEvent,
} from "../api/notes";
import { type SpreadSeries, type Spreads, spreadQuestions, spreadsOf } from "../api/spread";
import type { Phase, RunPage } from "../api/types";
import { decodeXy } from "../api/xy";

// Each throws an Error that says what failed.
export interface Host {
  get: <T>(path: string) => T;
  post: (path: string, body: object, accept: string) => ArrayBuffer;
  // "; did you mean 'loss'?", or "" where no known name is near.
  near: (word: string, known: readonly string[]) => string;
}

export function charts(host: Host, question: ChartsQuestion): Charts {
  const parts = columnParts(question);
  const answers = parts.map((part) => {
    const found = columnsBodies(part.question, true).flatMap((body) => [
      ...decodeCharts(host.post("/charts", body, kAcceptCharts)).series,
    ]);
    return new Map(found);
  });
  const lines = linesBodies(question, true).flatMap(
    (body) => decodeLines(host.post("/lines", body, kAcceptLines)).lines,
  );
  const pairs = pairsBodies(question).flatMap(
    (body) => decodeXy(host.post("/xy", body, kAcceptPairs)).lines,
  );
  const over = question.over === undefined ? null : charts(host, question.over);
  return chartsOf(question, { series: joinedParts(question, parts, answers), lines, pairs, over });
}

export const workloadRuns = (host: Host, workload: string): RunPage =>
  host.get(`/runs?workload=${workload}&limit=200`);

export const phases = (host: Host, run: string): Phase[] =>
  host.get<{ phases: Phase[] }>(`/runs/${run}/phases`).phases;

export function epochs(host: Host, run: string): RunEpochs | null {
  let all: RunEpochs | null = null;
  do {
    const question = { runs: [run], skip: all?.epochs.length ?? 0 };
    const answer = host.post("/epochs", question, "application/json");
    all = withPage(all, JSON.parse(new TextDecoder().decode(answer)) as EpochPages);
  } while (all?.more);
  return all;
}

export function spreads(
  host: Host,
  series: readonly SpreadSeries[],
  stretches: readonly Stretch[],
): Spreads {
  const { questions, why } = spreadQuestions(series, stretches);
  if (why !== null) return { series: new Map(), why };
  return spreadsOf(
    questions,
    questions.map(({ body }) => host.post("/lines", body, kAcceptLines)),
  );
}

// Events, notes, and of a run that is alone the jumps of its metrics.
export function happenings(host: Host, ids: readonly string[]): Happening[] {
  const notes = new Map(
    ids.map((id) => [id, host.get<{ notes: Note[] }>(`/runs/${id}/notes`).notes]),
  );
  const events = ids.flatMap((id) =>
    eventsOf(id, host.get<{ events: RunEvent[] }>(`/runs/${id}/events`).events),
  );
  const noted = ids.flatMap((id) => notesOf(id, notes.get(id)));
  const [only, ...others] = ids;
  if (only === undefined || others.length > 0) return [...events, ...noted];
  const { regions } = host.get<Interest>(`/runs/${only}/interest`);
  return [...events, ...noted, ...regionBegins(only, regions, marksByFinding(notes.get(only)))];
}
