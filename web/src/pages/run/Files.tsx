// The files that a run logged: a tree that is read as it is opened, and a preview of the chosen file.

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type FileEntry, fileUrl, useFolder } from "../../api/artifacts";
import { getText, urlOf } from "../../api/client";
import { Chevron } from "../../app/icons";
import { Failing, Loading, Notice } from "../../app/Notice";
import { Scrolling } from "../../app/Scrolling";
import { formatCount, formatValue } from "../../format/units";
import { parseTable, type Table } from "./table";

export interface FilesProps {
  run: string;
  path: string | undefined;
  open: (path: string) => void;
}

export function Files({ run, path, open }: FilesProps) {
  const top = useFolder(run, "");
  if (top.error) return <Failing error={top.error} retry={() => void top.refetch()} />;
  if (top.isPending) return <Loading what="the files" />;
  if (top.data.length === 0) {
    return (
      <Notice>
        <p>The run logged no files.</p>
        <p>
          <code>corral.artifact("model.pt")</code> in the script, or MLflow's{" "}
          <code>log_artifact</code>, keeps one here.
        </p>
      </Notice>
    );
  }
  return (
    <div className="files">
      <nav className="files-tree" aria-label="Files">
        <Folder run={run} path="" depth={0} chosen={path} open={open} />
      </nav>
      {path === undefined ? (
        <p className="notice quiet">Select a file to preview it.</p>
      ) : (
        <Preview key={path} run={run} path={path} />
      )}
    </div>
  );
}

interface FolderProps {
  run: string;
  path: string;
  depth: number;
  chosen: string | undefined;
  open: (path: string) => void;
}

function Folder({ run, path, depth, chosen, open }: FolderProps) {
  const entries = useFolder(run, path);
  if (entries.isPending) return <p className="row quiet">Loading.</p>;
  if (entries.error) return <p className="row quiet">{entries.error.message}</p>;
  return entries.data.map((entry) => {
    const full = path === "" ? entry.name : `${path}/${entry.name}`;
    const at = { run, path: full, depth, chosen, open };
    return entry.is_dir ? (
      <Branch key={entry.name} name={entry.name} at={at} />
    ) : (
      <Leaf key={entry.name} entry={entry} at={at} />
    );
  });
}

const indent = (depth: number) => ({ paddingLeft: 16 + depth * 16 });

function Branch({ name, at }: { name: string; at: FolderProps }) {
  const [isOpen, setOpen] = useState(at.chosen?.startsWith(`${at.path}/`) ?? false);
  return (
    <>
      <button
        type="button"
        className="row"
        style={indent(at.depth)}
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <Chevron open={isOpen} />
        <span className="cut name">{name}</span>
      </button>
      {isOpen && <Folder {...at} depth={at.depth + 1} />}
    </>
  );
}

function Leaf({ entry, at }: { entry: FileEntry; at: FolderProps }) {
  return (
    <button
      type="button"
      className={at.path === at.chosen ? "row selected" : "row"}
      style={indent(at.depth)}
      aria-current={at.path === at.chosen}
      onClick={() => at.open(at.path)}
    >
      <span className="cut name">{entry.name}</span>
      <span className="count">{formatValue(Number(entry.size ?? 0), "B", 3)}</span>
    </button>
  );
}

const kImage = /\.(png|jpe?g|gif|webp|bmp|avif|svg)$/i;
const kMaxText = 512 * 1024;

function Preview({ run, path }: { run: string; path: string }) {
  const url = fileUrl(run, path);
  return (
    <section className="files-preview" aria-label={path} data-testid="file-preview">
      <div className="line-head">
        <h2 className="cut name" title={path}>
          {path}
        </h2>
        <span className="grow" />
        <a className="button" href={urlOf(`${url}?download`)} download>
          Download
        </a>
      </div>
      {kImage.test(path) ? (
        <Picture src={urlOf(url)} path={path} />
      ) : (
        <Text url={url} path={path} />
      )}
    </section>
  );
}

function Picture({ src, path }: { src: string; path: string }) {
  const [failed, setFailed] = useState(false);
  if (failed) return <p className="quiet">Not a picture that the browser can show.</p>;
  return <img src={src} alt={path} onError={() => setFailed(true)} />;
}

// A character that no text has: most likely a binary format.
const isBinary = (text: string) => {
  const head = text.slice(0, 4096);
  return head.includes("\0") || head.includes("\uFFFD");
};

function Text({ url, path }: { url: string; path: string }) {
  const answer = useQuery({
    queryKey: ["artifact-text", url],
    queryFn: ({ signal }) => getText(url, kMaxText, signal),
  });
  if (answer.error) return <Failing error={answer.error} retry={() => void answer.refetch()} />;
  if (answer.isPending) return <Loading what="the file" />;
  const { text, size } = answer.data;
  if (text === "") return <p className="quiet">The file is empty.</p>;
  if (isBinary(text)) return <p className="quiet">A binary file; download it to open it.</p>;
  const table = parseTable(path, text, size > text.length);
  return (
    <>
      {size > text.length && (
        <p className="quiet">
          The first {formatValue(text.length, "B", 3)} of {formatValue(size, "B", 3)}; download it
          for the rest.
        </p>
      )}
      {table === null ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keys
        <pre className="mono files-text" tabIndex={0}>
          {pretty(path, text)}
        </pre>
      ) : (
        <TableView table={table} />
      )}
    </>
  );
}

function pretty(path: string, text: string): string {
  if (!/\.json$/i.test(path)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

const kMaxRows = 500;

function TableView({ table }: { table: Table }) {
  return (
    <>
      <Scrolling className="files-table" label={"Table"}>
        <table className="table">
          <thead>
            <tr>
              {table.head.map((name, i) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: columns may share a name
                <th key={i} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {table.rows.slice(0, kMaxRows).map((row, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a row is its place
              <tr key={i}>
                {table.head.map((_, k) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: as above
                  <td key={k}>{row[k] ?? ""}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolling>
      {table.rows.length > kMaxRows && (
        <p className="quiet">
          {formatCount(kMaxRows)} of {formatCount(table.rows.length)} rows.
        </p>
      )}
    </>
  );
}
