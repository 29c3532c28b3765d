// The pinned baseline of the list: its run, how the others are compared to it, and the way to let it go.
import { useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { type FoundRun, type RunList, useBaselineRun } from "../../api/runSearch";
import type { CompareAs } from "./baseline";
import type { RunsSearch } from "./search";

const kNoColumns: string[] = [];

// `pin` makes a run the baseline, or lets it go if it is; `gone`: the server does not list it.
export function useBaseline({ base, compare }: RunsSearch, { columns = kNoColumns }: RunList) {
  const navigate = useNavigate({ from: "/" });
  const run = useBaselineRun(base, columns);
  const as: CompareAs = compare ?? "share";
  const baseline = useMemo(() => (run && run.id === base ? { run, as } : null), [run, base, as]);
  const pin = useCallback(
    (wanted: { id: string }) => {
      void navigate({
        search: ({ base: before, ...rest }: RunsSearch) =>
          before === wanted.id ? rest : { ...rest, base: wanted.id },
      });
    },
    [navigate],
  );
  return { baseline, pin, gone: base !== undefined && run === null };
}

export interface BaselineBarProps {
  search: RunsSearch;
  run: FoundRun | undefined;
  gone: boolean;
  to: (next: RunsSearch, replace?: boolean) => void;
}

const kWays = [
  { as: undefined, mark: "%", title: "Compare in percent of the baseline" },
  { as: "difference", mark: "±", title: "Compare by difference" },
] as const;

export function BaselineBar({ search, run, gone, to }: BaselineBarProps) {
  const { base, compare, ...rest } = search;
  if (base === undefined) return null;
  return (
    <span className="baseline-bar" data-testid="baseline-bar">
      {gone ? "The baseline was removed or is in the trash." : "Baseline"}
      {run && (
        <>
          <b className="cut name" title={run.name}>
            {run.name}
          </b>
          <span className="tabs">
            {kWays.map(({ as, mark, title }) => (
              <button
                key={mark}
                type="button"
                aria-label={title}
                aria-pressed={compare === as}
                title={title}
                onClick={() => to({ ...rest, base, ...(as ? { compare: as } : {}) }, true)}
              >
                {mark}
              </button>
            ))}
          </span>
        </>
      )}
      <button type="button" className="link" data-testid="baseline-remove" onClick={() => to(rest)}>
        Remove
      </button>
    </span>
  );
}
