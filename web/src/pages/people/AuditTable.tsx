// The audit, the newest entry first.
import { type AuditEntry, useAudit } from "../../api/people";
import { Failing, Loading } from "../../app/Notice";
import { type Column, Rows } from "../../app/Rows";
import { formatExactMoment, formatMoment } from "../../format/time";

const kApi = "/api/corral/v1";

const kColumns: Column<AuditEntry>[] = [
  {
    name: "When",
    cell: ({ time_ns }) => (
      <span title={formatExactMoment(time_ns)}>{formatMoment(time_ns, new Date())}</span>
    ),
  },
  {
    name: "User",
    left: true,
    cell: ({ user, address }) => user ?? (address === "unix" ? "the server's owner" : "–"),
  },
  {
    name: "From",
    left: true,
    cell: ({ address }) => (address === "unix" ? "this machine" : (address ?? "–")),
  },
  {
    name: "Request",
    left: true,
    cell: ({ request }) => (
      <code className="people-request cut" title={request}>
        {request.replace(kApi, "")}
      </code>
    ),
  },
  {
    name: "Detail",
    left: true,
    cell: ({ detail }) => (
      <span className="people-detail cut quiet" title={detail ?? ""}>
        {detail}
      </span>
    ),
  },
  {
    name: "Answer",
    cell: ({ status }) => (
      <span className={status !== null && status < 400 ? "" : "people-failed"}>
        {status ?? "cut off"}
      </span>
    ),
  },
];

export function AuditTable() {
  const audit = useAudit();
  if (audit.data === undefined && audit.error)
    return <Failing error={audit.error} retry={() => void audit.refetch()} />;
  if (audit.data === undefined) return <Loading what="what was done" />;
  const entries = audit.data.pages.flat();
  return (
    <section aria-label="What was done">
      <h2>What was done</h2>
      <Rows label="What was done" most={entries.length} rows={entries} columns={kColumns} />
      {audit.hasNextPage && (
        <button type="button" className="link" onClick={() => void audit.fetchNextPage()}>
          Earlier entries
        </button>
      )}
    </section>
  );
}
