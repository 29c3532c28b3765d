// Asks for a token where the server wants one. The browser keeps it in a cookie that scripts cannot read.
import { useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { ApiError, getJson, sendJson } from "../api/client";
import { useModal } from "./useModal";

// The host of the provider at which people can sign in; undefined: none, or not known yet.
const useProvider = () =>
  useQuery({
    queryKey: ["sign-in"],
    queryFn: ({ signal }) => getJson<{ provider: string | null }>("/sign-in", {}, signal),
    staleTime: Number.POSITIVE_INFINITY,
  }).data?.provider ?? undefined;

const providerAddress = () =>
  `/auth/login?to=${encodeURIComponent(location.pathname + location.search)}`;

export function SignIn() {
  const dialog = useModal();
  const provider = useProvider();
  const [token, setToken] = useState("");
  const [failed, setFailed] = useState("");
  const sending = useRef(false);
  const signIn = async () => {
    if (sending.current || token.trim() === "") return;
    sending.current = true;
    try {
      await sendJson("POST", "/sign-in", { token: token.trim() });
      location.reload();
    } catch (reason) {
      const refused = reason instanceof ApiError && reason.status === 401;
      const said = reason instanceof Error ? reason.message : "It failed.";
      setFailed(refused ? "This token is mistyped, expired or revoked." : said);
      sending.current = false;
    }
  };
  return (
    <dialog
      ref={dialog}
      className="dialog"
      aria-label="Sign in"
      data-testid="sign-in"
      // Without a token there is nothing to see behind it.
      onCancel={(event) => event.preventDefault()}
      onClose={() => dialog.current?.showModal()}
    >
      <form
        className="form dialog-body"
        onSubmit={(event) => {
          event.preventDefault();
          void signIn();
        }}
      >
        <h2>Sign in to {location.host}</h2>
        {provider !== undefined && (
          <a className="button" href={providerAddress()}>
            Sign in with {provider}
          </a>
        )}
        <label className="form-line">
          <span>Access token</span>
          <input
            type="password"
            autoComplete="current-password"
            spellCheck={false}
            value={token}
            onChange={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        <p className="quiet">
          An admin of this server makes one: <code>corral token add NAME</code>
        </p>
        {failed !== "" && <p role="alert">{failed}</p>}
        <button type="submit" className="button" disabled={token.trim() === ""}>
          Sign in
        </button>
      </form>
    </dialog>
  );
}
