// Differences of the set-up: of two groups, or before and after a change.
import type { SetUpDifference } from "../../api/compare";
import { type Column, Rows } from "../../app/Rows";
import { middleEllipsis } from "../../format/text";

const kMost = 8;
const kLetters = 48;

export interface SetUpProps {
  label: string;
  sides: readonly [string, string];
  rows: readonly SetUpDifference[];
}

// A value may be a list or a patch.
function Value({ text }: { text: string }) {
  const [line = ""] = text.split("\n", 1);
  return <span title={text}>{middleEllipsis(line === text ? text : `${line} …`, kLetters)}</span>;
}

export function SetUp({ label, sides: [a, b], rows }: SetUpProps) {
  if (rows.length === 0) return null;
  const columns: Column<SetUpDifference>[] = [
    { name: "set-up", cell: ({ part }) => part, left: true },
    { name: "what", cell: ({ key }) => <Value text={key} />, left: true },
    { name: a, cell: (one) => <Value text={one.a} />, left: true },
    { name: b, cell: (one) => <Value text={one.b} />, left: true },
  ];
  return <Rows label={label} columns={columns} rows={rows} most={kMost} />;
}
