// Above the charts: the axis, smoothing, groups, the baseline, and the range shown.
import { Link } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import type { Smoothing as SmoothingChoice } from "../api/lines";
import { Choice, NumberField, Switch } from "../app/fields";
import { Chain, Fit } from "../app/icons";
import { Popup } from "../app/Popup";
import { formatNumber } from "../format/units";
import { ExpressionField } from "./AddExpression";
import { kAxisWords, placeWords } from "./axis";
import { Boards } from "./Boards";
import { together } from "./choice";
import { groupChoices } from "./groups";
import { Help } from "./Help";
import { zoomed } from "./pointer";
import { quoted } from "./quote";
import { Share } from "./Share";
import type { BoardView } from "./useBoard";
import {
  type Axis,
  type Band,
  type Grouping,
  goesWith,
  groupingText,
  kNoPlace,
  parseGrouping,
  parseSmoothing,
  smoothingText,
} from "./view";

export function BoardToolbar({ view }: { view: BoardView }) {
  return (
    <>
      <AxisChoice view={view} />
      <Smoothing view={view} />
      <Groups view={view} />
      <BaselineChoice view={view} />
      <span className="grow" />
      <RangeShown view={view} />
      {view.shown.length > 1 && (
        <Link
          to="/summary"
          search={() => ({ run: view.shown.map((run) => run.id) })}
          className="button"
        >
          Summary
        </Link>
      )}
      <Boards view={view} />
      <Share view={view} />
      <Help of="board" />
    </>
  );
}

const kOffered: readonly Axis[] = ["workload", "run", "step", "epoch", "wall"];

// A metric, or an expression of several, as the axis.
function MetricAxis({ view }: { view: BoardView }) {
  const [writing, setWriting] = useState(false);
  const names = view.defs.filter((def) => !def.flat).map((def) => def.name);
  const now = view.axis === "metric" ? (view.search.xmetric ?? "") : "";
  const own = now === "" || names.includes(now) ? [] : [now];
  return (
    <>
      <Choice
        label="Metric as axis"
        value={now}
        options={[["", "none"], ...[...names, ...own].map((one): [string, string] => [one, one])]}
        change={(name) => (name === "" ? view.setAxis("workload") : view.setAxis("metric", name))}
      />
      {writing ? (
        <ExpressionField
          view={view}
          value={own[0] ?? ""}
          set={(text) => view.setAxis("metric", text)}
        />
      ) : (
        <button
          type="button"
          className="link"
          data-testid="axis-expression"
          onClick={() => setWriting(true)}
        >
          Expression as axis
        </button>
      )}
    </>
  );
}

// Another metric as the axis, and the event that is the zero of the axes of time.
function MoreAxes({ view }: { view: BoardView }) {
  const indices = [
    ...new Set(Object.values(view.epochs).flatMap((one) => one.epochs.map(({ index }) => index))),
  ].sort((a, b) => a - b);
  const most = indices.slice(0, kMaxAligned);
  const epoch = /^epoch:(\d+)$/.exec(view.search.align ?? "")?.[1];
  const known = epoch === undefined || most.includes(Number(epoch)) ? [] : [Number(epoch)];
  return (
    <div className="form">
      {view.shown.length === 1 && (
        <button
          type="button"
          className="link"
          aria-pressed={view.axis === "condensed"}
          onClick={() => view.setAxis(view.axis === "condensed" ? "workload" : "condensed")}
        >
          Condensed time: one epoch for all that are alike
        </button>
      )}
      <MetricAxis view={view} />
      {view.onTime && view.axis !== "wall" && (
        <Choice
          label="Zero is at"
          value={view.search.align ?? ""}
          options={[
            ["", `the start of the ${view.axis}`],
            ["step", "the first step"],
            ...(most.length === 0 ? [0, 1] : most)
              .concat(known)
              .map((index): [string, string] => [`epoch:${index}`, `epoch ${index}`]),
          ]}
          change={(align) =>
            view.change(
              (old) => ({
                ...kNoPlace,
                align: align === "" ? undefined : align,
                metric: old.metric && together(old.metric),
              }),
              false,
            )
          }
        />
      )}
    </div>
  );
}

const kMaxAligned = 50;

// "workload time", and where there is less room "workload".
function AxisWords({ axis }: { axis: Axis }) {
  const [first, rest] = kAxisWords[axis].split(" ");
  return (
    <>
      {first}
      {rest !== undefined && <span className="spare"> {rest}</span>}
    </>
  );
}

function moreWords({ axis, search }: BoardView): string {
  if (axis === "condensed") return "condensed";
  return axis === "metric" ? (search.xmetric ?? "metric") : "…";
}

function AxisChoice({ view }: { view: BoardView }) {
  return (
    <fieldset className="segments" aria-label="Axis">
      {kOffered.map((axis) => (
        <button
          key={axis}
          type="button"
          aria-pressed={view.axis === axis}
          aria-label={kAxisWords[axis]}
          data-testid={`axis-${axis}`}
          onClick={() => view.setAxis(axis)}
        >
          <AxisWords axis={axis} />
        </button>
      ))}
      <Popup
        button={moreWords(view)}
        icon={moreWords(view) === "…"}
        label="Other axes, and the position of zero"
        className={moreWords(view) !== "…" || view.search.align ? "on cut" : "cut"}
        testid="axis-more"
      >
        {() => <MoreAxes view={view} />}
      </Popup>
    </fieldset>
  );
}

const kMethods = [
  ["ema", "moving average"],
  ["gaussian", "Gaussian"],
  ["mean", "running mean"],
] as const;

// The slider of a moving average goes to 0.999 and is finer at its end.
const toSlider = (alpha: number) => Math.round((Math.log10(1 - alpha) / -3) * 100);
const fromSlider = (at: number) => Number((1 - 10 ** ((-3 * at) / 100)).toFixed(4));

function smoothWords(smoothing: SmoothingChoice | null): string {
  if (smoothing === null) return "none";
  const { method, amount } = smoothing;
  const name = kMethods.find(([one]) => one === method)?.[1] ?? method;
  return method === "ema" ? formatNumber(amount, 4) : `${name} ${formatNumber(amount, 3)}`;
}

const whyRaw = (counted: boolean) =>
  counted ? "Comparisons are not smoothed" : "Smoothing needs an axis of time or steps";

// Follows the pointer, and sets the weight once it rests.
function useSlider(alpha: number, set: (alpha: number) => void) {
  const [at, setAt] = useState(0);
  useEffect(() => setAt(alpha === 0 ? 0 : toSlider(alpha)), [alpha]);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const slide = (to: number) => {
    setAt(to);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => set(to === 0 ? 0 : fromSlider(to)), 60);
  };
  return [at, slide] as const;
}

function Smoothing({ view }: { view: BoardView }) {
  const smoothing = parseSmoothing(view.search.smooth);
  const counted = view.counted !== null;
  const raw = view.making.baseline !== null || !counted;
  const grouped = view.making.grouping !== null;
  const ema = smoothing === null || smoothing.method === "ema";
  const set = (to: SmoothingChoice | null, replace = false) =>
    view.change(() => ({ smooth: to === null ? undefined : smoothingText(to) }), replace);
  const [at, slide] = useSlider(smoothing?.method === "ema" ? smoothing.amount : 0, (amount) =>
    set(amount === 0 ? null : { method: "ema", amount }, true),
  );
  const perUnit = view.onTime ? "second" : "step";
  return (
    <span className="tool" title={raw ? whyRaw(counted) : undefined}>
      <Popup
        button={
          <>
            smooth <b className="narrow-only">{smoothWords(smoothing)}</b>
          </>
        }
        label="Smoothing"
        className="tool-name"
        testid="smoothing"
      >
        {() => <SmoothingForm {...{ smoothing, perUnit, set }} grouped={grouped} />}
      </Popup>
      {ema ? (
        <input
          type="range"
          className="roomy"
          min={0}
          max={100}
          value={at}
          disabled={raw}
          aria-label="Smoothing"
          aria-valuetext={at === 0 ? "none" : `weight ${fromSlider(at)} per ${perUnit}`}
          data-testid="smooth-slider"
          onChange={(event) => slide(event.currentTarget.valueAsNumber)}
        />
      ) : (
        <b className="roomy">{smoothWords(smoothing)}</b>
      )}
    </span>
  );
}

interface SmoothingFormProps {
  smoothing: SmoothingChoice | null;
  perUnit: string;
  set: (to: SmoothingChoice | null) => void;
  grouped: boolean;
}

function SmoothingForm({ smoothing, perUnit, set, grouped }: SmoothingFormProps) {
  return (
    <div className="form">
      <Choice
        label="Method"
        value={smoothing?.method ?? "ema"}
        options={kMethods}
        change={(method) => set({ method, amount: method === "ema" ? 0.9 : 10 })}
      />
      {smoothing !== null && (
        <div className="form-line">
          <span>{smoothing.method === "ema" ? `Weight per ${perUnit}` : `Width, ${perUnit}s`}</span>
          <NumberField
            label="Amount"
            value={smoothing.amount}
            change={(amount) => set({ ...smoothing, amount })}
          />
        </div>
      )}
      <p className="quiet">
        {grouped
          ? "Groups are smoothed over the columns shown, with both ends of their bands."
          : "Computed by the server from all points; the measured line stays underneath."}
      </p>
      <button type="button" className="button" onClick={() => set(null)}>
        No smoothing
      </button>
    </div>
  );
}

const kBandWords: readonly (readonly [Band, string])[] = [
  ["range", "min to max"],
  ["quartiles", "quartiles"],
  ["std", "standard deviation"],
  ["ci", "95 % interval (repetitions)"],
  ["none", "none"],
];

function Groups({ view }: { view: BoardView }) {
  // Values computed per column have no meaning on other axes.
  if (view.shown.length < 2 || view.counted === null) return null;
  const grouping = parseGrouping(view.search.group);
  const choices = groupChoices(view.shown);
  const label = choices.find(({ value }) => value === grouping?.by)?.label ?? grouping?.by ?? "run";
  return (
    <span className="tool">
      <Popup
        button={
          <>
            group by <b>{label}</b>
          </>
        }
        label="Groups"
        className="tool-name"
        testid="group"
      >
        {() => <GroupsForm view={view} grouping={grouping} choices={choices} />}
      </Popup>
    </span>
  );
}

interface GroupsFormProps {
  view: BoardView;
  grouping: Grouping | null;
  choices: ReturnType<typeof groupChoices>;
}

function GroupsForm({ view, grouping, choices }: GroupsFormProps) {
  const set = (part: Partial<Grouping>) => {
    const now: Grouping = { by: "workload", show: "mean", band: "range", ...grouping, ...part };
    view.change(() => ({ group: groupingText(now), base: undefined }), false);
  };
  const none = () =>
    view.change(() => ({ group: undefined, singles: undefined, base: undefined }), false);
  return (
    <div className="form">
      <Choice
        label="Group by"
        value={grouping?.by ?? ""}
        options={[
          ["", "run: no groups"],
          ...choices.map(({ value, label }): [string, string] => [value, label]),
        ]}
        change={(by) => (by === "" ? none() : set({ by }))}
      />
      <Choice
        label="Colour by"
        value={parseGrouping(view.search.colour)?.by ?? ""}
        options={[
          ["", "run: a colour each"],
          ...choices.map(({ value, label }): [string, string] => [value, label]),
        ]}
        change={(by) => view.change(() => ({ colour: by === "" ? undefined : quoted(by) }), false)}
      />
      {grouping !== null && (
        <>
          <Choice
            label="Show"
            value={grouping.show}
            options={[
              ["mean", "mean"],
              ["median", "median"],
              ["sum", "sum"],
            ]}
            change={(show) =>
              set({ show, band: goesWith(show, grouping.band) ? grouping.band : "quartiles" })
            }
          />
          {grouping.show !== "sum" ? (
            <Choice
              label="Band"
              value={grouping.band}
              options={kBandWords.filter(([band]) => goesWith(grouping.show, band))}
              change={(band) => set({ band })}
            />
          ) : (
            <p className="quiet">A sum has no band.</p>
          )}
          <Switch
            label="single runs underneath"
            on={view.making.singles}
            set={(on) => view.change(() => ({ singles: on ? true : undefined }), false)}
          />
        </>
      )}
    </div>
  );
}

function BaselineChoice({ view }: { view: BoardView }) {
  const { baseline, groups, grouping } = view.making;
  const named: { key: string; label: string }[] =
    grouping === null ? view.shown.map(({ id, name }) => ({ key: id, label: name })) : [...groups];
  if (named.length < 2 || view.counted === null) return null;
  return (
    <span className="tool">
      <Popup
        button={
          <>
            baseline <b className="cut">{baseline?.label ?? "none"}</b>
          </>
        }
        label="Baseline"
        className="tool-name"
        testid="baseline"
      >
        {() => (
          <div className="form">
            <Choice
              label="Compare to"
              value={baseline?.key ?? ""}
              options={[
                ["", "nothing"],
                ...named.map(({ key, label }): [string, string] => [key, label]),
              ]}
              change={(key) => view.compareTo(key === "" ? null : key)}
            />
            {baseline !== null && (
              <Choice
                label="Show"
                value={baseline.as}
                options={[
                  ["ratio", "ratio"],
                  ["difference", "difference"],
                ]}
                change={(as) =>
                  view.change(() => ({ compare: as === "ratio" ? undefined : as }), false)
                }
              />
            )}
          </div>
        )}
      </Popup>
    </span>
  );
}

// Toggles synchronised zoom: a closed or an open chain.
function SyncSwitch({ view }: { view: BoardView }) {
  const { synced, gestures } = view;
  return (
    <button
      type="button"
      className="icon-button switch"
      aria-pressed={synced}
      aria-label="Sync"
      data-testid="sync"
      title={
        synced
          ? "All charts share one zoom. L: zoom independently"
          : "Each chart zooms independently. L: share one zoom"
      }
      onClick={gestures.sync}
    >
      <Chain closed={synced} />
    </button>
  );
}

// Names the zero of the axis if it is not the start.
function zeroWords({ search, onTime, axis }: BoardView): string {
  if (search.align === undefined || !onTime || axis === "wall") return "";
  return search.align === "step"
    ? " from the first step"
    : ` from ${search.align.replace(":", " ")}`;
}

function RangeShown({ view }: { view: BoardView }) {
  const { gestures, zoomedIn } = view;
  const { range, zoom } = gestures;
  const middle = (range.from + range.to) / 2;
  const place = placeWords(view.axis, range);
  const everything = view.live ? "Follow live" : "Reset zoom";
  return (
    <>
      <span className="quiet range" data-testid="range">
        {kAxisWords[view.axis]}
        {zeroWords(view)} {place(range.from)} – {place(range.to)}
      </span>
      {zoomedIn && (
        <button
          type="button"
          className="button fit"
          aria-label={everything}
          title={`${everything} (F)`}
          data-testid="zoom-reset"
          onClick={() => zoom(null)}
        >
          <Fit />
          <span className="spare">{everything}</span>
        </button>
      )}
      <span className="zoom-buttons">
        <button
          type="button"
          className="icon-button"
          aria-label="Zoom out"
          disabled={!zoomedIn}
          onClick={() => zoom(zoomed(gestures, middle, 2))}
        >
          −
        </button>
        <button
          type="button"
          className="icon-button"
          aria-label="Zoom in"
          onClick={() => zoom(zoomed(gestures, middle, 0.5))}
        >
          +
        </button>
        <SyncSwitch view={view} />
      </span>
    </>
  );
}
