// The address of a run's page. Pure.
import { defined, list, type Raw, word } from "../../app/search";
import { type ViewSearch, viewSearch } from "../../board/view";

// `with`: ids of the other runs drawn; absent for the default choice, one empty word for none.
export type RunTab = "charts" | "about" | "output" | "media" | "files" | "diff";
export const kRunTabs: readonly RunTab[] = ["charts", "about", "output", "media", "files", "diff"];

// `tab`: absent for charts. `path`: the file that is open; `find`: the search in the output; `against`: the run that
// this one is compared to; `member`: number of the process whose output is open.
export interface RunSearch extends ViewSearch {
  with?: string[];
  tab?: RunTab;
  path?: string;
  find?: string;
  against?: string;
  member?: string;
}

export function runSearch(raw: Raw): RunSearch {
  const tab = kRunTabs.find((one) => one === raw.tab);
  return defined({
    ...viewSearch(raw),
    with: list(raw.with),
    tab: tab === "charts" ? undefined : tab,
    path: word(raw.path),
    find: word(raw.find),
    against: word(raw.against),
    member: word(raw.member),
  }) as RunSearch;
}
