// The menu of one chart: its settings, its table, its export.
import { useState } from "react";
import { Dots } from "../app/icons";
import { late, useLoaded } from "../app/late";
import { Popup } from "../app/Popup";
import type { ChartLine } from "../charts/spec";
import { dragChart } from "./layout";
import type { BoardChart, BoardView } from "./useBoard";

export interface ChartMenuProps {
  chart: BoardChart;
  view: BoardView;
  lines: readonly ChartLine[];
}

const ChartOptions = late({
  what: "The menu",
  load: async () => (await import("./ChartOptions")).ChartOptions,
});
const ChartTable = late({
  what: "The table",
  load: async () => (await import("./ChartTable")).ChartTable,
  close: ({ close }) => close(),
});
const Export = late({
  what: "Export",
  load: async () => (await import("./ChartExport")).ChartExport,
  close: ({ close }) => close(),
});

export function ChartMenu({ chart, view, lines }: ChartMenuProps) {
  const [opened, setOpened] = useState<"table" | "export" | null>(null);
  const shut = () => setOpened(null);
  useLoaded(ChartOptions);
  return (
    <>
      <Popup
        button={<Dots />}
        icon
        label={`Options of ${chart.def.name}`}
        title={`Options of ${chart.def.name}; drag to move the chart`}
        press={(event) => dragChart(event, (to) => view.moveChart(chart.key, to))}
        testid="chart-menu"
        className="icon-button small"
      >
        {(close) => (
          <ChartOptions
            chart={chart}
            view={view}
            open={(dialog) => {
              setOpened(dialog);
              close();
            }}
          />
        )}
      </Popup>
      {opened === "export" && <Export chart={chart} view={view} lines={lines} close={shut} />}
      {opened === "table" && <ChartTable chart={chart} view={view} lines={lines} close={shut} />}
    </>
  );
}
