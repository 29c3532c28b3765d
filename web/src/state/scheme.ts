// Light or dark colours: what a person chose, the same in all tabs, or else what the system has. public/theme.js sets the
// same before the first paint.
import { create } from "zustand";
import { followKept, keep, readKept } from "./kept";

export type Scheme = "light" | "dark";

const kKey = "corral-theme";

const dark = globalThis.matchMedia?.("(prefers-color-scheme: dark)");
const system = (): Scheme => (dark?.matches ? "dark" : "light");
const schemeOf = (kept: string | null): Scheme =>
  kept === "light" || kept === "dark" ? kept : system();

export const useScheme = create<{ scheme: Scheme }>(() => ({ scheme: schemeOf(readKept(kKey)) }));

function show(scheme: Scheme): void {
  document.documentElement.dataset.scheme = scheme;
  useScheme.setState({ scheme });
}

// A person who chooses what the system has follows the system again.
export function chooseScheme(scheme: Scheme): void {
  keep(kKey, scheme === system() ? null : scheme);
  show(scheme);
}

followKept(kKey, (text) => show(schemeOf(text)));
dark?.addEventListener("change", () => show(schemeOf(readKept(kKey))));
