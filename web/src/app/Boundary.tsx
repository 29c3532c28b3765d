// Parts of the page that fail alone: a sentence in their place says what failed and what to do, and the rest stays.
import { Component, type ReactNode } from "react";
import { createPortal } from "react-dom";

export interface FailedPartProps {
  // A sentence: the part, and the reason.
  words: string;
  retry: () => void;
  // Offers to load the page anew; its address holds what is shown.
  reload: boolean;
  // For dialogs, which have no place on the page: the sentence appears at the end of the page and can be closed.
  close?: (() => void) | undefined;
  // For whole pages: what goes around the sentence.
  frame?: ((sentence: ReactNode) => ReactNode) | undefined;
  testid: string;
}

export function FailedPart({ words, retry, reload, close, frame, testid }: FailedPartProps) {
  const told = (
    <>
      {words}{" "}
      <button type="button" className="link" onClick={retry}>
        Try again
      </button>
      {reload && (
        <>
          {" "}
          <button type="button" className="link" onClick={() => location.reload()}>
            Reload the page
          </button>
        </>
      )}
    </>
  );
  if (close === undefined) {
    const part = (
      <p className="quiet late" role="alert" data-testid={testid}>
        {told}
      </p>
    );
    return frame === undefined ? part : frame(part);
  }
  return createPortal(
    <div className="toast-place" role="alert" data-testid={testid}>
      <div className="toast">
        <span>{told}</span>
        <button type="button" className="link" onClick={close}>
          Close
        </button>
      </div>
    </div>,
    document.body,
  );
}

export interface BoundaryProps {
  // Begins the sentence: "The chart of loss".
  what: string;
  // The part is tried again whenever this is another value.
  again?: unknown;
  close?: (() => void) | undefined;
  frame?: FailedPartProps["frame"];
  children: ReactNode;
}

// Catches what its content throws while rendering and in effects. Handlers of events and promises tell their own
// failures.
export class Boundary extends Component<BoundaryProps, { caught: { error: unknown } | null }> {
  override state: { caught: { error: unknown } | null } = { caught: null };

  static getDerivedStateFromError(error: unknown) {
    return { caught: { error } };
  }

  override componentDidUpdate(before: BoundaryProps): void {
    const { caught } = this.state;
    if (caught !== null && before.again !== this.props.again) this.setState({ caught: null });
  }

  override render(): ReactNode {
    const { what, close, frame, children } = this.props;
    const { caught } = this.state;
    if (caught === null) return children;
    const { error } = caught;
    return (
      <FailedPart
        words={`${what} failed: ${error instanceof Error ? error.message : String(error)}.`}
        retry={() => this.setState({ caught: null })}
        reload
        close={close}
        frame={frame}
        testid="failed-part"
      />
    );
  }
}
