// Takes a report away: as a file that opens without a server, or as the text that somebody wrote.
import { useState } from "react";
import { download, fileName } from "../../app/download";
import { late } from "../../app/late";
import { Popup } from "../../app/Popup";
import type { ExportReportProps } from "./ExportReport";

const ExportReport = late({
  what: "The export",
  load: async () => (await import("./ExportReport")).ExportReport,
});

type Exported = Omit<ExportReportProps, "done">;

export function ExportMenu(report: Exported) {
  const [making, make] = useState<Exported | null>(null);
  const [failed, fail] = useState<string | null>(null);
  const start = () => {
    fail(null);
    make(report);
  };
  const done = (why: string | null) => {
    make(null);
    fail(why);
  };
  const { name, text } = report;
  const markdown = () =>
    download(text, `${fileName(name, "report")}.md`, "text/markdown;charset=utf-8");
  const ways: readonly (readonly [string, () => void])[] =
    making === null
      ? [
          ["HTML, opens without a server", start],
          ["Markdown, as written", markdown],
        ]
      : [["Cancel", () => done(null)]];
  return (
    <>
      <Popup
        button={making === null ? "Export" : "Exporting…"}
        label="Export this report"
        className="button"
        testid="export-report"
      >
        {(close) => (
          <div className="form">
            {ways.map(([words, act]) => (
              <button
                key={words}
                type="button"
                className="row"
                onClick={() => {
                  close();
                  act();
                }}
              >
                {words}
              </button>
            ))}
          </div>
        )}
      </Popup>
      {failed !== null && <span role="alert">Not exported: {failed}</span>}
      {making !== null && <ExportReport {...making} done={done} />}
    </>
  );
}
