// The importance of params for a metric, with what speaks against the numbers.
import { useQuery } from "@tanstack/react-query";
import { download } from "../../app/download";
import { Loading, Notice } from "../../app/Notice";
import { Scrolling } from "../../app/Scrolling";
import { csvField } from "../../export/csv";
import { formatNumber, plural } from "../../format/units";
import { captionOf, type Sample } from "./data";
import { type Importance, importanceOf, kLeastRuns, kMostRuns } from "./importance";

export interface ImportancesProps {
  samples: readonly Sample[];
  at: { metric: string; unit: string };
}

const shortOf = (key: string) => key.replace(/^params\./, "");

function csvOf({ params }: Importance): string {
  const rows = params.map(({ key, importance, chance, correlation, values }) =>
    [shortOf(key), importance, chance, correlation, values].map(csvField).join(","),
  );
  return `${["param,importance,no_more_than_chance,spearman,values", ...rows].join("\r\n")}\r\n`;
}

export function Importances({ samples, at }: ImportancesProps) {
  const keys = [...new Set(samples.flatMap(({ run }) => Object.keys(run.values)))].filter((key) =>
    key.startsWith("params."),
  );
  const found = useQuery({
    queryKey: ["importance", at.metric, samples.map(({ run, value }) => [run.id, value])],
    queryFn: () => importanceOf(samples, keys),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (found.isPending) return <Loading what="the importance of params" />;
  const { data } = found;
  if (!data)
    return (
      <Notice>
        <p>Importance cannot be computed</p>
        <p>
          It needs at least {kLeastRuns} runs with different values of {at.metric} and a param that
          differs; there are {plural(samples.length, "run")} with a value.
        </p>
      </Notice>
    );
  const most = Math.max(...data.params.map(({ importance }) => importance), 1e-9);
  const caption = captionOf("importance", { metric: at.metric, stacked: false, cells: [] });
  return (
    <figure data-testid="summary">
      <div className="line-head summary-head">
        <h2>{at.metric}</h2>
        <span className="badge">{caption}</span>
        <button
          type="button"
          className="button"
          data-testid="summary-csv"
          onClick={() => download(csvOf(data), "importance.csv", "text/csv")}
        >
          CSV
        </button>
      </div>
      {data.warnings.map((text) => (
        <p key={text} className="quiet" data-testid="importance-warning">
          {text}
        </p>
      ))}
      <p className="quiet">
        {samples.length > kMostRuns ? `The first ${kMostRuns} runs. ` : ""}
        The forest explains {formatNumber(Math.max(0, data.explained) * 100, 2)} % of the variance
        in runs that it has not seen. Grey: no more than a shuffled copy of a param.
      </p>
      <Scrolling className="results" label="Importance of params">
        <table className="table" data-testid="importances">
          <thead>
            <tr>
              <th scope="col">param</th>
              <th scope="col" colSpan={2}>
                importance
              </th>
              <th scope="col">rank correlation</th>
              <th scope="col">values</th>
            </tr>
          </thead>
          <tbody>
            {data.params.map(({ key, importance, chance, correlation, values }) => (
              <tr key={key}>
                <th scope="row">{shortOf(key)}</th>
                <td>
                  <span
                    className={chance ? "importance chance" : "importance"}
                    style={{ width: `${Math.round((importance / most) * 240)}px` }}
                  />
                </td>
                <td>{formatNumber(importance, 3)}</td>
                <td>{correlation === null ? "–" : formatNumber(correlation, 2)}</td>
                <td>{values}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolling>
    </figure>
  );
}
