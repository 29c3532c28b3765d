// Files that are dropped anywhere on the page, or chosen from the palette, and their content.
import { useEffect, useMemo, useRef, useState } from "react";
import { late } from "../../app/late";
import { closeOpened, useOpened, useOpenFile } from "../../export/opened";
import { usePaletteActions } from "../../state/palette";

const OpenedFile = late({
  what: "The file's viewer",
  load: async () => (await import("./OpenedFile")).default,
  close: closeOpened,
});

const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;

function useDrops(open: (file: File | undefined) => void): boolean {
  const [over, setOver] = useState(false);
  const latest = useRef(open);
  latest.current = open;
  useEffect(() => {
    const listeners = {
      dragover: (event: DragEvent) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        setOver(true);
      },
      // Out of the window, not from one element into the next.
      dragleave: (event: DragEvent) => event.relatedTarget === null && setOver(false),
      drop: (event: DragEvent) => {
        setOver(false);
        if (!hasFiles(event)) return;
        event.preventDefault();
        latest.current(event.dataTransfer?.files[0]);
      },
    };
    const all = Object.entries(listeners) as [keyof typeof listeners, (event: DragEvent) => void][];
    for (const [name, listen] of all) window.addEventListener(name, listen);
    return () => {
      for (const [name, listen] of all) window.removeEventListener(name, listen);
    };
  }, []);
  return over;
}

export function FileDrop() {
  const { file, wrong } = useOpened();
  const choose = useRef<HTMLInputElement>(null);
  const openFile = useOpenFile();
  const open = (one: File | undefined) => {
    if (one === undefined) return;
    closeOpened();
    void openFile(one)
      .catch((reason: unknown) => (reason instanceof Error ? reason.message : "It failed."))
      .then((said) => useOpened.setState({ wrong: said }));
  };
  const over = useDrops(open);
  const actions = useMemo(
    () => [
      {
        id: "open-file",
        group: "page",
        label: "open a share file",
        hint: "Corral's or radT's",
        act: () => choose.current?.click(),
      },
    ],
    [],
  );
  usePaletteActions("files", actions);
  return (
    <>
      <input
        ref={choose}
        type="file"
        hidden
        accept=".json,application/json"
        aria-label="A share file"
        data-testid="open-any"
        onChange={(event) => {
          open(event.currentTarget.files?.[0]);
          event.currentTarget.value = "";
        }}
      />
      {over && <p className="drop-here">Drop a share file of Corral, or radT's data_….json</p>}
      {wrong !== "" && (
        <div className="banner wrong-file" role="alert">
          <span>{wrong}</span>
          <button type="button" className="link" onClick={closeOpened}>
            close
          </button>
        </div>
      )}
      {file !== null && <OpenedFile file={file} />}
    </>
  );
}
