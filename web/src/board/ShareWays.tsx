// The ways of sharing a board: its link, a small file, lines to embed it, or one HTML file that needs no server.

import { type ReactNode, useState } from "react";
import { download } from "../app/download";
import { offlineBound } from "../export/offline";
import { useOpenFile } from "../export/opened";
import { embedLines, shareFile } from "../export/share";
import { formatValue } from "../format/units";
import { offlineCounts, offlinePage } from "./offlinePage";
import type { BoardView } from "./useBoard";

export function Ways({ view }: { view: BoardView }) {
  const [said, setSaid] = useState("");
  const openFile = useOpenFile();
  const act = (doing: Promise<string> | string) =>
    void Promise.resolve(doing)
      .then(setSaid)
      .catch((reason: unknown) => setSaid(reason instanceof Error ? reason.message : "It failed."));
  const here = location.pathname + location.search;
  const bound = formatValue(offlineBound(offlineCounts(view)), "B", 2);
  return (
    <div className="form">
      <Way label="Copy the link" act={() => act(copyText(location.href, "Link copied."))}>
        It opens exactly this view.
      </Way>
      <Way
        label="Small file"
        act={() => {
          const title = document.title;
          const file = shareFile({ origin: location.origin, path: here, title });
          download(JSON.stringify(file, null, 2), "board.corral.json", "application/json");
        }}
      >
        Opened here again, it loads the data from the server.
      </Way>
      <Way
        label="Offline HTML"
        act={() =>
          act(
            offlinePage(view).then((html) => {
              download(html, "board.html", "text/html");
              return `Saved board.html, ${formatValue(html.length, "B", 3)}.`;
            }),
          )
        }
      >
        Opens without a server and zooms; at most {bound}.
      </Way>
      <Way
        label="Copy embed code"
        act={() => act(copyText(embedLines("board.html"), "Embed code copied"))}
      >
        HTML that shows the offline file in another page.
      </Way>
      <label className="form-line">
        <span title="A small file of Corral or radT's data_….json; or drop it anywhere on the page">
          Open a file
        </span>
        <input
          type="file"
          accept=".json,application/json"
          data-testid="open-share"
          onChange={(event) => {
            const file = event.currentTarget.files?.[0];
            if (file) act(openFile(file));
          }}
        />
      </label>
      <p className="quiet" role="status">
        {said}
      </p>
    </div>
  );
}

async function copyText(text: string, done: string): Promise<string> {
  if (navigator.clipboard === undefined)
    return "Clipboard not available in this browser; copy the link from the address bar.";
  await navigator.clipboard.writeText(text);
  return done;
}

function Way({ label, act, children }: { label: string; act: () => void; children: ReactNode }) {
  return (
    <div className="form-line">
      <button type="button" className="button" onClick={act}>
        {label}
      </button>
      <span className="quiet">{children}</span>
    </div>
  );
}
