// A figure as a file, with the fonts that it brings along; each font is fetched when it is first needed.
import regular from "@expo-google-fonts/inter/400Regular/Inter_400Regular.ttf?url";
import bold from "@expo-google-fonts/inter/600SemiBold/Inter_600SemiBold.ttf?url";
import { base64 } from "./base64";
import { type Figure, svgText } from "./figure";

// The browser's own words say neither why nor what to do.
const needed = <T>(part: Promise<T>, what: string): Promise<T> =>
  part.catch(() => {
    throw new Error(
      `${what} could not be loaded: the server does not answer or has a newer version. Try again, or reload the page.`,
    );
  });

const files = new Map<string, Promise<Uint8Array>>();

function fileOf(url: string): Promise<Uint8Array> {
  let file = files.get(url);
  if (file === undefined) {
    const bytes = fetch(url).then(async (answer) => {
      if (!answer.ok) throw new Error(`${answer.status}`);
      return new Uint8Array(await answer.arrayBuffer());
    });
    file = needed(bytes, "The figure's font");
    files.set(url, file);
    file.catch(() => files.delete(url));
  }
  return file;
}

// The font of figures (WOFF2, base64).
export async function figureFace(): Promise<string> {
  const url = new URL(
    "@fontsource-variable/inter/files/inter-latin-wght-normal.woff2",
    import.meta.url,
  );
  return base64(await fileOf(url.href));
}

export const svgOf = async (figure: Figure) => svgText(figure, await figureFace());

export async function pdfFile(figure: Figure): Promise<Blob> {
  const files = [needed(import("./pdf"), "PDF export"), fileOf(regular), fileOf(bold)] as const;
  const [{ pdfOf }, ...fonts] = await Promise.all(files);
  const bytes = pdfOf(figure, { regular: fonts[0], bold: fonts[1] });
  return new Blob([bytes as Uint8Array<ArrayBuffer>], { type: "application/pdf" });
}
