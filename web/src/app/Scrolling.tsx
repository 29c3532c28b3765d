// A part of the page that scrolls on its own: reachable and named for keyboard users.
import type { ReactNode } from "react";

export interface ScrollingProps {
  label: string;
  className: string;
  children: ReactNode;
}

export function Scrolling({ label, className, children }: ScrollingProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keys
    <section className={className} aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}
