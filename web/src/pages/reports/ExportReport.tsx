// Makes a report's file: part after part, each with fresh answers about the board, the run or the comparison that its
// address names. Shows nothing.
import { QueryClientProvider, useIsFetching, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import { getBlob } from "../../api/client";
import { useComparison } from "../../api/compare";
import { useExplanations } from "../../api/explain";
import { useMarks } from "../../api/notes";
import { makeQueryClient } from "../../api/queries";
import { Boundary } from "../../app/Boundary";
import { download, fileName } from "../../app/download";
import { lackingWords } from "../../board/axis";
import { askFigure } from "../../board/figures";
import { type BoardView, useBoard } from "../../board/useBoard";
import type { BoardSearch } from "../../board/view";
import { base64 } from "../../export/base64";
import { figureFace } from "../../export/files";
import { formatExactMoment } from "../../format/time";
import { useSelected } from "../board/selected";
import { compareSearch, questionOf } from "../compare/search";
import { blocksOf } from "./report";
import {
  chartHtml,
  chartsHtml,
  comparisonHtml,
  type Embedded,
  failedHtml,
  foundHtml,
  kFull,
  kWide,
  liveHtml,
  picturesOf,
  quietHtml,
  type Room,
  reportHtml,
  textHtml,
  withPictures,
} from "./reportFile";
import { type Live, useBlockSearch } from "./useBlockSearch";

export interface ExportReportProps {
  name: string;
  text: string;
  // "the version saved …"
  version: string;
  // null: it is made; else why not.
  done: (failed: string | null) => void;
}

type Make = (signal: AbortSignal) => Promise<string>;

const wordsOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

// Makes something whenever `of` is another value, unless it is null, and hands it over unless the page is left meanwhile.
function useMaking(
  of: unknown,
  make: Make,
  at: { made: (html: string) => void; failed: (words: string) => void },
) {
  const newest = useRef({ make, ...at });
  newest.current = { make, ...at };
  useEffect(() => {
    if (of === null) return;
    const aborter = new AbortController();
    const { signal } = aborter;
    newest.current.make(signal).then(
      (html) => signal.aborted || newest.current.made(html),
      (error) => signal.aborted || newest.current.failed(wordsOf(error)),
    );
    return () => aborter.abort();
  }, [of]);
}

export function ExportReport({ name, text, version, done }: ExportReportProps) {
  const blocks = useMemo(() => blocksOf(text, location.origin, true), [text]);
  const [parts, setParts] = useState<readonly string[]>([]);
  const place = parts.length;
  const block = blocks[place];
  const made = (html: string) => setParts([...parts, html]);
  const pictures = useRef(newPictures());
  const make: Make = async (signal) => {
    if (block?.kind === "text")
      return textHtml(await embedded(block.html, pictures.current, signal));
    const address = location.origin + location.pathname;
    const moment = formatExactMoment(`${Date.now()}000000`);
    return reportHtml({ name, address, version, moment, face: await figureFace(), parts });
  };
  const save = (html: string) => {
    download(html, `${fileName(name, "report")}.html`, "text/html;charset=utf-8");
    done(null);
  };
  const isLive = block !== undefined && block.kind !== "text";
  useMaking(isLive ? null : place, make, { made: block === undefined ? save : made, failed: done });
  return isLive && <LivePart key={place} block={block} prefix={`p.${place}.`} made={made} />;
}

// ---- pictures of the text

const kMostBytes = 5_000_000;
const kMostTogether = 50_000_000;
const kApi = /^\/api\/corral\/v1/;

async function pictureOf(address: string, signal: AbortSignal): Promise<Embedded> {
  try {
    const blob = await getBlob(address.replace(kApi, ""), kMostBytes, signal);
    if (blob === null) return { why: "it is larger than 5 MB" };
    const type = /^image\/[a-z.+-]+/.exec(blob.type)?.[0];
    if (type === undefined) return { why: "the file is no picture" };
    const bytes = new Uint8Array(await blob.arrayBuffer());
    return { data: `data:${type};base64,${base64(bytes)}` };
  } catch (error) {
    return { why: wordsOf(error) };
  }
}

// The pictures of one file: each is read once, and counts as often as it stands there.
interface Pictures {
  found: Map<string, Embedded>;
  read: number;
  room: Room;
}

const newPictures = (): Pictures => ({ found: new Map(), read: 0, room: { bytes: kMostTogether } });

async function embedded(html: string, all: Pictures, signal: AbortSignal): Promise<string> {
  const { found, room } = all;
  for (const address of picturesOf(html)) {
    if (found.has(address)) continue;
    const one = all.read > kMostTogether ? kFull : await pictureOf(address, signal);
    if ("data" in one) all.read += one.data.length;
    found.set(address, one);
  }
  return withPictures(html, found, { server: location.origin, room });
}

// ---- live parts

interface LivePartProps {
  block: Live;
  // Before the ids inside its pictures, which have to differ within a file.
  prefix: string;
  made: (html: string) => void;
}

function LivePart(props: LivePartProps) {
  const [client] = useState(makeQueryClient);
  const { block, made } = props;
  const address = location.origin + block.address;
  const failed = liveHtml(address, failedHtml("This part could not be drawn."));
  return (
    <QueryClientProvider client={client}>
      <Boundary what="" frame={() => <Given html={failed} made={made} />}>
        {block.kind === "compare" ? <ComparedPart {...props} /> : <ChartsPart {...props} />}
      </Boundary>
    </QueryClientProvider>
  );
}

function Given({ html, made }: { html: string; made: (html: string) => void }) {
  useMaking(html, async () => html, { made, failed: made });
  return null;
}

// An answer may lead to the next question.
const kRestMs = 100;

// Makes a part once all that it asks for is there, after words about what could not be read.
function useSettled({ block, made }: LivePartProps, make: Make) {
  const client = useQueryClient();
  const fetching = useIsFetching();
  const [settled, settle] = useState<true | null>(null);
  useEffect(() => {
    if (fetching > 0) return;
    const rest = setTimeout(() => settle(true), kRestMs);
    return () => clearTimeout(rest);
  }, [fetching]);
  const address = location.origin + block.address;
  const whole: Make = async (signal) => {
    const errors = client
      .getQueryCache()
      .getAll()
      .flatMap(({ state: { error } }) => error ?? []);
    const said = [...new Set(errors.map(wordsOf))].map((words) =>
      failedHtml(`Could not be read: ${words}`),
    );
    return liveHtml(address, said.join("") + (await make(signal)));
  };
  const failed = (words: string) => made(liveHtml(address, failedHtml(`Not drawn: ${words}`)));
  useMaking(settled, whole, { made, failed });
}

function ComparedPart(props: LivePartProps) {
  const { block, prefix } = props;
  const question = useMemo(() => questionOf(compareSearch(block.search)), [block]);
  const { data } = useComparison(question);
  useSettled(props, async () => {
    if (question === null) return failedHtml("The margin of this comparison is not a share.");
    return data === undefined ? "" : comparisonHtml(data, prefix);
  });
  return null;
}

function ChartsPart(props: LivePartProps) {
  const { search, single } = useBlockSearch(props.block);
  if (search === null) return <NoPart {...props} />;
  return <BoardPart {...props} search={search} single={single} />;
}

function NoPart(props: LivePartProps) {
  useSettled(props, async () => "");
  return null;
}

interface BoardPartProps extends LivePartProps {
  search: BoardSearch;
  single: boolean;
}

const kNoChange = () => {};

function BoardPart({ search, single, ...props }: BoardPartProps) {
  const { slots, runs } = useSelected(search);
  const view = useBoard({ runs, slots, search, change: kNoChange, unseen: true });
  const alone = single ? (runs[0]?.id ?? "") : "";
  const [found] = useExplanations(alone === "" ? [] : [alone]);
  const marks = useMarks(alone);
  useSettled(props, async (signal) => {
    if (runs.length === 0) return failedHtml("None of the runs could be drawn.");
    const link = location.origin + props.block.address;
    const charts = await chartsOf(view, { link, prefix: props.prefix, signal });
    return (found ? foundHtml(found, marks) : "") + quietHtml(boardWords(view)) + charts;
  });
  return null;
}

// Told above the charts.
function boardWords({ lacking, problems, shown, legend, ...view }: BoardView): string {
  const { axis, enlarged, charts, drawn } = view;
  return [
    lacking.length === 0 ? [] : `${lackingWords(axis, shown.length)}: ${lacking.join(", ")}.`,
    problems.map(({ name, wrong }) => `Not drawn: ${name}: ${wrong}.`),
    legend === null ? [] : `Colours follow ${legend.name}.`,
    enlarged !== null || drawn.length === charts.length
      ? []
      : `${drawn.length} of ${charts.length} charts: the others are in closed sections or not searched for.`,
  ]
    .flat()
    .join(" ");
}

async function chartsOf(
  view: BoardView,
  at: { link: string; prefix: string; signal: AbortSignal },
): Promise<string> {
  const { link, prefix, signal } = at;
  const charts = view.enlarged === null ? view.drawn : [view.enlarged];
  if (charts.length === 0) return failedHtml("No data in these runs.");
  const [width, usual] = charts.length === 1 ? [kWide, 260] : [520, 210];
  const place = { width, height: view.search.height ?? usual, link, signal };
  const out: string[] = [];
  for (const [i, chart] of charts.entries()) {
    try {
      out.push(chartHtml(await askFigure(chart, view, place), `${prefix}${i}.`));
    } catch (error) {
      if (signal.aborted) throw error;
      out.push(failedHtml(`The chart of ${chart.def.name} was not drawn: ${wordsOf(error)}`));
    }
  }
  return chartsHtml(out);
}
