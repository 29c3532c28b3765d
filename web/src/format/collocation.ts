// The ways in which runs share devices, one word each, with its meaning. Pure.

// "-" is how a plan writes that nothing is set up; "" is where nothing is written.
export function collocationWord(value: string): string {
  if (value === "-") return "as-is";
  return value === "" ? "not set" : value;
}

const kTakeTurns = "runs on one device take turns (time slicing)";
const kMeanings: Record<string, string> = {
  "": "unknown how it shares",
  "-": `no sharing configured: ${kTakeTurns}`,
  "as-is": `no sharing configured: ${kTakeTurns}`,
  naive: kTakeTurns,
  timeslicing: kTakeTurns,
  alone: "the only run of its workload",
  together: "with other runs of its workload; unknown how they share",
};

// Returns the meaning of a word as a text to append; "" if it is not one of Corral's.
export function collocationMeaning(value: string): string {
  if (Object.hasOwn(kMeanings, value)) return kMeanings[value] as string;
  if (/^mps\b/i.test(value)) return "runs on one device share it at the same time, by NVIDIA's MPS";
  return /^\d+g\.\d+gb/i.test(value) ? "on a MIG instance of this profile" : "";
}

export function collocationTitle(value: string): string {
  const meaning = collocationMeaning(value);
  const word = collocationWord(value);
  return meaning === "" ? word : `${word}: ${meaning}`;
}
