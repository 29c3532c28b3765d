// Sharing a board: the button; what it opens is loaded by then.
import { lazy, Suspense } from "react";
import { Popup } from "../app/Popup";
import type { BoardView } from "./useBoard";

const Ways = lazy(async () => ({ default: (await import("./ShareWays")).Ways }));

export function Share({ view }: { view: BoardView }) {
  return (
    <Popup button="Share" label="Share this board" className="button" testid="share">
      {() => (
        // As large as what comes, so that it is placed where that fits.
        <div className="share-ways">
          <Suspense fallback={null}>
            <Ways view={view} />
          </Suspense>
        </div>
      )}
    </Popup>
  );
}
