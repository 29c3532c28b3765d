// A file of radT's page, shown from the points that lie in it; where its runs are on this server, a link opens a
// board of them.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { sendJson } from "../../api/client";
import type { Run } from "../../api/types";
import { useModal } from "../../app/useModal";
import { choiceText, plainChoice } from "../../board/choice";
import { usePageFont } from "../../board/usePageFont";
import type { BoardSearch } from "../../board/view";
import { closeOpened, type Opened } from "../../export/opened";
import { plural } from "../../format/units";
import { useScheme } from "../../state/scheme";
import { mountBoard } from "../../viewer/board";
import { radtBoard } from "../../viewer/radt";

const kMaxRuns = 200;

interface Found {
  runs: Run[];
}

// Runs of the file that this server has, under their ids or else their names.
async function findRuns(wanted: ReadonlyMap<string, string>, signal: AbortSignal): Promise<Run[]> {
  const ask = async (filter: object) =>
    (await sendJson<Found>("POST", "/runs/search", { ...filter, limit: kMaxRuns }, signal)).runs;
  const ids = [...wanted.keys()].filter((id) => /^[0-9a-f]{32}$/.test(id));
  const byId = ids.length === 0 ? [] : await ask({ runs: ids });
  const known = new Set(byId.map(({ id }) => id));
  const names = [...wanted].flatMap(([id, name]) => (known.has(id) || name === "" ? [] : [name]));
  const asked = names.filter((name) => !/['\\]/.test(name)).map((name) => `'${name}'`);
  if (asked.length === 0) return byId;
  const byName = await ask({ filter: `attributes.run_name IN (${asked.join(", ")})` });
  return [...byId, ...byName.filter(({ id }) => !known.has(id))];
}

function useRunsHere({ charts }: Opened) {
  const wanted = new Map(
    charts
      .flatMap(({ runs }) => runs.map(({ id, name }) => [id, name] as const))
      .slice(0, kMaxRuns),
  );
  return useQuery({
    queryKey: ["opened-runs", [...wanted]],
    queryFn: ({ signal }) => findRuns(wanted, signal),
    enabled: wanted.size > 0,
    retry: false,
  });
}

export default function OpenedFile({ file }: { file: Opened }) {
  const dialog = useModal();
  const root = useRef<HTMLDivElement>(null);
  const dark = useScheme(({ scheme }) => scheme === "dark");
  const font = usePageFont();
  const here = useRunsHere(file).data ?? [];
  useEffect(() => {
    const element = root.current;
    if (element === null) return;
    const { draw } = mountBoard(element, radtBoard(file.charts), { dark, font });
    const observer = new ResizeObserver(draw);
    observer.observe(element);
    return () => {
      observer.disconnect();
      element.replaceChildren();
    };
  }, [file, dark, font]);
  const runs = new Set(file.charts.flatMap((chart) => chart.runs.map(({ id }) => id))).size;
  const search: BoardSearch = {
    run: here.map(({ id }) => id),
    metric: [...new Set(file.charts.map(({ metric }) => choiceText(plainChoice(metric))))],
  };
  return (
    <dialog
      ref={dialog}
      className="dialog opened"
      aria-label={file.name}
      onClose={closeOpened}
      data-testid="opened"
    >
      <header>
        <h2 className="cut name">{file.name}</h2>
        <button type="button" className="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </header>
      <div className="dialog-body">
        <p className="quiet">
          {plural(file.charts.length, "chart")} of {plural(runs, "run")} from radT, drawn from the
          points in the file. Drag to zoom, double-click to reset, click a name to hide its line.{" "}
          {here.length > 0 && (
            <Link to="/board" search={search} onClick={() => dialog.current?.close()}>
              {here.length === runs ? "All of them" : `${here.length} of them`} are on this server:
              open a board
            </Link>
          )}
        </p>
        <div ref={root} />
      </div>
    </dialog>
  );
}
