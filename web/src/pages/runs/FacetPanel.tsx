// Facets under the tree: properties in which the found runs differ, with counts. Values of one facet are alternatives.
import { useNavigate } from "@tanstack/react-router";
import { memo, useState } from "react";
import type { Facets, FacetValue } from "../../api/runSearch";
import { Check } from "../../app/Check";
import { Chevron } from "../../app/icons";
import { collocationTitle, collocationWord } from "../../format/collocation";
import { statusTitle } from "../../format/outcome";
import { formatCount, plural } from "../../format/units";
import { facetsIn, withFacet, withoutFacets } from "./filters";
import { type Facet, kFacets, type RunsSearch } from "./search";

const kTitles: Record<(typeof kFacets)[number], string> = {
  status: "Status",
  collocation: "Collocation",
  device: "Device",
  model: "Model",
  host: "Host",
  creator: "Recorded by",
};
const kOpenAtFirst = new Set<Facet>(["status", "collocation"]);
const kListed = 8;
// Tags that programs set, not people.
const kSystem = /^(mlflow|corral)\./;

interface Group {
  facet: Facet;
  title: string;
  values: readonly FacetValue[];
  // Number of distinct values; `values` holds the most frequent.
  distinct: number;
}

export interface FacetPanelProps {
  search: RunsSearch;
  facets: Facets | undefined;
  error: Error | null;
}

export const FacetPanel = memo(function FacetPanel({
  search,
  facets: data,
  error,
}: FacetPanelProps) {
  const navigate = useNavigate({ from: "/" });
  const [system, setSystem] = useState(false);
  const active = facetsIn(search);
  const change = (next: RunsSearch) => void navigate({ search: () => next });
  let folded = 0;
  const sections: { title: string; groups: Group[] }[] = [
    { title: "Filter", groups: [] },
    { title: "Parameters", groups: [] },
    { title: "Tags", groups: [] },
  ];
  for (const facet of kFacets) {
    const values = inOrder(facet, data?.[facet] ?? []);
    // A facet without any value is not shown.
    const says = values.some(({ value }) => value !== "") || search[facet] !== undefined;
    if (says)
      sections[0]?.groups.push({ facet, title: kTitles[facet], values, distinct: values.length });
  }
  for (const [i, entity] of (["params", "tags"] as const).entries()) {
    for (const { key, values, distinct } of data?.[entity] ?? []) {
      const facet = `${entity}.${key}` as const;
      if (kSystem.test(key) && search[facet] === undefined) folded++;
      if (!kSystem.test(key) || system || search[facet] !== undefined)
        sections[i + 1]?.groups.push({ facet, title: key, values, distinct });
    }
  }
  return (
    <div className="facets" data-testid="facets">
      {sections.map(({ title, groups }, i) =>
        groups.length > 0 || i === 0 ? (
          <section key={title} aria-label={title}>
            <h2 className="section-title">
              {title}
              {i === 0 && active.length > 0 && (
                <button
                  type="button"
                  className="link"
                  data-testid="facets-clear"
                  onClick={() => change(withoutFacets(search, active))}
                >
                  clear all
                </button>
              )}
            </h2>
            {i === 0 && error && <p className="row quiet">Unknown: the server did not answer.</p>}
            {groups.map((group) => (
              <FacetGroup key={group.facet} group={group} search={search} change={change} />
            ))}
          </section>
        ) : null,
      )}
      {folded > 0 && (
        <button
          type="button"
          className="row link"
          aria-expanded={system}
          onClick={() => setSystem(!system)}
        >
          {system ? "Collapse" : "Show"} {plural(folded, "key")} set by tools
        </button>
      )}
    </div>
  );
});

// A value in words, and its meaning.
function wordsOf(facet: Facet, value: string): { word: string; title: string } {
  if (facet === "collocation")
    return { word: collocationWord(value), title: collocationTitle(value) };
  if (value === "") return { word: "not set", title: "" };
  return { word: value, title: facet === "status" ? statusTitle(value) : value };
}

const kStatuses = ["running", "finished", "failed", "stopped", "unknown"];

// The most frequent first, as they come; statuses stand where one expects them.
function inOrder(facet: Facet, values: readonly FacetValue[]): readonly FacetValue[] {
  if (facet !== "status") return values;
  const place = ({ value }: FacetValue) => (kStatuses.indexOf(value) + 9) % 9;
  return [...values].sort((a, b) => place(a) - place(b));
}

interface FacetGroupProps {
  group: Group;
  search: RunsSearch;
  change: (next: RunsSearch) => void;
}

function FacetGroup({ group, search, change }: FacetGroupProps) {
  const { facet, title } = group;
  const chosen = search[facet] ?? [];
  const [choice, setChoice] = useState<boolean | null>(null);
  const [all, setAll] = useState(false);
  const open = choice ?? (chosen.length > 0 || kOpenAtFirst.has(facet));
  // A chosen value stays in the list when nothing has it any more.
  const gone = chosen.filter((value) => !group.values.some((one) => one.value === value));
  const values = [...group.values, ...gone.map((value) => ({ value, count: 0 }))];
  const listed = all
    ? values
    : values.filter(({ value }, i) => i < kListed || chosen.includes(value));
  const beyond = group.distinct - group.values.length;
  return (
    <div data-testid="facet" data-facet={facet}>
      <div className="row facet-head">
        <button
          type="button"
          className="cut"
          aria-expanded={open}
          onClick={() => setChoice(!open)}
          title={title}
        >
          <Chevron open={open} />
          {title}
        </button>
        {chosen.length > 0 ? (
          <button
            type="button"
            className="link"
            aria-label={`Clear ${title}`}
            onClick={() => change(withoutFacets(search, [facet]))}
          >
            clear
          </button>
        ) : (
          !open && <span className="count">{formatCount(group.distinct)}</span>
        )}
      </div>
      {open &&
        listed.map(({ value, count }) => (
          <FacetRow
            key={value}
            {...{ facet, title, value, count }}
            checked={chosen.includes(value)}
            change={(on) => change(withFacet(search, { facet, value, on }))}
          />
        ))}
      {open && listed.length < values.length && (
        <button type="button" className="row indent link" onClick={() => setAll(true)}>
          {values.length - listed.length} more
        </button>
      )}
      {open && all && beyond > 0 && (
        <p className="row indent quiet">
          and {formatCount(beyond)} rarer; search for them as {title}=…
        </p>
      )}
    </div>
  );
}

interface FacetRowProps extends FacetValue {
  facet: Facet;
  title: string;
  checked: boolean;
  change: (on: boolean) => void;
}

function FacetRow({ facet, title, value, count, checked, change }: FacetRowProps) {
  const { word, title: meaning } = wordsOf(facet, value);
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: Check is its control
    <label className="row item indent" data-testid="facet-value" data-value={value}>
      <Check label={`${title}: ${word}`} checked={checked} change={change} />
      <span className={value === "" ? "cut quiet" : "cut name"} title={meaning}>
        {word}
      </span>
      <span className="count">{formatCount(count)}</span>
    </label>
  );
}
