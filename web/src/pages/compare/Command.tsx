// The command that gives the same answer, to copy.
import { useState } from "react";

export function Command({ command }: { command: string }) {
  const [said, setSaid] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(command);
      setSaid("Copied.");
    } catch {
      setSaid("This browser gives no access to the clipboard: select the text.");
    }
  };
  return (
    <section aria-label="As a command" className="command">
      <button type="button" className="button" data-testid="copy-command" onClick={copy}>
        Copy command
      </button>
      <code data-testid="command">{command}</code>
      <span className="quiet" role="status">
        {said}
      </span>
    </section>
  );
}
