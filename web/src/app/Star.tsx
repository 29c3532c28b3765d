// The star of a metric: lists of metrics and columns begin with the starred ones.
import { toggleFavourite, useFavourites } from "../state/favourites";

export function Star({ metric }: { metric: string }) {
  const on = useFavourites(({ names }) => names.has(metric));
  return (
    <button
      type="button"
      className="icon-button small star"
      aria-label={`Star ${metric}`}
      aria-pressed={on}
      title={on ? "Starred: first in lists. Click to remove the star" : "List first"}
      data-testid="star"
      onClick={(event) => {
        event.preventDefault();
        toggleFavourite(metric);
      }}
    >
      <svg width="13" height="13" viewBox="0 0 14 14" aria-hidden="true">
        <path
          d="M7 1.5l1.7 3.5 3.8.5-2.8 2.7.7 3.8L7 10.2l-3.4 1.8.7-3.8L1.5 5.5l3.8-.5z"
          fill={on ? "currentColor" : "none"}
          stroke="currentColor"
          strokeWidth="1.2"
          strokeLinejoin="round"
        />
      </svg>
    </button>
  );
}
