// A name that every system takes; `rest` if nothing is left of it.
export const fileName = (name: string, rest: string) =>
  name.replace(/[^\p{L}\p{N}._-]+/gu, "_").slice(0, 80) || rest;

// Hands a file that the page made to the reader.
export function download(content: Blob | string, name: string, type = "text/plain"): void {
  const blob = typeof content === "string" ? new Blob([content], { type }) : content;
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // After the browser has taken hold of it.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
