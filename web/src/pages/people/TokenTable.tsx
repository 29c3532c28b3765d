// Access tokens with what they allow and until when, and the way to revoke one.
import { type AccessToken, type PeopleChanges, useTokens } from "../../api/people";
import { Failing, Loading } from "../../app/Notice";
import { type Column, Rows } from "../../app/Rows";
import { formatExactMoment, formatMoment } from "../../format/time";
import { Sure } from "./Sure";

const kShown = 50;

// "valid", or why it does not count.
export function tokenState(token: AccessToken, now: Date): "valid" | "revoked" | "expired" {
  if (token.revoked_ns !== null) return "revoked";
  return BigInt(token.expires_ns) / 1_000_000n > BigInt(now.getTime()) ? "valid" : "expired";
}

interface TokenTableProps {
  changes: PeopleChanges;
  // The tokens of all users, not only one's own.
  all: boolean;
}

export function TokenTable({ changes, all }: TokenTableProps) {
  const tokens = useTokens();
  if (tokens.data === undefined && tokens.error)
    return <Failing error={tokens.error} retry={() => void tokens.refetch()} />;
  if (tokens.data === undefined) return <Loading what="tokens" />;
  const now = new Date();
  const columns: Column<AccessToken>[] = [
    { name: "Id", cell: ({ id }) => <code>{id}</code> },
    ...(all ? [{ name: "User", left: true, cell: ({ user }: AccessToken) => user }] : []),
    { name: "For", left: true, cell: ({ label }) => label ?? "–" },
    { name: "May", left: true, cell: ({ role }) => role },
    {
      name: "Until",
      left: true,
      cell: ({ expires_ns }) => (
        <span title={formatExactMoment(expires_ns)}>{formatMoment(expires_ns, now)}</span>
      ),
    },
    {
      name: "State",
      left: true,
      cell: (token) =>
        tokenState(token, now) === "valid" ? (
          <Sure
            action="Revoke"
            title={`Revoke ${token.id}`}
            act={() => void changes.revokeToken(token.id)}
          >
            This cannot be undone. Programs that use this token of {token.user} need another one.
          </Sure>
        ) : (
          <span className="quiet">{tokenState(token, now)}</span>
        ),
    },
  ];
  return (
    <section aria-label="Access tokens">
      {all && <h2>Access tokens</h2>}
      <Rows label="Access tokens" most={kShown} rows={tokens.data} columns={columns} />
    </section>
  );
}
