// A report as one HTML file that opens without a server and runs nothing. Pure.
import type { Comparison } from "../../api/compare";
import type { Explanation } from "../../api/explain";
import type { MarkedNote } from "../../api/notes";
import { escaped } from "../../app/markdown";
import type { AskedFigure } from "../../board/figures";
import { laneTitle } from "../../board/laneRows";
import { piecesOf } from "../../board/timeBar";
import { kInter } from "../../charts/inter";
import type { ChartLine } from "../../charts/spec";
import { toSvg } from "../../charts/svg";
import { kLight } from "../../charts/theme";
import { faceRule, svgText } from "../../export/figure";
import { percent } from "../../format/units";
import documentRules from "../../styles/docs.css?inline";
import ownRules from "../../styles/reportFile.css?inline";
import {
  isShown,
  kGroups,
  marginWords,
  ratiosOf,
  unitsOf,
  unitValue,
  valuesOf,
  warningsOf,
} from "../compare/contents";
import {
  alikeWords,
  apart,
  oddOf,
  oddWords,
  steadyWords,
  toldLane,
  verdictWords,
} from "../run/found";

// As wide as the text.
export const kWide = 760;
const kPolicy =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; base-uri 'none'; form-action 'none'";

export const quietHtml = (words: string) =>
  words === "" ? "" : `<p class="quiet">${escaped(words)}</p>\n`;
// In the place of what could not be made.
export const failedHtml = (words: string) => `<p class="failed">${escaped(words)}</p>\n`;

const listHtml = (words: readonly string[], kind: string) =>
  words.length === 0
    ? ""
    : `<ul class="${kind}">${words.map((one) => `<li>${escaped(one)}</li>`).join("")}</ul>\n`;

// ---- pictures of the text

// As markdown.ts writes them; nothing else in its HTML looks so.
const kPicture = /<img src="([^"]*)" alt="([^"]*)">/g;

const plainOf = (attribute: string) =>
  attribute.replaceAll("&quot;", '"').replaceAll("&lt;", "<").replaceAll("&amp;", "&");

export const picturesOf = (html: string): string[] => [
  ...new Set([...html.matchAll(kPicture)].map(([, address = ""]) => plainOf(address))),
];

// A picture that comes along, or why it does not.
export type Embedded = { data: string } | { why: string };

// The bytes that pictures may still take in a file.
export interface Room {
  bytes: number;
}
export const kFull: Embedded = { why: "the pictures of this file would be larger than 50 MB" };

// `server`: what links to pictures that do not come along lead to.
export const withPictures = (
  html: string,
  found: ReadonlyMap<string, Embedded>,
  { server, room }: { server: string; room: Room },
): string =>
  html.replace(kPicture, (_, address: string, alt: string) => {
    const read = found.get(plainOf(address)) ?? { why: "it was not read" };
    const one = "data" in read && read.data.length > room.bytes ? kFull : read;
    if ("data" in one) {
      room.bytes -= one.data.length;
      return `<img src="${escaped(one.data)}" alt="${alt}">`;
    }
    const link = `<a href="${escaped(server)}${address}">${alt === "" ? address : alt}</a>`;
    return `${link} <span class="failed">(a picture that is not in this file: ${escaped(one.why)})</span>`;
  });

// ---- charts

const swatch = ({ colour, dash }: Pick<ChartLine, "colour" | "dash">) =>
  `<svg class="swatch" width="22" height="8" aria-hidden="true"><path d="M0 4H22" stroke="${escaped(colour)}" stroke-width="2" stroke-dasharray="${dash.join(" ")}"/></svg>`;

function legendHtml({ lines, named }: Pick<AskedFigure, "lines" | "named">): string {
  if (lines.length === 0) return "";
  const names = lines.map((line) => `<li>${named ? "" : swatch(line)}${escaped(line.label)}</li>`);
  return `<ul class="legend">${names.join("")}</ul>\n`;
}

const pictureHtml = (svg: string, words: string) =>
  `<div role="img" aria-label="${escaped(words)}">${svg}</div>\n`;

// `prefix` is another one for every picture of the file; with a dot, which no heading's id has.
export function chartHtml(asked: AskedFigure, prefix: string): string {
  const { title, axes, figure, summary, notes } = asked;
  const head = `<figcaption><b>${escaped(title)}</b> <span class="quiet">${escaped(axes)}</span></figcaption>\n`;
  const picture = pictureHtml(svgText(figure, undefined, prefix), summary);
  return `<figure class="chart">${head}${picture}${legendHtml(asked)}${quietHtml(notes.join(" · "))}</figure>\n`;
}

export const chartsHtml = (charts: readonly string[]) =>
  `<div class="${charts.length > 1 ? "charts" : ""}">${charts.join("")}</div>\n`;

// ---- findings of a run

export function foundHtml(found: Explanation, marks: ReadonlyMap<string, MarkedNote>): string {
  const parts = apart(found.findings, marks);
  const lane = toldLane(found.epochs);
  const epochs = lane && alikeWords(lane, found.epochs.length > 1 ? laneTitle(lane.lane) : "");
  const odd = lane === null ? [] : oddOf(lane, parts);
  const lines = [
    piecesOf(found.parts)
      .map(({ name, share }) => `${name} ${percent(share)}`)
      .join(", "),
    verdictWords(parts, found.summary),
    [epochs ?? "", steadyWords(found)].join(" ").trim(),
    odd.map((one) => `Epoch ${one.epoch}: ${oddWords(one)}`).join("; "),
  ];
  const paragraphs = lines.filter((line) => line !== "").map((line) => `<p>${escaped(line)}</p>\n`);
  const state = found.provisional ? " so far" : "";
  return `<h3>Where the time went${state}</h3>\n${paragraphs.join("")}`;
}

// ---- comparisons

function tableHtml(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[], tag: string) =>
    `<tr>${cells.map((cell) => `<${tag}>${escaped(cell)}</${tag}>`).join("")}</tr>\n`;
  const body = rows.map((row) => line(row, "td")).join("");
  return `<div class="doc-table"><table><thead>${line(head, "th")}</thead><tbody>${body}</tbody></table></div>\n`;
}

export function comparisonHtml(found: Comparison, prefix: string): string {
  const on = { width: kWide, theme: kLight, font: kInter };
  const verdicts = found.differences.map(({ verdict, text }) => {
    const kind = isShown(verdict) ? "verdict shown" : "verdict";
    return `<p><span class="${kind}">${escaped(verdict)}</span> ${escaped(text)}</p>\n`;
  });
  const figures = [ratiosOf(found), valuesOf(found)].flatMap((figure, i) => {
    if (figure === null) return [];
    const svg = toSvg(figure.draw(on), kLight.background, `${prefix}${i}.`);
    return `<figure>${pictureHtml(svg, figure.label)}${quietHtml(figure.caption)}</figure>\n`;
  });
  const lost = unitsOf(found.groups).filter(({ unit }) => unit.value === null);
  return [
    listHtml(warningsOf(found), "quiet"),
    quietHtml(marginWords(found)),
    ...verdicts,
    ...figures,
    tableHtml(
      kGroups.map(({ name }) => name),
      found.groups.map((group) => kGroups.map(({ cell }) => cell(group))),
    ),
    listHtml(
      lost.map((one) => `${one.unit.name} of ${one.group.name} not counted: ${unitValue(one)}`),
      "quiet",
    ),
  ].join("");
}

// ---- the file

export const textHtml = (html: string) => `<div class="doc">${html}</div>\n`;

// `address`: of this server's page.
export function liveHtml(address: string, body: string): string {
  const link = escaped(address);
  return `<section class="live">\n${body}<p class="source quiet"><a href="${link}">${link}</a></p>\n</section>\n`;
}

export interface ReportFile {
  name: string;
  // The address of the report.
  address: string;
  // "the version saved …"
  version: string;
  // When it was exported, in words.
  moment: string;
  // The font of figures (WOFF2, base64).
  face: string;
  parts: readonly string[];
}

export function reportHtml({ name, address, version, moment, face, parts }: ReportFile): string {
  const link = escaped(address);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${kPolicy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(name)}</title>
<style>${faceRule(face)}
${documentRules}${ownRules}</style></head><body>
<p class="name quiet">${escaped(name)}</p>
<main>
${parts.join("")}</main>
<footer class="quiet">
<p>Exported ${escaped(moment)} from <a href="${link}">${link}</a>, ${escaped(version)}.</p>
<p>Charts, findings and comparisons show the data of that moment. The address below each part also shows what is not in this file: lanes of phases, media, details of findings, and what differs between compared groups.</p>
</footer>
</body></html>
`;
}
