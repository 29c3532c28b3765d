// The side panel of a plan: its states, experiments and ways of collocation with counts, each a filter.
import type { ReactNode } from "react";
import { Check } from "../../app/Check";
import { collocationTitle, collocationWord } from "../../format/collocation";
import { stateTitle, stateWords, toneOf } from "../../format/outcome";
import { formatCount } from "../../format/units";
import type { Count, PlanFacets } from "./plan";
import { type PlanFacet, type PlanSearch, withValue } from "./search";

export interface PlanFiltersProps {
  facets: PlanFacets;
  search: PlanSearch;
  change: (next: PlanSearch) => void;
}

export function PlanFilters({ facets, search, change }: PlanFiltersProps) {
  const any = search.state ?? search.experiment ?? search.collocation;
  return (
    <div data-testid="plan-filters">
      <Facet
        title="State"
        facet="state"
        values={facets.states}
        {...{ search, change }}
        words={stateWords}
        about={stateTitle}
        draw={(value) => (
          <span className={`status status-${toneOf(value)}`}>{stateWords(value)}</span>
        )}
      />
      {facets.experiments.length > 1 && (
        <Facet
          title="Experiment"
          facet="experiment"
          values={facets.experiments}
          {...{ search, change }}
          words={(value) => value}
          about={(value) => value}
        />
      )}
      {facets.collocations.length > 1 && (
        <Facet
          title="Collocation"
          facet="collocation"
          values={facets.collocations}
          {...{ search, change }}
          words={collocationWord}
          about={collocationTitle}
        />
      )}
      {any && (
        <button
          type="button"
          className="row link"
          onClick={() => change(search.q === undefined ? {} : { q: search.q })}
        >
          Show all runs
        </button>
      )}
    </div>
  );
}

interface FacetProps {
  title: string;
  facet: PlanFacet;
  values: readonly Count[];
  search: PlanSearch;
  change: (next: PlanSearch) => void;
  words: (value: string) => string;
  // Explains a value.
  about: (value: string) => string;
  draw?: (value: string) => ReactNode;
}

function Facet({ title, facet, values, search, change, words, about, draw }: FacetProps) {
  const chosen = search[facet] ?? [];
  // A chosen value stays in the list when nothing has it any more.
  const gone = chosen.filter((value) => !values.some((one) => one.value === value));
  return (
    <section aria-label={title}>
      <h2 className="section-title">{title}</h2>
      {[...values, ...gone.map((value) => ({ value, count: 0 }))].map(({ value, count }) => (
        // biome-ignore lint/a11y/noLabelWithoutControl: Check is its control
        <label key={value} className="row item" data-testid={`filter-${facet}`} data-value={value}>
          <Check
            label={`${title}: ${words(value)}`}
            checked={chosen.includes(value)}
            change={(on) => change(withValue(search, { facet, value, on }))}
          />
          <span className="cut name" title={about(value)}>
            {draw?.(value) ?? words(value)}
          </span>
          <span className="count">{formatCount(count)}</span>
        </label>
      ))}
    </section>
  );
}
