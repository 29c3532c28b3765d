// A list of metrics by their groups, one of which is chosen.
import { useMetricNames } from "../api/runSearch";

export interface MetricSelectProps {
  // Runs whose metrics are listed.
  ids: readonly string[];
  metric: string;
  choose: (metric: string) => void;
  // The option for no metric (""); without it a metric is always chosen.
  none?: string;
}

export function MetricSelect({ ids, metric, choose, none }: MetricSelectProps) {
  const names = useMetricNames(ids);
  const groups = [...new Set(names.map(({ group }) => group))];
  const known = metric === "" || names.some(({ name }) => name === metric);
  return (
    <select
      className="select"
      aria-label="Metric"
      data-testid="metric"
      value={metric}
      onChange={(event) => choose(event.currentTarget.value)}
    >
      {none !== undefined && <option value="">{none}</option>}
      {!known && <option value={metric}>{metric}</option>}
      {groups.map((group) => (
        <optgroup key={group} label={group}>
          {names
            .filter((one) => one.group === group)
            .map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
        </optgroup>
      ))}
    </select>
  );
}
