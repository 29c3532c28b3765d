// Text of a file → a table: CSV and TSV (RFC 4180), and the JSON that MLflow's log_table writes. null when it is
// none. Pure.

export interface Table {
  head: string[];
  rows: string[][];
}

// Fields may be quoted, quotes doubled, and hold separators and line ends.
export function parseCsv(text: string, separator: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let field = "";
  let quoted = false;
  const endRow = () => {
    row.push(field);
    if (row.length > 1 || field !== "") rows.push(row);
    [row, field] = [[], ""];
  };
  for (let i = 0; i < text.length; i++) {
    const c = text[i] as string;
    if (quoted) {
      if (c !== '"') field += c;
      else if (text[i + 1] === '"') {
        field += '"';
        i++;
      } else quoted = false;
    } else if (c === '"' && field === "") quoted = true;
    else if (c === separator) {
      row.push(field);
      field = "";
    } else if (c === "\n") endRow();
    else if (c !== "\r") field += c;
  }
  endRow();
  return rows;
}

function fromJson(text: string): Table | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const { columns, data } = (value ?? {}) as { columns?: unknown; data?: unknown };
  if (!Array.isArray(columns) || !Array.isArray(data) || !data.every(Array.isArray)) return null;
  const word = (cell: unknown) => (typeof cell === "string" ? cell : JSON.stringify(cell));
  return { head: columns.map(String), rows: (data as unknown[][]).map((row) => row.map(word)) };
}

// `cut`: the text is only the beginning of the file, so its last row may be half a row.
export function parseTable(path: string, text: string, cut: boolean): Table | null {
  if (/\.json$/i.test(path)) return cut ? null : fromJson(text);
  const separator = /\.csv$/i.test(path) ? "," : /\.tsv$/i.test(path) ? "\t" : null;
  if (separator === null) return null;
  const rows = parseCsv(text.replace(/^\uFEFF/, ""), separator);
  if (cut) rows.pop();
  const [head, ...rest] = rows;
  return head === undefined ? null : { head, rows: rest };
}
