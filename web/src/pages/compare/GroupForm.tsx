// The question of a comparison or a history: groups, what divides them, the value and the margin.
import { useId } from "react";
import { kStatistics } from "../../api/compare";
import { useFacets, useMetricNames } from "../../api/runSearch";
import { Choice, TextField } from "../../app/fields";
import { plural } from "../../format/units";
import { useBasket } from "../../state/basket";
import {
  groupOfRuns,
  type HistorySearch,
  isMetric,
  kDuration,
  kStepTime,
  runsOfGroup,
  searchOfRuns,
} from "./search";

export type HistoryChoice = { [K in keyof HistorySearch]?: HistorySearch[K] | undefined };

export interface GroupFormProps {
  search: HistorySearch;
  set: (part: HistoryChoice) => void;
  // Some runs of the answer, whose metrics are the choice.
  sample: readonly string[];
  // Without a baseline, and with a choice of what is better.
  history?: boolean;
}

const kFields = ["name", "workload", "experiment", "host", "commit"];

export function GroupForm({ search, set, sample, history = false }: GroupFormProps) {
  const [fields, values] = [useId(), useId()];
  const facets = useFacets({}, true).data;
  const names = useMetricNames(sample).map(({ name }) => name);
  const keys = [
    ...kFields,
    ...(facets?.params ?? []).map(({ key }) => `params.${key}`),
    ...(facets?.tags ?? []).map(({ key }) => `tags.${key}`),
  ];
  const measured = isMetric(search.metric);
  return (
    <section aria-label="Question" className="summary-panel">
      <h2 className="section-title">Groups</h2>
      <Groups search={search} set={set} history={history} />
      <h2 className="section-title">Question</h2>
      <div className="form">
        <Field name="By">
          <TextField
            label="By"
            value={search.by ?? ""}
            placeholder="params.batch"
            list={fields}
            testid="by"
            change={(by) => set({ by })}
          />
        </Field>
        {search.target === undefined && (
          <Field name="Value">
            <TextField
              label="Value"
              value={search.metric ?? ""}
              placeholder="time per step"
              list={values}
              testid="value"
              change={(metric) => set({ metric })}
            />
          </Field>
        )}
        {!history && !measured && (
          <Field name="Time to">
            <TextField
              label="Target"
              value={search.target ?? ""}
              placeholder="val_acc >= 0.9"
              testid="target"
              change={(target) => set({ target })}
            />
          </Field>
        )}
        {measured && (
          <Choice
            label="Each run's"
            value={search.of ?? "mean"}
            options={kStatistics.map((of) => [of, of === "last" ? "last value" : of] as const)}
            change={(of) => set({ of })}
          />
        )}
        <Field name="Margin">
          <TextField
            label="Margin"
            value={search.margin ?? ""}
            placeholder="planned, else 2%"
            testid="margin"
            change={(margin) => set({ margin: margin === "" ? undefined : margin })}
          />
        </Field>
        {history &&
          (["at-least", "at-most"] as const).map((limit) => (
            <Field key={limit} name={limit === "at-least" ? "At least" : "At most"}>
              <TextField
                label={limit === "at-least" ? "At least" : "At most"}
                value={search[limit] ?? ""}
                testid={limit}
                change={(written) => set({ [limit]: written })}
              />
            </Field>
          ))}
        {history && measured && (
          <Choice
            label="Better is"
            value={search.better ?? ""}
            options={[
              ["", "not said"],
              ["less", "less"],
              ["greater", "greater"],
            ]}
            change={(better) => set({ better: better === "" ? undefined : better })}
          />
        )}
      </div>
      <Suggestions id={fields} of={keys} />
      <Suggestions id={values} of={[kStepTime, kDuration, ...names]} />
    </section>
  );
}

function Field({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div className="form-line">
      <span>{name}</span>
      {children}
    </div>
  );
}

function Suggestions({ id, of }: { id: string; of: readonly string[] }) {
  return (
    <datalist id={id}>
      {[...new Set(of)].map((one) => (
        <option key={one}>{one}</option>
      ))}
    </datalist>
  );
}

function Groups({ search, set, history }: Required<Omit<GroupFormProps, "sample">>) {
  const groups = search.group ?? [];
  const put = (next: readonly string[]) => set({ group: next.filter((one) => one !== "") });
  const basket = useBasket((state) => state.basket);
  const selected = Object.keys(basket.runs);
  const selection = searchOfRuns(selected) && groupOfRuns(selected);
  return (
    <div className="form groups">
      {groups.map((group, i) => {
        const runs = runsOfGroup(group);
        const name = !history && i === 0 ? "Baseline" : `Group ${i + 1}`;
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: a group is its place
          <div key={i} className="group">
            {runs ? (
              <span className="cut">{plural(runs.length, "selected run")}</span>
            ) : (
              <TextField
                label={name}
                value={group}
                testid="group"
                change={(next) => put(groups.with(i, next))}
              />
            )}
            <button
              type="button"
              className="icon-button small"
              aria-label={`Remove ${name}`}
              title={`Remove ${name}`}
              onClick={() => put(groups.toSpliced(i, 1))}
            >
              ×
            </button>
          </div>
        );
      })}
      <TextField
        key={groups.length}
        label="Another group"
        value=""
        placeholder="name, workload, run or filter"
        testid="group-more"
        change={(next) => put([...groups, next])}
      />
      {selection !== undefined && !groups.includes(selection) && (
        <button
          type="button"
          className="link"
          data-testid="group-selection"
          onClick={() => put([...groups, selection])}
        >
          Add {plural(selected.length, "selected run")}
        </button>
      )}
    </div>
  );
}
