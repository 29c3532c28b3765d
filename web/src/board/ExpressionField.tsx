// The field in which an expression over metrics is written: says where and what is wrong, and which metrics are near.
import { useId, useState } from "react";
import { derivedChart } from "./derived";
import { kFunctions } from "./expression";
import type { BoardView } from "./useBoard";

export interface ExpressionFieldProps {
  view: BoardView;
  // The expression so far, "" for a new one.
  value: string;
  set: (text: string) => void;
}

// The text with the word at the problem's place replaced by a metric, in backticks where it needs them.
function corrected(text: string, at: number, name: string): string {
  const rest = text.slice(at);
  const word = /^(`[^`]*`?|[^\s*^(),+-]+)/.exec(rest)?.[0] ?? "";
  const plain = /^[^\s+\-*/^(),`]+$/.test(name) ? name : `\`${name}\``;
  return text.slice(0, at) + plain + rest.slice(word.length);
}

const placeOf = (wrong: string) => Number(/^column (\d+):/.exec(wrong)?.[1] ?? 1) - 1;

export function ExpressionField({ view, value, set }: ExpressionFieldProps) {
  const [text, setText] = useState(value);
  const [tried, setTried] = useState(false);
  const id = useId();
  const known = { defs: view.defs, runs: view.shown };
  const typed = text.trim();
  const found = typed === "" ? null : derivedChart(typed, known);
  const wrong = tried && found?.def === null ? found : null;
  return (
    <form
      className="form expression"
      onSubmit={(event) => {
        event.preventDefault();
        setTried(true);
        if (found?.def) set(typed);
      }}
    >
      <label htmlFor={id}>Expression of metrics</label>
      <input
        id={id}
        // biome-ignore lint/a11y/noAutofocus: the panel was opened to write it
        autoFocus
        spellCheck={false}
        type="text"
        autoComplete="off"
        placeholder="ema(loss, 0.9)"
        data-testid="expression"
        aria-invalid={wrong !== null}
        aria-describedby={`${id}-words`}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <div id={`${id}-words`} className="quiet" aria-live="polite">
        {wrong === null ? (
          `+ − * / ^, ${Object.keys(kFunctions).join(", ")}; names with other signs in \`backticks\``
        ) : (
          <span className="wrong" data-testid="expression-wrong">
            {wrong.wrong}
          </span>
        )}
      </div>
      <div className="form-row">
        {wrong?.near.map((name) => (
          <button
            key={name}
            type="button"
            className="button"
            onClick={() => setText(corrected(text, placeOf(wrong.wrong), name))}
          >
            {name}
          </button>
        ))}
        <button type="submit" className="button" disabled={typed === ""}>
          Draw
        </button>
      </div>
    </form>
  );
}
