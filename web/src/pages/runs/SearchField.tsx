// The search field: plain words, or comparisons. An error is shown under it, with the place, and changes nothing. "/"
// leads here from anywhere on the page.
import { type RefObject, useEffect, useRef, useState } from "react";
import { Cross } from "../../app/icons";
import { readQuery } from "./query";

// Keys that follow each other faster are one step, in ms.
const kRest = 40;

export interface SearchFieldProps {
  text: string;
  // `replace`: a step of the same typing, which Back need not return to.
  apply: (text: string, how: { replace: boolean }) => void;
  // Down from here is the table.
  leave: () => void;
}

// The typed text, and its settled form: at once, or where keys come fast, after the last of them.
function useTyped({ text, apply }: Pick<SearchFieldProps, "text" | "apply">) {
  const [typed, setTyped] = useState(text);
  const [settled, setSettled] = useState(text);
  const applied = useRef(text);
  // The address changed by other means: Back, a link, "clear".
  useEffect(() => {
    if (text === applied.current) return;
    applied.current = text;
    setTyped(text);
    setSettled(text);
  }, [text]);
  const typing = useRef(false);
  const settle = (value: string, final: boolean) => {
    setSettled(value);
    if (readQuery(value).kind !== "error" && value.trim() !== applied.current) {
      applied.current = value.trim();
      apply(value.trim(), { replace: typing.current });
      typing.current = true;
    }
    if (final) typing.current = false;
  };
  const latest = useRef(settle);
  latest.current = settle;
  useEffect(() => {
    if (typed === settled) return;
    const timer = setTimeout(() => latest.current(typed, false), kRest);
    return () => clearTimeout(timer);
  }, [typed, settled]);
  const pressed = useRef(0);
  const type = (value: string, at: number) => {
    const rested = at - pressed.current > kRest;
    pressed.current = at;
    setTyped(value);
    if (rested) settle(value, false);
  };
  const clear = () => {
    setTyped("");
    settle("", true);
  };
  return { typed, type, settled, done: () => settle(typed, true), clear };
}

// "/" goes to the input, where nothing else is being written.
function useSlash(input: RefObject<HTMLInputElement | null>): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      const writes = target.matches(
        "input:not([type=checkbox]), textarea, select, [contenteditable]",
      );
      if (event.key !== "/" || writes || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      input.current?.focus();
      input.current?.select();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [input]);
}

export function SearchField({ text, apply, leave }: SearchFieldProps) {
  const { typed, type, settled, done, clear } = useTyped({ text, apply });
  const input = useRef<HTMLInputElement>(null);
  useSlash(input);
  const query = readQuery(settled);
  const amiss = query.kind === "error" && typed === settled ? query : null;
  return (
    <search className="search">
      <input
        ref={input}
        type="text"
        className="search-input"
        data-testid="search"
        aria-label="Search runs by words or comparisons"
        aria-invalid={amiss !== null}
        aria-describedby="search-says"
        placeholder="Search: words, or metrics.loss < 0.5 and params.lr = '0.1'"
        spellCheck={false}
        autoComplete="off"
        value={typed}
        onBlur={done}
        onChange={(event) => type(event.currentTarget.value, event.timeStamp)}
        onKeyDown={(event) => {
          if (event.key === "Enter") done();
          else if (event.key === "Escape" && typed !== "") clear();
          else if (event.key === "Escape" || event.key === "ArrowDown") leave();
          else return;
          event.preventDefault();
        }}
      />
      {typed === "" ? (
        <kbd className="key">/</kbd>
      ) : (
        <button
          type="button"
          className="icon-button small"
          aria-label="Clear the search"
          onClick={() => {
            clear();
            input.current?.focus();
          }}
        >
          <Cross />
        </button>
      )}
      <div id="search-says" aria-live="polite">
        {amiss && (
          <div className="search-error" data-testid="search-error">
            <code>
              {settled.slice(0, amiss.at)}
              <mark>{settled.slice(amiss.at) || "\u00a0"}</mark>
            </code>
            <p>
              Character {amiss.at + 1}: {amiss.message}
            </p>
          </div>
        )}
      </div>
    </search>
  );
}
