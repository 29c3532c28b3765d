// Empty, loading and failed states, each as a sentence with the next step, in the place of the future content.
import type { ReactNode } from "react";
import { useEffect, useState } from "react";
import { ApiError } from "../api/client";

export function Notice({ children }: { children: ReactNode }) {
  return <div className="notice">{children}</div>;
}

// Says so only when it takes longer than a glance.
export function Loading({ what }: { what: string }) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 250);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div className="notice quiet" role="status">
      {late ? `Loading ${what}.` : ""}
    </div>
  );
}

export function Failing({ error, retry }: { error: Error; retry: () => void }) {
  const advice =
    error instanceof ApiError
      ? error.advice
      : "Reload the page; if the error persists, page and server may have different versions.";
  return (
    <div className="notice" role="alert" data-testid="failing">
      <p>{error.message}</p>
      <p>{advice}</p>
      <button type="button" className="button" onClick={retry}>
        Try again
      </button>
    </div>
  );
}
