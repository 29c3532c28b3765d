// The pieces of the condensed axis above the charts: how many alike epochs each typical one stands for, and the odd
// epochs at full scale. A click opens a piece: the board on the axis of time, at all of its epochs.
import type { Stretch } from "../api/condensed";
import { seenStretches } from "../api/condensed";
import { kLeastEpochs } from "../api/spread";
import { formatDuration } from "../format/time";
import { formatCount, plural } from "../format/units";
import type { BoardView } from "./useBoard";
import { kNoPlace, rounded } from "./view";

export function Folds({ view }: { view: BoardView }) {
  const { range } = view.gestures;
  const open = ({ from, to, fold }: Stretch) =>
    view.change(() => ({ ...kNoPlace, x: undefined, ...rounded(fold ?? { from, to }) }), false);
  return (
    <section className="phases" aria-label="Alike and odd epochs" data-testid="folds">
      <ol className="folds">
        {seenStretches(view.stretches, range).map(({ stretch, at, until }) => (
          <li key={stretch.at} style={{ flexGrow: (until - at) / (range.to - range.from) }}>
            <button
              type="button"
              className={stretch.fold ? "fold" : "whole"}
              title={`${foldWords(stretch)}. Click to open.`}
              onClick={() => open(stretch)}
            >
              {shortWords(stretch)}
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}

function shortWords({ fold, odd }: Stretch): string {
  if (fold !== null) return `× ${formatCount(fold.epochs)}`;
  return odd.length === 0 ? "" : `epoch ${odd.join(", ")}`;
}

export function foldWords({ from, to, fold, odd }: Stretch): string {
  if (fold !== null) {
    const spread = `${formatDuration(fold.p10_s)} to ${formatDuration(fold.p90_s)}`;
    const band =
      fold.epochs < kLeastEpochs
        ? "too few for a band from p10 to p90"
        : "with the median (dashed) and the band from p10 to p90";
    return (
      `Epochs ${fold.first} to ${fold.last} are alike, ${spread} each; ` +
      `shown is epoch ${fold.typical}, the typical one, ${band}`
    );
  }
  const time = `${formatDuration(to - from)} at full scale`;
  return odd.length === 0
    ? time
    : `${plural(odd.length, "odd epoch")} (${odd.join(", ")}), ${time}`;
}
