// The page's drawn signs. All decorative: the words beside them, or the button's label, say the same.
import type { ReactNode } from "react";

const kStroke = {
  fill: "none",
  stroke: "currentColor",
  strokeWidth: 1.6,
  strokeLinecap: "round",
} as const;

// Thin strokes, as tall as a line of text.
function Thin({ children }: { children: ReactNode }) {
  return (
    <svg
      width="16"
      height="16"
      viewBox="0 0 16 16"
      {...kStroke}
      strokeWidth={1.4}
      aria-hidden="true"
    >
      {children}
    </svg>
  );
}

// A fence: three posts and two rails.
export function Fence() {
  return (
    <svg width="20" height="20" viewBox="0 0 20 20" {...kStroke} strokeWidth={2} aria-hidden="true">
      <path d="M4 2.5v15M10 2.5v15M16 2.5v15M1.5 7h17M1.5 13h17" />
    </svg>
  );
}

export function Chevron({ open }: { open: boolean }) {
  return (
    <svg
      className={open ? "chevron open" : "chevron"}
      width="8"
      height="8"
      viewBox="0 0 8 8"
      aria-hidden="true"
    >
      <path d="M2 .8 6.4 4 2 7.2z" fill="currentColor" />
    </svg>
  );
}

// Corners that point outwards; inwards where something is enlarged.
export function Enlarge({ on }: { on: boolean }) {
  return (
    <Thin>
      <path
        d={
          on
            ? "M6.5 2.5v4h-4M9.5 2.5v4h4M6.5 13.5v-4h-4M9.5 13.5v-4h4"
            : "M2.5 6V2.5H6M10 2.5h3.5V6M2.5 10v3.5H6M10 13.5h3.5V10"
        }
      />
    </Thin>
  );
}

export function Sun() {
  return (
    <Thin>
      <circle cx="8" cy="8" r="2.8" />
      <path d="M8 1.4v1.4M8 13.2v1.4M1.4 8h1.4M13.2 8h1.4M3.3 3.3l1 1M11.7 11.7l1 1M3.3 12.7l1-1M11.7 4.3l1-1" />
    </Thin>
  );
}

export function Question() {
  return (
    <Thin>
      <path d="M5.6 5.8a2.4 2.4 0 1 1 3.7 2c-.8.6-1.3 1-1.3 2M8 12.2v.1" />
    </Thin>
  );
}

export function Moon() {
  return (
    <Thin>
      <path d="M13.2 9.7A5.6 5.6 0 0 1 6.3 2.8a5.6 5.6 0 1 0 6.9 6.9z" strokeLinejoin="round" />
    </Thin>
  );
}

export function Lines() {
  return (
    <svg width="16" height="16" viewBox="0 0 16 16" {...kStroke} aria-hidden="true">
      <path d="M2 4h12M2 8h12M2 12h12" />
    </svg>
  );
}

export function Dots() {
  return (
    <svg width="16" height="16" viewBox="0 0 16 16" fill="currentColor" aria-hidden="true">
      <circle cx="3.5" cy="8" r="1.3" />
      <circle cx="8" cy="8" r="1.3" />
      <circle cx="12.5" cy="8" r="1.3" />
    </svg>
  );
}

// A short piece of a line as the charts draw it: colour and dash.
export function Swatch({ colour, dash }: { colour: string; dash: readonly number[] }) {
  return (
    <svg className="swatch" width="22" height="4" viewBox="0 0 22 4" aria-hidden="true">
      <path d="M0 2h22" stroke={colour} strokeWidth="2" strokeDasharray={dash.join(" ")} />
    </svg>
  );
}

// Two links of a chain, hooked into each other or apart with the break between them.
export function Chain({ closed }: { closed: boolean }) {
  return (
    <Thin>
      <path d="M6.6 4.8 8.3 3.1a3.1 3.1 0 0 1 4.5 4.5l-1.7 1.7M9.4 11.2l-1.7 1.7a3.1 3.1 0 0 1-4.5-4.5l1.7-1.7" />
      {closed ? (
        <path d="m6 10 4-4" />
      ) : (
        <path d="M4.6 2.2v1.6M2.2 4.6h1.6M11.4 13.8v-1.6M13.8 11.4h-1.6" />
      )}
    </Thin>
  );
}

// From edge to edge.
export function Fit() {
  return (
    <Thin>
      <path d="M1.5 3v10M14.5 3v10M4 8h8M6 5.5 3.5 8 6 10.5M10 5.5 12.5 8 10 10.5" />
    </Thin>
  );
}

export function Pin() {
  return (
    <svg width="12" height="12" viewBox="0 0 12 12" {...kStroke} aria-hidden="true">
      <path d="M4.2 1.5h3.6M5 1.5v3L3.2 6.8h5.6L7 4.5v-3M6 6.8v3.7" />
    </svg>
  );
}

export function Cross() {
  return (
    <svg width="10" height="10" viewBox="0 0 10 10" {...kStroke} aria-hidden="true">
      <path d="M2 2l6 6M8 2 2 8" />
    </svg>
  );
}
