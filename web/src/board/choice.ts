// The settings of one chart in the form of the address: `loss`, `loss~log~with:accuracy~right:zero`,
// `power~y:0..400~band`, `loss~range:3..4.5`. A name's own `~` and `%` are percent-encoded. Pure.
import type { ChartKind, YAxisSpec } from "../charts/spec";
import { quoted, unquoted } from "./quote";

export interface ChartChoice {
  metric: string;
  kind: ChartKind;
  y: YAxisSpec;
  // A second metric, on the right axis.
  second?: string;
  // The settings of that axis; automatic if absent.
  y2?: YAxisSpec;
  // Runs of its own instead of the board's.
  runs?: string[];
  // A range of its own instead of the board's: the chart is zoomed alone.
  range?: { from: number; to: number };
  // It stands before all that are not.
  pinned?: true;
}

// undefined takes a setting away.
export type ChoiceChange = { [Part in keyof ChartChoice]?: ChartChoice[Part] | undefined };

export const kKinds: readonly ChartKind[] = [
  "line",
  "step",
  "band",
  "scatter",
  "heat",
  "multiples",
];

export const plainChoice = (metric: string): ChartChoice => ({
  metric,
  kind: "line",
  y: { mode: "auto" },
});

function yWords(y: YAxisSpec): string[] {
  switch (y.mode) {
    case "zero":
    case "log":
      return [y.mode];
    case "fixed":
      return [`y:${y.from ?? 0}..${y.to ?? 1}`];
    case "clip":
      return [y.low === undefined ? "clip" : `clip:${y.low}..${y.high ?? 100 - y.low}`];
    default:
      return [];
  }
}

export function choiceText(choice: ChartChoice): string {
  const words = [quoted(choice.metric)];
  if (choice.kind !== "line") words.push(choice.kind);
  words.push(...yWords(choice.y));
  if (choice.second !== undefined) words.push(`with:${quoted(choice.second)}`);
  for (const word of choice.y2 === undefined ? [] : yWords(choice.y2)) words.push(`right:${word}`);
  if (choice.runs !== undefined) words.push(`runs:${choice.runs.join(",")}`);
  if (choice.range !== undefined) words.push(`range:${choice.range.from}..${choice.range.to}`);
  if (choice.pinned) words.push("pinned");
  return words.join("~");
}

function pair(text: string): [number, number] | null {
  const [a, b] = text.split("..").map(Number);
  return a !== undefined && b !== undefined && b > a && Number.isFinite(b - a) ? [a, b] : null;
}

// A word of an axis of values; null when it is none.
export function parseY(word: string): YAxisSpec | null {
  if (word === "zero" || word === "log" || word === "clip") return { mode: word };
  const [, key, rest] = /^(clip|y):([\s\S]*)$/.exec(word) ?? [];
  const ends = pair(rest ?? "");
  if (key === "clip")
    return ends ? { mode: "clip", low: ends[0], high: ends[1] } : { mode: "clip" };
  return ends && { mode: "fixed", from: ends[0], to: ends[1] };
}

// Words that mean nothing are passed over: an address may be of a newer page.
export function parseChoice(text: string): ChartChoice {
  const [name = "", ...words] = text.split("~");
  const choice = plainChoice(unquoted(name));
  for (const word of words) {
    const at = word.indexOf(":");
    const [key, rest] = at < 0 ? [word, ""] : [word.slice(0, at), word.slice(at + 1)];
    const y = parseY(word);
    if (y !== null) choice.y = y;
    else if (kKinds.includes(key as ChartKind)) choice.kind = key as ChartKind;
    else if (word === "pinned") choice.pinned = true;
    else if (key === "with" && rest !== "") choice.second = unquoted(rest);
    else if (key === "right") {
      const right = parseY(rest);
      if (right !== null) choice.y2 = right;
    } else if (key === "runs" && rest !== "") choice.runs = rest.split(",");
    else if (key === "range") {
      const ends = pair(rest);
      if (ends) choice.range = { from: ends[0], to: ends[1] };
    }
  }
  return choice;
}

// The same charts on the board's range.
export const together = (charts: readonly string[]): string[] =>
  charts.map((text) => {
    const { range: _, ...choice } = parseChoice(text);
    return choiceText(choice);
  });
