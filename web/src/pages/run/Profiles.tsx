// The results of profilers in a run: for each profile the time by kind, the longest kernels, its files, and a link to
// its moment on the charts.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { type FileEntry, fileUrl, useFolder } from "../../api/artifacts";
import { getText, urlOf } from "../../api/client";
import type { Phase, RunDetail } from "../../api/types";
import { useChartTheme } from "../../app/colours";
import { Scrolling } from "../../app/Scrolling";
import { kNoPlace, rounded } from "../../board/view";
import { type ChartTheme, seriesColour } from "../../charts/theme";
import { formatDuration } from "../../format/time";
import { formatCount, formatNumber, formatValue, kThin } from "../../format/units";
import {
  around,
  type Kernel,
  type KernelKey,
  type Profile,
  parseProfile,
  type Span,
  sortKernels,
  spanOf,
  stackOf,
  stepWords,
} from "./profile";
import { profileElementId } from "./reveal";
import { type RunSearch, runSearch } from "./search";
import type { ProfilePlace, ProfilePlaces } from "./useProfiles";

export interface ProfilesProps {
  run: RunDetail;
  found: ProfilePlaces;
  // Zero of the board's axis for this run, ns of UTC; null if it is not a time axis.
  origin: bigint | null;
  phases: readonly Phase[];
}

export function Profiles({ run, found, ...moment }: ProfilesProps) {
  const { places, revision } = found;
  return (
    <section className="profiles" aria-label="Profiles" data-testid="profiles">
      <div className="line-head">
        <h2>Profiles</h2>
        <span className="unit">{formatCount(places.length)}</span>
      </div>
      {places.map((place) => (
        <One key={place.path} run={run} place={place} revision={revision} {...moment} />
      ))}
    </section>
  );
}

const kSummary = "summary.json";
// The list of kernels is of thirty; a summary beyond this is none.
const kMaxText = 1024 * 1024;

interface OneProps {
  run: RunDetail;
  place: ProfilePlace;
  revision: string;
  origin: bigint | null;
  phases: readonly Phase[];
}

function One({ run, place, revision, origin, phases }: OneProps) {
  const lacks = (found: readonly FileEntry[] = []) => !found.some(({ name }) => name === kSummary);
  const folder = useFolder(run.id, place.path, {
    revision,
    while: (found) => run.status === "running" && lacks(found),
  });
  const files = (place.files ?? folder.data ?? []).filter(({ is_dir }) => !is_dir);
  const has = !lacks(files);
  const url = fileUrl(run.id, `${place.path}/${kSummary}`);
  const answer = useQuery({
    queryKey: ["profile", url, revision],
    queryFn: ({ signal }) => getText(url, kMaxText, signal),
    select: ({ text, size }) =>
      size > text.length && size > kMaxText ? { wrong: "it is too long" } : parseProfile(text),
    enabled: has,
    placeholderData: (before) => before,
  });
  const profile = answer.data && !("wrong" in answer.data) ? answer.data : null;
  const wrong = answer.data && "wrong" in answer.data ? answer.data.wrong : null;
  const span = profile && spanOf(profile, { path: place.path, phases, run });
  return (
    <article
      className="profile"
      id={profileElementId(place.path)}
      tabIndex={-1}
      aria-label={place.path}
      data-testid="profile"
    >
      <div className="profile-head">
        <b>{profile?.tool ?? place.path}</b>
        {profile !== null && <Facts profile={profile} />}
        <span className="grow" />
        {span && <Moment run={run} span={span} origin={origin} />}
        <FileLinks run={run.id} folder={place.path} files={files} />
      </div>
      {folder.error && <p className="quiet">The files cannot be listed: {folder.error.message}</p>}
      {answer.error && <p className="quiet">The summary cannot be read: {answer.error.message}</p>}
      {wrong !== null && (
        <p className="quiet" role="alert">
          The summary of {place.path} cannot be shown: {wrong}. Its files can be downloaded.
        </p>
      )}
      {!has && !folder.isPending && !folder.error && (
        <p className="quiet">There is no summary of this profile{kRunning(run)}.</p>
      )}
      {profile !== null && <Found profile={profile} />}
    </article>
  );
}

const kRunning = (run: RunDetail) => (run.status === "running" ? " yet" : "");

function Facts({ profile }: { profile: Profile }) {
  const { total_ms } = profile;
  const parts = [
    stepWords(profile),
    total_ms === null ? "" : `${formatDuration(total_ms / 1000)} in total`,
  ].filter((part) => part !== "");
  return <span className="quiet">{parts.join(" · ")}</span>;
}

// A link, so that the moment can be opened beside or sent on. On other axes than time, it switches to workload time.
function Moment(at: { run: RunDetail; span: Span; origin: bigint | null }) {
  const { run, span, origin } = at;
  const onTime = origin !== null;
  const moment = around(span, origin ?? BigInt(run.workload_start_ns));
  const other = onTime ? {} : { ...kNoPlace, x: undefined, xmetric: undefined, align: undefined };
  return (
    <Link
      to="/runs/$id"
      params={{ id: run.id }}
      search={(old: object): RunSearch => runSearch({ ...old, ...other, ...rounded(moment) })}
      className="button"
      data-testid="profile-moment"
      onClick={() => document.querySelector(".content")?.scrollTo({ top: 0 })}
    >
      Show on the charts
    </Link>
  );
}

function FileLinks(at: { run: string; folder: string; files: readonly FileEntry[] }) {
  return at.files.map(({ name, size }) => (
    <a
      key={name}
      className="link"
      href={urlOf(`${fileUrl(at.run, `${at.folder}/${name}`)}?download`)}
      download
      title={`Download ${name}`}
    >
      {name} <span className="quiet">{formatValue(Number(size ?? 0), "B", 3)}</span>
    </a>
  ));
}

function Found({ profile }: { profile: Profile }) {
  const nothing = profile.top.length === 0 && profile.by_kind.length === 0;
  if (nothing) return <p className="quiet">The profiler recorded nothing in these steps.</p>;
  return (
    <>
      <Stack profile={profile} />
      {profile.top.length > 0 && <Kernels kernels={profile.top} tool={profile.tool} />}
    </>
  );
}

const percent = (share: number) => `${formatNumber(share * 100, 3)}${kThin}%`;

const colourOf = (theme: ChartTheme, kind: string, i: number) =>
  kind === "other" ? theme.ink3 : seriesColour(theme, i);

// Every second part is striped, so that neighbours differ without colour; the legend is in their order.
function Stack({ profile }: { profile: Profile }) {
  const theme = useChartTheme();
  const parts = stackOf(profile);
  if (parts.length === 0) return null;
  const words = parts.map(({ kind, share }) => `${kind} ${percent(share)}`);
  return (
    <>
      <div className="stack" role="img" aria-label={`Time by kind: ${words.join(", ")}`}>
        {parts.map(({ kind, share }, i) => (
          <span
            key={kind}
            className={i % 2 === 1 ? "striped" : ""}
            style={{ flexGrow: share, background: colourOf(theme, kind, i) }}
            title={words[i]}
          />
        ))}
      </div>
      <ul className="stack-legend" aria-label="Time by kind">
        {parts.map(({ kind, ms, share }, i) => (
          <li key={kind}>
            <span
              className={i % 2 === 1 ? "stack-key striped" : "stack-key"}
              style={{ background: colourOf(theme, kind, i) }}
            />
            {kind} <b>{percent(share)}</b>
            <span className="quiet">{formatDuration(ms / 1000)}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

const kColumns: readonly { key: KernelKey; words: string; left?: boolean }[] = [
  { key: "name", words: "name", left: true },
  { key: "kind", words: "kind", left: true },
  { key: "calls", words: "calls" },
  { key: "total_ms", words: "total" },
];
const kMaxRows = 10;

function Kernels({ kernels, tool }: { kernels: readonly Kernel[]; tool: string }) {
  const [by, setBy] = useState<{ key: KernelKey; turned: boolean }>({
    key: "total_ms",
    turned: false,
  });
  const [all, setAll] = useState(false);
  const sorted = sortKernels(kernels, by);
  const shown = all ? sorted : sorted.slice(0, kMaxRows);
  const ascending = (key: KernelKey) => (key === "name" || key === "kind") !== by.turned;
  const label = `Longest kernels, by ${tool}`;
  return (
    <>
      <Scrolling className="profile-table" label={label}>
        <table className="table" aria-label={label}>
          <thead>
            <tr>
              {kColumns.map(({ key, words, left }) => (
                <th
                  key={key}
                  scope="col"
                  className={left ? "left" : ""}
                  aria-sort={by.key !== key ? "none" : ascending(key) ? "ascending" : "descending"}
                >
                  <button
                    type="button"
                    onClick={() => setBy({ key, turned: by.key === key && !by.turned })}
                  >
                    {words}
                    {by.key === key && (
                      <span aria-hidden="true">{ascending(key) ? " ↑" : " ↓"}</span>
                    )}
                  </button>
                </th>
              ))}
              <th scope="col">per call</th>
              <th scope="col" className="left share">
                share
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map((kernel, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: kernels may share a name
              <KernelRow key={i} kernel={kernel} />
            ))}
          </tbody>
        </table>
      </Scrolling>
      {shown.length < sorted.length && (
        <button type="button" className="link" onClick={() => setAll(true)}>
          all {formatCount(sorted.length)}
        </button>
      )}
    </>
  );
}

function KernelRow({ kernel }: { kernel: Kernel }) {
  const { name, kind, calls, total_ms, share } = kernel;
  return (
    <tr>
      <td className="left mono cut" title={name}>
        {name}
      </td>
      <td className="left">{kind}</td>
      <td>{formatCount(calls)}</td>
      <td>{formatDuration(total_ms / 1000)}</td>
      <td>{calls > 0 ? formatDuration(total_ms / 1000 / calls) : "–"}</td>
      <td className="left share">
        <span className="share-bar" style={{ width: `${share * 64}px` }} />
        {percent(share)}
      </td>
    </tr>
  );
}
