// A share file: small, it shows a board again from its server. Pure.

export interface ShareFile {
  corral: 1;
  // The server that made it, and the path of the page that shows it.
  server: string;
  path: string;
  title: string;
  made: string;
}

export const shareFile = (at: { origin: string; path: string; title: string }): ShareFile => ({
  corral: 1,
  server: at.origin,
  path: at.path,
  title: at.title,
  made: new Date().toISOString(),
});

// The path that a share file shows on this server; an error in words when it is none.
export function readShare(value: unknown): { path: string } | { wrong: string } {
  const { corral, path } = (value ?? {}) as Partial<ShareFile>;
  if (corral !== 1 || typeof path !== "string")
    return {
      wrong: "Not a share file of radT, or of a version of Corral that this page supports.",
    };
  if (!/^\/(board|runs\/[\w%-]+|experiments\/\d+)(\?|$)/.test(path))
    return {
      wrong: `The share file points to ${path.slice(0, 80)}, which is not a page of Corral.`,
    };
  return { path };
}

// Four lines that show the offline page, lying beside it, inside another page. (The live page forbids frames.)
export const embedLines = (file: string): string => `<iframe
  src="${file.replaceAll("&", "&amp;").replaceAll('"', "&quot;")}"
  title="Corral" width="1280" height="800" style="border:0" loading="lazy">
</iframe>
`;
