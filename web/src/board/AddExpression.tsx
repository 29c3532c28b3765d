// The button beside the metrics that begins a chart of an expression. The field itself is loaded when it is first shown.
import { late } from "../app/late";
import { Popup } from "../app/Popup";
import type { BoardView } from "./useBoard";

export const ExpressionField = late({
  what: "The field",
  load: async () => (await import("./ExpressionField")).ExpressionField,
});

export function AddExpression({ view }: { view: BoardView }) {
  return (
    <Popup
      button="Add an expression"
      label="Add an expression of metrics"
      className="row quiet"
      testid="add-expression"
    >
      {(close) => (
        <ExpressionField
          view={view}
          value=""
          set={(text) => {
            view.chooseMetric(text, true);
            close();
          }}
        />
      )}
    </Popup>
  );
}
