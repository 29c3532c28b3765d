// Parts of the page whose code is loaded when they are first shown. While the server does not answer, a sentence in
// their place says so; they come by themselves once it does.
import { type ComponentType, type ReactNode, useCallback, useEffect, useState } from "react";
import { createPortal } from "react-dom";
import { useLive } from "../api/live";

export interface LateOptions<P> {
  // Begins the sentence: "Search".
  what: string;
  load: () => Promise<ComponentType<P>>;
  waiting?: ReactNode;
  // For dialogs, which have no place on the page: the sentence appears at the end of the page and can be closed.
  close?: (props: P) => void;
}

export function late<P extends object>({ what, load, waiting = null, close }: LateOptions<P>) {
  let part: ComponentType<P> | null = null;
  const ready = async () => {
    part ??= await load();
  };
  function Late(props: P) {
    const [failed, setFailed] = useState(false);
    const [, setReady] = useState(part !== null);
    const live = useLive(({ state }) => state);
    const ask = useCallback(() => {
      ready().then(
        () => setReady(true),
        () => setFailed(true),
      );
    }, []);
    // biome-ignore lint/correctness/useExhaustiveDependencies: again when the server is back
    useEffect(() => {
      if (part === null) ask();
    }, [ask, live]);
    const Part = part;
    if (Part !== null) return <Part {...props} />;
    if (!failed) return waiting;
    return <Failed what={what} retry={ask} {...(close ? { close: () => close(props) } : {})} />;
  }
  // For the router, which would take a page that cannot be loaded for a broken one.
  Late.preload = () => ready().catch(() => {});
  return Late;
}

function Failed({ what, retry, close }: { what: string; retry: () => void; close?: () => void }) {
  const offline = useLive(({ state }) => state !== "live");
  const words = (
    <>
      {what} could not be loaded
      {offline ? ": the server does not answer." : ". Reload the page if it was updated."}{" "}
      <button type="button" className="link" onClick={retry}>
        Try again
      </button>
    </>
  );
  if (close === undefined) {
    return (
      <p className="quiet late" role="alert" data-testid="late">
        {words}
      </p>
    );
  }
  return createPortal(
    <div className="toast-place" role="alert" data-testid="late">
      <div className="toast">
        <span>{words}</span>
        <button type="button" className="link" onClick={close}>
          Close
        </button>
      </div>
    </div>,
    document.body,
  );
}
