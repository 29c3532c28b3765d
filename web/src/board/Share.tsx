// Sharing a board: the button; its panel is loaded by then.

import { late } from "../app/late";
import { Popup } from "../app/Popup";
import type { BoardView } from "./useBoard";

const Ways = late({ what: "Share", load: async () => (await import("./ShareWays")).Ways });

export function Share({ view }: { view: BoardView }) {
  return (
    <Popup button="Share" label="Share this board" className="button" testid="share">
      {() => (
        // As large as what comes, so that it is placed where that fits.
        <div className="share-ways">
          <Ways view={view} />
        </div>
      )}
    </Popup>
  );
}
