// In the place of a page whose own code failed.
import type { ErrorComponentProps } from "@tanstack/react-router";

export function Crashed({ error }: ErrorComponentProps) {
  return (
    <div className="notice" role="alert" data-testid="crashed">
      <p>This page failed: {error instanceof Error ? error.message : String(error)}</p>
      <p>Reload it, or go back to all runs. No recorded data is affected.</p>
      <p>
        <button type="button" className="button" onClick={() => location.reload()}>
          Reload
        </button>{" "}
        <a className="button" href="/">
          All runs
        </a>
      </p>
    </div>
  );
}
