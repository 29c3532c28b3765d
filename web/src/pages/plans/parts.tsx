// Parts that the list of plans and the page of one share: states in words and colour, the progress bar.
import type { CSSProperties } from "react";
import { stateTitle, stateWords, toneOf } from "../../format/outcome";
import { formatCount } from "../../format/units";
import { inStateOrder, type Progress, toneCounts } from "./plan";

export function StateMark({ state }: { state: string }) {
  return <span className={`status status-${toneOf(state)}`}>{stateWords(state)}</span>;
}

// A plan's own state: "failed" is the scheduler's failure, not a run's.
export function PlanState({ state }: { state: string }) {
  return (
    <span data-testid="plan-state" data-state={state}>
      <StateMark state={state} />
    </span>
  );
}

export function StateCounts({ counts }: { counts: Readonly<Record<string, number>> }) {
  return (
    <span className="state-counts">
      {inStateOrder(counts).map(({ value, count }) => (
        <span key={value} className={`status status-${toneOf(value)}`} title={stateTitle(value)}>
          {formatCount(count)} {stateWords(value)}
        </span>
      ))}
    </span>
  );
}

export function ToneCounts({ counts }: { counts: Readonly<Record<string, number>> }) {
  const words = inStateOrder(counts).map(({ value, count }) => `${count} ${stateWords(value)}`);
  return (
    <span className="state-counts" title={words.join(", ")}>
      {toneCounts(counts).map(({ tone, count }) => (
        <span key={tone} className={`status status-${tone}`}>
          {formatCount(count)} {tone}
        </span>
      ))}
    </span>
  );
}

export function ProgressBar({ progress }: { progress: Progress }) {
  const { runs, ended, parts } = progress;
  return (
    <span
      className="progress"
      role="progressbar"
      aria-label="Runs that have ended"
      aria-valuemin={0}
      aria-valuemax={runs}
      aria-valuenow={ended}
    >
      {parts.map(({ tone, count }) => (
        <span
          key={tone}
          className={`progress-part tone-${tone}`}
          style={{ "--part": runs > 0 ? count / runs : 0 } as CSSProperties}
        />
      ))}
    </span>
  );
}
