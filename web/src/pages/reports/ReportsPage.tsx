// `/reports`: texts with live charts that people wrote, the last saved first, and the way to a new one.
import { Link, useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { useSaved } from "../../api/saved";
import { Failing, Loading, Notice } from "../../app/Notice";
import { RunsLink, Shell } from "../../app/Shell";
import { useTitle } from "../../app/useTitle";
import { ToastPlace } from "../../board/Toast";
import { formatExactMoment, formatMoment } from "../../format/time";
import { plural } from "../../format/units";
import { PanelWithBasket } from "../basket/BasketPanel";
import { ExperimentTree } from "../runs/ExperimentTree";
import { reportState } from "./report";

const kFirst = `## Question

What is compared, and why.

Paste the address of a board, a run or a comparison alone in a paragraph: it is shown here, live.
`;

export function ReportsPage() {
  const { all, known, error, failed, save, remove } = useSaved("reports");
  useTitle("Reports");
  const newest = all.toSorted((a, b) => (BigInt(b.updated_ns) > BigInt(a.updated_ns) ? 1 : -1));
  return (
    <Shell
      crumbs={[<RunsLink key="runs" />, "Reports"]}
      panel={
        <PanelWithBasket>
          <ExperimentTree search={{}} elsewhere />
        </PanelWithBasket>
      }
      toolbar={
        <>
          <h1>{known ? plural(all.length, "report") : "Reports"}</h1>
          <span className="grow" />
          <NewReport
            taken={all.map(({ name }) => name)}
            create={(name) => save(name, reportState(kFirst, [], null), "0")}
          />
          <ToastPlace />
        </>
      }
      footer={failed === null ? null : <span role="alert">{failed}</span>}
    >
      {!known && error ? (
        <Failing error={error} retry={() => location.reload()} />
      ) : !known ? (
        <Loading what="reports" />
      ) : all.length === 0 ? (
        <Notice>
          <p>No reports yet.</p>
          <p>A report is a text in Markdown with live charts and comparisons. Name one above.</p>
        </Notice>
      ) : (
        <div className="content">
          <ul className="reports">
            {newest.map((report) => (
              <li key={report.name} className="saved" data-testid="report">
                <Link to="/reports/$name" params={{ name: report.name }} className="cut name">
                  {report.name}
                </Link>
                <span className="quiet" title={formatExactMoment(report.updated_ns)}>
                  {formatMoment(report.updated_ns, new Date())}
                </span>
                <button type="button" className="link" onClick={() => void remove(report)}>
                  Delete
                </button>
              </li>
            ))}
          </ul>
        </div>
      )}
    </Shell>
  );
}

interface NewReportProps {
  taken: readonly string[];
  create: (name: string) => Promise<boolean>;
}

function NewReport({ taken, create }: NewReportProps) {
  const [name, setName] = useState("");
  const navigate = useNavigate();
  const wanted = name.trim();
  const exists = taken.includes(wanted);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (wanted === "") return;
    if (exists || (await create(wanted)))
      await navigate({ to: "/reports/$name", params: { name: wanted }, search: { edit: true } });
  };
  return (
    <form className="finder" onSubmit={(event) => void submit(event)}>
      <input
        type="text"
        aria-label="Name of a new report"
        placeholder="New report"
        maxLength={250}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <button type="submit" className="button" disabled={wanted === ""}>
        {exists ? "Open" : "Create"}
      </button>
    </form>
  );
}
