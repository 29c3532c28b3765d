// The matrix of slowdowns: a row for each run that is slowed down, a column for each neighbour, text on a tint.
import type { CSSProperties } from "react";
import { Scrolling } from "../../app/Scrolling";
import { plural } from "../../format/units";
import { type Effect, type EffectMatrix, effectWords, heatOf } from "./table";

export function EffectTable({ matrix }: { matrix: EffectMatrix }) {
  const { sharing, rows, columns, greatest } = matrix;
  return (
    <Scrolling className="matrix-frame" label={`Slowdowns, ${sharing}`}>
      <table className="matrix" data-testid="effects">
        <caption className="quiet">{sharing}: time per step beside others, by that alone</caption>
        <thead>
          <tr>
            <th scope="col">slowed down</th>
            {columns.map((column) => (
              <th key={column} scope="col">
                beside {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, effects }) => (
            <tr key={key}>
              <th scope="row">{key}</th>
              {effects.map((some, i) => (
                <td key={columns[i]} data-testid="effect">
                  {some.length === 0 && <span className="matrix-none">not run</span>}
                  {some.map((effect, k) => (
                    // biome-ignore lint/suspicious/noArrayIndexKey: an effect is its place
                    <EffectCell key={k} effect={effect} greatest={greatest} />
                  ))}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolling>
  );
}

function EffectCell({ effect, greatest }: { effect: Effect; greatest: number }) {
  const { slowdown, n_alone, n_together } = effect.slow;
  const words = effectWords(effect);
  if (slowdown === null)
    return (
      <p className="matrix-none cut" title={words}>
        {words}
      </p>
    );
  const style = { "--share": heatOf(slowdown, greatest) } as CSSProperties;
  return (
    <div className="tinted">
      <div
        className="matrix-value"
        style={style}
        title={`${plural(n_alone, "value")} alone, ${n_together} beside others`}
      >
        {words}
      </div>
    </div>
  );
}
