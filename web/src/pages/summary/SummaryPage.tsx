// `/summary`: one value per run, over the matrix of configurations: bars with intervals, boxes, a parameter against the
// metric, parallel coordinates. The figures that papers print.
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { type ReactNode, useId, useState } from "react";
import { getJson, sendJson } from "../../api/client";
import { type FacetKey, type FoundRun, useMetricNames } from "../../api/runSearch";
import { finite, type RunSummaries, type Statistic } from "../../api/types";
import { Choice, Switch } from "../../app/fields";
import { Failing, Loading, Notice } from "../../app/Notice";
import { RunsLink, Shell } from "../../app/Shell";
import { useTitle } from "../../app/useTitle";
import { plural } from "../../format/units";
import { GroupLinks } from "../compare/GroupLinks";
import type { CompareSearch } from "../compare/search";
import { kKinds, type SummaryKind, samplesOf } from "./data";
import { SummaryFigure } from "./SummaryFigure";
import { type SummaryLog, type SummarySearch, summarySearch } from "./search";

const route = getRouteApi("/summary");
const kMaxRuns = 1000;
const kPlain = [
  "collocation",
  "workload",
  "experiment",
  "model",
  "device",
  "host",
  "status",
  "run",
];
const kMaxColumns = 100;

interface Found {
  runs: FoundRun[];
  total: number;
  facets?: { params?: FacetKey[]; tags?: FacetKey[] };
}

// As elsewhere a run goes by its id, the begin of one, its name, or "@1" for the newest.
async function idOf(run: string, signal: AbortSignal): Promise<string> {
  if (/^[0-9a-f]{32}$/.test(run)) return run;
  return (await getJson<{ id: string }>(`/runs/${encodeURIComponent(run)}`, {}, signal)).id;
}

// All runs that the address names: whole experiments and workloads, and single runs.
async function findRuns(search: SummarySearch, signal: AbortSignal): Promise<Found> {
  const ask = (body: object) => sendJson<Found>("POST", "/runs/search", body, signal);
  const named = search.run && (await Promise.all(search.run.map((run) => idOf(run, signal))));
  const parts = [
    search.experiment && { experiments: search.experiment },
    search.workload && { workloads: search.workload },
    named && { runs: named },
  ].filter((part) => part !== undefined);
  const first = await Promise.all(
    parts.map((part) => ask({ ...part, facets: ["params", "tags"], limit: 1 })),
  );
  const keysOf = (kind: "params" | "tags") => [
    ...new Set(first.flatMap(({ facets }) => facets?.[kind]?.map(({ key }) => key) ?? [])),
  ];
  const params = keysOf("params");
  const tags = keysOf("tags").filter((key) => !/^(mlflow|corral)\./.test(key));
  const columns = [
    "collocation",
    "model",
    "device",
    ...params.map((key) => `params.${key}`),
    ...tags.map((key) => `tags.${key}`),
  ];
  const found = await Promise.all(
    parts.map((part) => ask({ ...part, columns: columns.slice(0, kMaxColumns), limit: kMaxRuns })),
  );
  const runs = new Map(found.flatMap((one) => one.runs.map((run) => [run.id, run])));
  const key = (name: string): FacetKey => ({ key: name, values: [], distinct: 0 });
  return {
    runs: [...runs.values()],
    total: found.reduce((sum, one) => sum + one.total, 0),
    facets: { params: params.map(key), tags: tags.map(key) },
  };
}

export function SummaryPage() {
  const search = route.useSearch();
  const navigate = useNavigate({ from: "/summary" });
  const set = (part: { [K in keyof SummarySearch]?: SummarySearch[K] | undefined }) =>
    void navigate({ search: (old) => summarySearch({ ...old, ...part }) });
  const chosen = [search.run, search.workload, search.experiment];
  const found = useQuery({
    queryKey: ["runs", "summary", chosen],
    queryFn: ({ signal }) => findRuns(search, signal),
    enabled: chosen.some((ids) => ids !== undefined),
  });
  const runs = found.data?.runs ?? [];
  const metric = search.metric ?? runs.find((run) => run.loss)?.loss?.metric ?? "loss";
  const of = search.of ?? "last";
  const others = (search.kind ?? "bars") === "scatter" ? [search.size, search.colour] : [];
  const asked = [...new Set([metric, ...others.filter((one) => one !== undefined)])];
  const values = useQuery({
    queryKey: ["runs", "summaries", runs.map((run) => run.id), asked, of],
    queryFn: ({ signal }) =>
      sendJson<RunSummaries>(
        "POST",
        "/summaries",
        { runs: runs.map((run) => run.id), metrics: asked, of: [of, "mean"] },
        signal,
      ),
    enabled: runs.length > 0,
  });
  useTitle(metric);
  return (
    <Shell
      crumbs={[<RunsLink key="runs" />, "Summary"]}
      panel={<Panel search={search} set={set} found={found.data} metric={metric} />}
      toolbar={
        <>
          <h1 className="unseen">Summary of {metric}</h1>
          <Kinds kind={search.kind ?? "bars"} set={set} />
          <span className="grow" />
          <GroupLinks ids={runs.map((run) => run.id)} asked={askedOf(search, metric)} />
          <span className="quiet">{plural(runs.length, "run")}</span>
        </>
      }
      footer={
        found.data && found.data.total > kMaxRuns
          ? `The first ${kMaxRuns} of ${plural(found.data.total, "run")}.`
          : null
      }
    >
      <div className="content">
        <Body>{bodyOf({ search, set, found, values, metric, of, runs })}</Body>
      </div>
    </Shell>
  );
}

// The same runs as groups: of what stands side by side, else of what stands along x.
function askedOf(search: SummarySearch, metric: string): CompareSearch {
  const along = search.group ?? search.by ?? "workload";
  const by = /^(params|tags)\.|^(workload|experiment|host)$/.test(along) ? along : "name";
  return { by, metric, of: search.of ?? "last" };
}

const Body = ({ children }: { children: ReactNode }) => <div className="board">{children}</div>;

function bodyOf(at: {
  search: SummarySearch;
  set: SetProps["set"];
  found: ReturnType<typeof useQuery<Found>>;
  values: ReturnType<typeof useQuery<RunSummaries>>;
  metric: string;
  of: Statistic;
  runs: readonly FoundRun[];
}): ReactNode {
  const { search, set, found, values, metric, of, runs } = at;
  const error = found.error ?? values.error;
  if (error) return <Failing error={error} retry={() => void found.refetch()} />;
  if (!found.isEnabled)
    return (
      <Notice>
        <p>No run is selected.</p>
        <p>
          Select runs in the <Link to="/">list</Link>, or open an experiment.
        </p>
      </Notice>
    );
  if (found.isPending || (runs.length > 0 && values.isPending)) return <Loading what="the runs" />;
  const { told, unit, byRun } = valuesOf(values.data, metric, of);
  const [size, shade] = [search.size, search.colour].map((name) =>
    name === undefined || search.kind !== "scatter"
      ? null
      : { name, ...valuesOf(values.data, name, of) },
  );
  const valueIn = (one: typeof size, run: string) =>
    finite(one?.byRun.get(run)?.value) ?? undefined;
  const samples = samplesOf(runs, byRun).map((sample) => ({
    ...sample,
    size: valueIn(size, sample.run.id),
    shade: valueIn(shade, sample.run.id),
  }));
  if (samples.length === 0)
    return (
      <Notice>
        <p>No selected run measured {metric}.</p>
        <p>Choose another metric on the left.</p>
      </Notice>
    );
  const named = (one: typeof size) => (one ? { name: one.name, unit: one.unit } : null);
  const what = { metric, of: told, unit, runs, size: named(size), shade: named(shade) };
  return <SummaryFigure samples={samples} search={search} at={what} set={set} />;
}

// A metric's value of each run. A counter has only a mean: its rate.
function valuesOf(data: RunSummaries | undefined, metric: string, of: Statistic) {
  const known = (data?.summaries ?? []).flatMap(({ run, values: all }) => {
    const value = all[metric];
    return value ? [{ run, value }] : [];
  });
  const told = known.some(({ value }) => value.rate) ? ("mean" as const) : of;
  const byRun = new Map(
    known.map(({ run, value }) => [run, { value: value[told] ?? null, shared: value.shared }]),
  );
  return { told, unit: known[0]?.value.unit ?? "", byRun };
}

const kKindWords: Record<SummaryKind, string> = {
  bars: "bars",
  box: "boxes",
  scatter: "scatter",
  parallel: "parallel",
  table: "table",
  importance: "importance",
};

interface SetProps {
  set: (part: { [K in keyof SummarySearch]?: SummarySearch[K] | undefined }) => void;
}

function Kinds({ kind, set }: SetProps & { kind: SummaryKind }) {
  return (
    <fieldset className="segments" aria-label="Kind">
      {kKinds.map((one) => (
        <button
          key={one}
          type="button"
          aria-pressed={one === kind}
          data-testid={`kind-${one}`}
          onClick={() => set({ kind: one })}
        >
          {kKindWords[one]}
        </button>
      ))}
    </fieldset>
  );
}

interface PanelProps extends SetProps {
  search: SummarySearch;
  found: Found | undefined;
  metric: string;
}

function Panel({ search, set, found, metric }: PanelProps) {
  const keys = [
    ...kPlain,
    ...(found?.facets?.params ?? []).map(({ key }) => `params.${key}`),
    ...(found?.facets?.tags ?? []).map(({ key }) => `tags.${key}`),
  ];
  const words = (key: string) => key.replace(/^(params|tags)\./, "");
  const kind = search.kind ?? "bars";
  const names = useMetricNames((found?.runs ?? []).slice(0, kAskedRuns).map((run) => run.id));
  const options = keys.map((key): [string, string] => [key, words(key)]);
  return (
    <section aria-label="Summarised metric" className="summary-panel">
      <h2 className="section-title">Summary</h2>
      <div className="form">
        <MetricChoice
          label="Metric"
          names={names}
          metric={metric}
          set={(name) => name !== "" && set({ metric: name })}
        />
        <Choice
          label="Each run's"
          value={search.of ?? "last"}
          options={[
            ["last", "last value"],
            ["mean", "mean"],
            ["min", "min"],
            ["max", "max"],
          ]}
          change={(of) => set({ of })}
        />
        {kind !== "importance" && kind !== "parallel" && (
          <Choice
            label={kind === "table" ? "Rows" : "Along x"}
            value={search.by ?? "workload"}
            options={options}
            change={(by) => set({ by, base: undefined })}
          />
        )}
        {kind !== "importance" && kind !== "parallel" && (
          <Choice
            label={kind === "table" ? "Columns" : "Side by side"}
            value={search.group ?? ""}
            options={[["", "nothing"], ...options]}
            change={(group) => set({ group: group === "" ? undefined : group, base: undefined })}
          />
        )}
        {kind === "scatter" &&
          kPointKeys.map(([key, label]) => (
            <MetricChoice
              key={key}
              label={label}
              names={names}
              metric={search[key] ?? ""}
              set={(name) => set({ [key]: name === "" ? undefined : name })}
            />
          ))}
        {kind === "bars" && (
          <Switch
            label="stacked"
            on={search.stacked ?? false}
            set={(on) => set({ stacked: on || undefined })}
          />
        )}
        <Logs search={search} set={set} />
      </div>
    </section>
  );
}

// So many runs say which metrics there are.
const kAskedRuns = 8;

const kPointKeys = [
  ["size", "Size by"],
  ["colour", "Colour by"],
] as const;

interface MetricChoiceProps {
  label: string;
  names: ReturnType<typeof useMetricNames>;
  // "": none.
  metric: string;
  set: (name: string) => void;
}

// A list of metrics that typing searches; what is none of them changes nothing and says so.
function MetricChoice({ label, names, metric, set }: MetricChoiceProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const id = useId();
  const known = (name: string) => name === "" || names.some((one) => one.name === name);
  const wrong = typed !== null && !known(typed);
  return (
    <>
      <label className="form-line">
        <span>{label}</span>
        <input
          type="search"
          list={id}
          placeholder="nothing"
          spellCheck={false}
          aria-invalid={wrong}
          data-testid={`summary-${label.split(" ")[0]?.toLowerCase()}`}
          value={typed ?? metric}
          onFocus={(event) => event.currentTarget.select()}
          onChange={(event) => {
            const text = event.currentTarget.value;
            if (text !== "" && names.some(({ name }) => name === text)) set(text);
            setTyped(text);
          }}
          onBlur={() => {
            if (typed === "") set("");
            setTyped(null);
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter" && typed === "") set("");
          }}
        />
      </label>
      <datalist id={id}>
        {names.map(({ name, group }) => (
          <option key={name} value={name} label={group === "" ? "software" : group} />
        ))}
      </datalist>
      {wrong && (
        <p className="quiet" aria-live="polite">
          {names.some(({ name }) => name.includes(typed)) ? "Choose one of the list" : "No matches"}
        </p>
      )}
    </>
  );
}

const kLogsOf: Record<SummaryKind, readonly SummaryLog[]> = {
  bars: [],
  box: ["y"],
  scatter: ["x", "y"],
  parallel: [],
  table: [],
  importance: [],
};

// Bars are as long as their values, so their axis has no logarithm.
function Logs({ search, set }: SetProps & { search: SummarySearch }) {
  const now = search.log ?? [];
  return kLogsOf[search.kind ?? "bars"].map((axis) => (
    <Switch
      key={axis}
      label={`logarithmic ${axis}`}
      testid={`log-${axis}`}
      on={now.includes(axis)}
      set={(on) => set({ log: on ? [...now, axis] : now.filter((one) => one !== axis) })}
    />
  ));
}
