// `/reports/NAME`: a report as it reads, and its text beside it while somebody writes. Saving keeps the text before.
import { getRouteApi, Link, useBlocker } from "@tanstack/react-router";
import { useDeferredValue, useMemo, useRef, useState } from "react";
import { sendJson } from "../../api/client";
import { useStoredView } from "../../api/queries";
import { type Saved, useSaved } from "../../api/saved";
import { Failing, Loading, Notice } from "../../app/Notice";
import { Popup } from "../../app/Popup";
import { type Crumbs, RunsLink, Shell } from "../../app/Shell";
import { useTitle } from "../../app/useTitle";
import { ToastPlace } from "../../board/Toast";
import { formatExactMoment, formatMoment } from "../../format/time";
import { PanelWithBasket } from "../basket/BasketPanel";
import { ExperimentTree } from "../runs/ExperimentTree";
import { ExportMenu } from "./ExportMenu";
import { LiveBlock } from "./LiveBlock";
import { blocksOf, parseReport, type Report, reportState, type Version } from "./report";

const route = getRouteApi("/reports/$name");

export function ReportPage() {
  const { name } = route.useParams();
  const saved = useSaved("reports");
  useTitle(name);
  // One that somebody deletes stays as long as it is open.
  const kept = useRef<Saved>(undefined);
  const found = saved.all.find((one) => one.name === name);
  if (found !== undefined) kept.current = found;
  const report = found ?? (kept.current?.name === name ? kept.current : undefined);
  if (report !== undefined) return <Loaded key={name} report={report} saved={saved} />;
  return (
    <Shell
      crumbs={crumbsOf(name)}
      panel={<Panel />}
      toolbar={<h1 className="cut">{name}</h1>}
      footer={null}
    >
      {saved.error ? (
        <Failing error={saved.error} retry={() => location.reload()} />
      ) : saved.known ? (
        <Notice>
          <p>No report with this name</p>
          <p>
            <Link to="/reports">The list of reports</Link> shows those that are there.
          </p>
        </Notice>
      ) : (
        <Loading what="the report" />
      )}
    </Shell>
  );
}

const crumbsOf = (name: string): Crumbs => [
  <RunsLink key="runs" />,
  <Link key="reports" to="/reports" activeOptions={{ exact: true }}>
    Reports
  </Link>,
  name,
];

const Panel = () => (
  <PanelWithBasket>
    <ExperimentTree search={{}} elsewhere />
  </PanelWithBasket>
);

// The text that is being written, and how it is saved over the version that was read.
function useDraft(report: Saved, save: ReturnType<typeof useSaved>["save"]) {
  const known = useMemo(() => parseReport(report.state), [report.state]);
  const [draft, setDraft] = useState<{ text: string; over: Saved | null } | null>(null);
  const base = draft?.over ?? report;
  const text = draft?.text ?? known.text;
  const changed = draft !== null && draft.text !== parseReport(base.state).text;
  // Between reading and writing the same report nothing is lost.
  useBlocker({
    shouldBlockFn: ({ current, next }) =>
      changed && current.pathname !== next.pathname && !confirm("Leave without saving the report?"),
    enableBeforeUnload: () => changed,
  });
  const saving = useRef(false);
  const store = async () => {
    if (draft === null || !changed || saving.current) return;
    saving.current = true;
    await put({ text: draft.text, over: base }).finally(() => {
      saving.current = false;
    });
  };
  const put = async ({ text: sent, over }: { text: string; over: Saved }) => {
    const before = parseReport(over.state);
    const view = await sendJson<{ id: string }>("POST", "/views", { state: before.text || " " });
    const version = { view: view.id, saved_ns: over.updated_ns };
    const state = reportState(sent, before.versions, version);
    if (!(await save(report.name, state, over.updated_ns))) return;
    // Somebody may have typed on meanwhile: over what was saved, which comes with the next answer.
    setDraft((now) => (now === null || now.text === sent ? null : { ...now, over: null }));
  };
  return {
    known,
    text,
    changed,
    // Somebody else has saved another text meanwhile.
    outdated: draft !== null && base.updated_ns !== report.updated_ns,
    write: (now: string) => setDraft((old) => ({ text: now, over: old?.over ?? report })),
    takeOver: () => setDraft((old) => old && { ...old, over: report }),
    discard: () => setDraft(null),
    store,
  };
}

// The text that is shown.
function versionWords(
  { updated_ns }: Saved,
  { known, changed }: Pick<ReturnType<typeof useDraft>, "known" | "changed">,
  version: string | undefined,
): string {
  const saved =
    version === undefined ? undefined : known.versions.find(({ view }) => view === version);
  const at = formatExactMoment(saved?.saved_ns ?? updated_ns);
  if (saved !== undefined) return `an earlier version, saved ${at}`;
  if (version !== undefined) return "an earlier version";
  return changed ? `with changes since the version saved ${at}` : `the version saved ${at}`;
}

interface LoadedProps {
  report: Saved;
  saved: ReturnType<typeof useSaved>;
}

function Loaded({ report, saved }: LoadedProps) {
  const { edit = false, version } = route.useSearch();
  const navigate = route.useNavigate();
  const draft = useDraft(report, saved.save);
  const stored = useStoredView(version);
  const old = stored.data?.state;
  const shown = useDeferredValue(version === undefined ? draft.text : (old ?? ""));
  const go = (to: { edit?: boolean; version?: string }) => void navigate({ search: () => to });
  const store = () => void draft.store().catch(() => {});
  return (
    <Shell
      crumbs={crumbsOf(report.name)}
      panel={<Panel />}
      toolbar={
        <>
          <h1 className="cut">{report.name}</h1>
          <span className="quiet wide-only" title={formatExactMoment(report.updated_ns)}>
            saved {formatMoment(report.updated_ns, new Date())}
          </span>
          <span className="grow" />
          {draft.changed && (
            <button type="button" className="button" onClick={store} data-testid="save-report">
              Save
            </button>
          )}
          <button type="button" className="button" onClick={() => go(edit ? {} : { edit: true })}>
            {edit ? "Read" : "Edit"}
          </button>
          <Versions versions={draft.known.versions} open={(view) => go({ version: view })} />
          {(version === undefined || old !== undefined) && (
            <ExportMenu
              name={report.name}
              text={version === undefined ? draft.text : (old ?? "")}
              version={versionWords(report, draft, version)}
            />
          )}
          <button type="button" className="button" onClick={() => print()}>
            Print
          </button>
          <ToastPlace />
        </>
      }
      footer={saved.failed === null ? null : <span role="alert">{saved.failed}</span>}
    >
      <div className={edit && version === undefined ? "report editing" : "report"}>
        {edit && version === undefined && <Editor draft={draft} store={store} />}
        <div className="content">
          {version !== undefined && (
            <OldVersion
              text={old}
              error={stored.error}
              back={() => go({})}
              restore={(text) => {
                if (draft.changed && !confirm("Replace what was written and not saved?")) return;
                draft.write(text);
                go({ edit: true });
              }}
            />
          )}
          <ReportText text={shown} />
        </div>
      </div>
    </Shell>
  );
}

function Editor({ draft, store }: { draft: ReturnType<typeof useDraft>; store: () => void }) {
  return (
    <div className="report-editor">
      {draft.outdated && (
        <p role="alert" className="quiet">
          Somebody else has saved this report since you began.{" "}
          <button type="button" className="link" onClick={draft.discard}>
            Show their text
          </button>{" "}
          <button type="button" className="link" onClick={draft.takeOver}>
            Keep mine
          </button>
        </p>
      )}
      <textarea
        className="mono"
        aria-label="Text of the report, Markdown"
        spellCheck
        value={draft.text}
        onChange={(event) => draft.write(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "s" || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          store();
        }}
      />
    </div>
  );
}

function Versions({
  versions,
  open,
}: {
  versions: readonly Version[];
  open: (view: string) => void;
}) {
  if (versions.length === 0) return null;
  return (
    <Popup button="Versions" label="Earlier versions" className="button" testid="versions">
      {(close) => (
        <div className="form">
          {versions.map(({ view, saved_ns }) => (
            <button
              key={`${view} ${saved_ns}`}
              type="button"
              className="row"
              title={formatExactMoment(saved_ns)}
              onClick={() => {
                close();
                open(view);
              }}
            >
              {formatMoment(saved_ns, new Date())}
            </button>
          ))}
        </div>
      )}
    </Popup>
  );
}

interface OldVersionProps {
  text: string | undefined;
  error: Error | null;
  back: () => void;
  restore: (text: string) => void;
}

function OldVersion({ text, error, back, restore }: OldVersionProps) {
  const coming =
    error === null ? "Loading an earlier version" : `This version cannot be read: ${error.message}`;
  return (
    <p className="banner" role="status">
      {text === undefined ? coming : "An earlier version."}{" "}
      {text !== undefined && (
        <button type="button" className="link" onClick={() => restore(text)}>
          Edit from here
        </button>
      )}{" "}
      <button type="button" className="link" onClick={back}>
        Back to the newest
      </button>
    </p>
  );
}

// Live parts stay as they are while the text around them changes.
function ReportText({ text }: Pick<Report, "text">) {
  const blocks = useMemo(() => blocksOf(text, location.origin), [text]);
  const seen = new Map<string, number>();
  return (
    <article className="report-text">
      {blocks.map((block, i) => {
        if (block.kind === "text") {
          return (
            // biome-ignore lint/security/noDangerouslySetInnerHtml: made by safeMarkdown, which runs nothing
            // biome-ignore lint/suspicious/noArrayIndexKey: a paragraph is its place
            <div key={i} className="doc" dangerouslySetInnerHTML={{ __html: block.html }} />
          );
        }
        const count = seen.get(block.address) ?? 0;
        seen.set(block.address, count + 1);
        return <LiveBlock key={`${block.address} ${count}`} block={block} />;
      })}
    </article>
  );
}
