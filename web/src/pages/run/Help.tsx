// What the mouse and the keys do.
import { Tooltip } from "@mantine/core";

const kKeys: [string, string][] = [
  ["drag", "zoom to a range"],
  ["double-click, Esc", "show everything"],
  ["← →", "move the cursor, with Shift faster"],
  ["+ −", "zoom at the cursor"],
  ["Ctrl wheel", "zoom at the pointer"],
  ["click a name", "hide or show a line"],
  ["double-click a name", "show a line alone"],
];

export function Help() {
  const list = (
    <dl className="facts keys">
      {kKeys.map(([key, what]) => (
        <div key={key} style={{ display: "contents" }}>
          <dt>{key}</dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  );
  return (
    <Tooltip
      label={list}
      events={{ hover: true, focus: true, touch: true }}
      position="bottom-end"
      transitionProps={{ duration: 120 }}
      className="help-tip"
    >
      <button type="button" className="key" aria-label="Keys and gestures">
        ?
      </button>
    </Tooltip>
  );
}
