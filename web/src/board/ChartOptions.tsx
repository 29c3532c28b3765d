// The settings of one chart: value axis, kind, second metric, its own runs, its place.
import { Choice, NumberField, Switch } from "../app/fields";
import type { ChartKind, YAxisSpec } from "../charts/spec";
import { ExpressionField } from "./AddExpression";
import { kChartHeight } from "./chartSpec";
import type { ChoiceChange } from "./choice";
import { kKinds } from "./choice";
import type { BoardChart, BoardView } from "./useBoard";

const kYModes: [YAxisSpec["mode"], string][] = [
  ["auto", "automatic"],
  ["zero", "from zero"],
  ["fixed", "fixed"],
  ["log", "logarithmic"],
  ["clip", "without outliers"],
];

const kKindWords: Record<ChartKind, string> = {
  line: "line with band",
  step: "steps",
  band: "band, min to max",
  scatter: "points",
  heat: "heat map, one row per line",
  multiples: "small multiples, one per line",
};

interface At {
  chart: BoardChart;
  view: BoardView;
}

export interface ChartOptionsProps extends At {
  open: (dialog: "table" | "export") => void;
}

export function ChartOptions({ chart, view, open }: ChartOptionsProps) {
  return (
    <div className="form">
      <Options chart={chart} view={view} />
      <div className="form-row">
        <button type="button" className="button" onClick={() => open("table")}>
          Table
        </button>
        <button
          type="button"
          className="button"
          data-testid="chart-export"
          onClick={() => open("export")}
        >
          Export
        </button>
      </div>
      <div className="form-row">
        <MoveButtons chart={chart} view={view} />
        <button
          type="button"
          className="button"
          onClick={() => view.editCharts((now) => now.filter((_, i) => i !== chart.at))}
        >
          Remove
        </button>
      </div>
    </div>
  );
}

function MoveButtons({ chart, view }: At) {
  const row = view.besides(chart.key);
  return (
    <>
      <button
        type="button"
        className="button"
        title="Move before the chart before ([)"
        disabled={row[0] === chart}
        onClick={() => view.stepChart(chart.key, -1)}
      >
        Move earlier
      </button>
      <button
        type="button"
        className="button"
        title="Move after the chart after (])"
        disabled={row.at(-1) === chart}
        onClick={() => view.stepChart(chart.key, 1)}
      >
        Move later
      </button>
    </>
  );
}

function Options({ chart, view }: At) {
  const { choice } = chart;
  const change = (part: ChoiceChange) => view.editChart(chart.at, part);
  return (
    <>
      <Choice
        label="Values"
        value={choice.y.mode}
        options={kYModes}
        change={(mode) => change({ y: yOf(mode) })}
      />
      <YNumbers y={choice.y} change={(y) => change({ y })} />
      <Choice
        label="Chart type"
        value={choice.kind}
        options={kKinds.map((kind) => [kind, kKindWords[kind]])}
        change={(kind) => change({ kind })}
      />
      <Choice
        label="Right axis"
        value={choice.second ?? ""}
        options={[
          ["", "none"],
          ...view.defs
            .filter((def) => def.name !== chart.def.name && !def.flat)
            .map((def): [string, string] => [def.name, def.name]),
          ...otherExpressions(chart, view),
        ]}
        change={(name) => change(withSecond(name))}
      />
      {chart.second !== null && (
        <>
          <Choice
            label="Right scale"
            value={choice.y2?.mode ?? "auto"}
            options={kYModes}
            change={(mode) => change(withRight(yOf(mode)))}
          />
          <YNumbers y={choice.y2 ?? { mode: "auto" }} change={(y) => change(withRight(y))} />
        </>
      )}
      {chart.def.lines.some(({ made }) => made !== undefined) && (
        <ExpressionField view={view} value={choice.metric} set={(metric) => change({ metric })} />
      )}
      {view.shown.length > 1 && <OwnRuns chart={chart} view={view} change={change} />}
      <div className="form-line">
        <span>Height of all charts</span>
        <NumberField
          label="Height of all charts"
          value={view.search.height ?? kChartHeight}
          change={(height) => view.setHeight(height)}
        />
      </div>
      <Switch
        label="Pinned before all others (P)"
        testid="pin-chart"
        on={choice.pinned === true}
        set={() => view.pinChart(chart.key)}
      />
      <Switch
        label="Independent zoom"
        testid="alone"
        on={choice.range !== undefined}
        set={(on) => {
          const range = on ? { ...view.gesturesOf(chart).range } : undefined;
          change({ range });
        }}
      />
    </>
  );
}

// The expressions that the board draws can be on the right as well.
const otherExpressions = (chart: BoardChart, view: BoardView): [string, string][] => {
  const drawn = [...view.charts.map(({ def }) => def), ...(chart.second ? [chart.second] : [])];
  const names = drawn.filter(({ lines }) => lines[0]?.made !== undefined).map(({ name }) => name);
  return [...new Set(names)]
    .filter((name) => name !== chart.def.name)
    .map((name): [string, string] => [name, name]);
};

function withSecond(name: string): ChoiceChange {
  const none = { second: undefined, y2: undefined };
  return name === "" ? none : { second: name };
}

const withRight = (y: YAxisSpec) => ({ y2: y.mode === "auto" ? undefined : y });

const yOf = (mode: YAxisSpec["mode"]): YAxisSpec =>
  mode === "fixed" ? { mode, from: 0, to: 1 } : { mode };

interface PartProps {
  chart: BoardChart;
  change: (part: ChoiceChange) => void;
}

function YNumbers({ y, change }: { y: YAxisSpec; change: (y: YAxisSpec) => void }) {
  if (y.mode !== "fixed" && y.mode !== "clip") return null;
  const fixed = y.mode === "fixed";
  const [low, high] = fixed ? [y.from ?? 0, y.to ?? 1] : [y.low ?? 1, y.high ?? 99];
  const set = (a: number, b: number) => {
    if (!(b > a)) return;
    change(fixed ? { mode: "fixed", from: a, to: b } : { mode: "clip", low: a, high: b });
  };
  return (
    <div className="form-line">
      <span>{fixed ? "From, to" : "Percentiles"}</span>
      <span className="form-pair">
        <NumberField label="From" value={low} change={(v) => set(v, high)} />
        <NumberField label="To" value={high} change={(v) => set(low, v)} />
      </span>
    </div>
  );
}

function OwnRuns({ chart, view, change }: PartProps & { view: BoardView }) {
  const own = chart.choice.runs;
  const short = (id: string) => id.slice(0, 12);
  const set = (id: string, on: boolean) => {
    const now = own ?? view.shown.map((run) => short(run.id));
    const next = on ? [...now, short(id)] : now.filter((other) => !id.startsWith(other));
    const all = view.shown.every((run) => next.some((other) => run.id.startsWith(other)));
    if (next.length > 0) change({ runs: all ? undefined : next });
  };
  return (
    <fieldset className="form-runs">
      <legend>Runs of this chart</legend>
      {view.shown.map((run) => (
        <label key={run.id} className="form-check">
          <input
            type="checkbox"
            checked={own === undefined || own.some((other) => run.id.startsWith(other))}
            onChange={(event) => set(run.id, event.currentTarget.checked)}
          />
          <span className="cut">{run.name}</span>
        </label>
      ))}
    </fieldset>
  );
}
