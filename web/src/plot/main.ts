// The entry of `corral plot` (src/cli/plot.cpp): the page's drawing code as one file for an engine of ES5. Text comes in
// as bytes of UTF-8, and goes out as it is.
import "./engine";
import { svgText } from "../export/figure";
import { pdfOf } from "../export/pdf";
import type { Host } from "./ask";
import { drawn, type Plot } from "./draw";
import { type Document, reportPdf } from "./report";

// The functions that the program gives to this code.
declare const corralHost: (request: string) => ArrayBuffer;
declare const Duktape: { enc: (kind: "base64", bytes: ArrayBuffer) => string };

const textOf = (bytes: ArrayBuffer) => new TextDecoder().decode(bytes);
const ask = (request: object) => corralHost(JSON.stringify(request));

const host: Host = {
  get: (path) => JSON.parse(textOf(ask({ get: path }))),
  post: (path, body, accept) => ask({ post: path, body: JSON.stringify(body), accept }),
  near: (word, known) => textOf(ask({ near: word, known })),
};

const file = (name: string) => ask({ file: name });

let plot: Plot | null = null;

function made(): Plot {
  if (plot === null) throw new Error("nothing has been drawn");
  return plot;
}

// Options as JSON (PlotOptions); gives notes and size as JSON.
export function draw(options: ArrayBuffer): string {
  plot = drawn(JSON.parse(textOf(options)), host);
  const { width, height } = plot.figure.picture;
  return JSON.stringify({ notes: plot.notes, width, height });
}

export const csv = () => made().figure.csv;

export const svg = () =>
  svgText(made().figure, Duktape.enc("base64", file("inter-latin-wght-normal")));

// Without a font inside.
export const plainSvg = () => svgText(made().figure);

const fonts = () => ({
  regular: new Uint8Array(file("Inter_400Regular")),
  bold: new Uint8Array(file("Inter_600SemiBold")),
});

export const pdf = () => pdfOf(made().figure, fonts());

// A document as JSON (Document).
export const report = (document: ArrayBuffer) =>
  reportPdf(JSON.parse(textOf(document)) as Document, fonts());
