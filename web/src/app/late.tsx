// Parts of the page whose code is loaded when they are first shown. While it cannot be loaded, or when the part fails, a
// sentence in their place says so. A part comes by itself once the server answers again; code of a version that the
// server no longer has comes with a reload.
import { type ComponentType, type ReactNode, useCallback, useEffect, useState } from "react";
import { useLive } from "../api/live";
import { Boundary, FailedPart, type FailedPartProps } from "./Boundary";

export interface LateOptions<P> {
  // Begins the sentence: "Search".
  what: string;
  load: () => Promise<ComponentType<P>>;
  waiting?: ReactNode;
  // As in FailedPartProps.
  close?: (props: P) => void;
  frame?: FailedPartProps["frame"];
}

export function late<P extends object>(options: LateOptions<P>) {
  const { what, load, waiting = null, close, frame } = options;
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
    const shut = close && (() => close(props));
    const Part = part;
    if (Part !== null) {
      return (
        <Boundary what={what} close={shut} frame={frame}>
          <Part {...props} />
        </Boundary>
      );
    }
    return failed ? <NotLoaded what={what} retry={ask} close={shut} frame={frame} /> : waiting;
  }
  // For the router, which would take a page that cannot be loaded for a broken one.
  Late.preload = () => ready().catch(() => {});
  return Late;
}

const kRest = 1000;

// Loads a part a moment after what is shown first: it then opens at once, and without the server, too.
export function useLoaded(part: { preload: () => void }) {
  useEffect(() => {
    const timer = setTimeout(part.preload, kRest);
    return () => clearTimeout(timer);
  }, [part]);
}

function NotLoaded({
  what,
  ...at
}: { what: string } & Pick<FailedPartProps, "retry" | "close" | "frame">) {
  const offline = useLive(({ state }) => state !== "live");
  const why = offline ? "the server does not answer" : "the server may have a newer version of it";
  return (
    <FailedPart
      {...at}
      words={`${what} could not be loaded: ${why}.`}
      reload={!offline}
      testid="late"
    />
  );
}
