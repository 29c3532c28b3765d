// The documents that the program brings along (tools/documents.ts): their sections, links and search. Pure.
import { anchors, plain, safeMarkdown } from "../../app/markdown";

export interface Document {
  // As in the address: /docs/NAME.
  name: string;
  // Its file in the repository, "docs/install.md"; links are relative to it.
  file: string;
  text: string;
}

export interface Section {
  document: Document;
  // The document's title.
  title: string;
  // The heading that it stands under, and that heading's anchor; those of the title are the document's.
  heading: string;
  anchor: string;
  text: string;
}

// The way from the README's list of documents: a heading, and the documents below it.
export interface DocumentGroup {
  name: string;
  entries: { name: string; label: string }[];
}

const kHeading = /^(#{1,6}) (.*)$/;
const kFence = /^\s*```/;

export function sections(document: Document): Section[] {
  const anchorOf = anchors();
  const all: Section[] = [];
  let fenced = false;
  for (const line of document.text.split("\n")) {
    if (kFence.test(line)) fenced = !fenced;
    const heading = fenced ? null : kHeading.exec(line)?.[2];
    const last = all.at(-1);
    if (heading != null) {
      const text = plain(heading);
      const title = all[0]?.title ?? text;
      all.push({ document, title, heading: text, anchor: anchorOf(heading), text: "" });
    } else if (last !== undefined) {
      last.text += `${line}\n`;
    }
  }
  return all;
}

export const titleOf = (document: Document) => sections(document)[0]?.title ?? document.name;

// The document that a link in `from` leads to, as an address of the page; null: it is not among them. A link of the
// web stays as it is.
export function addressOf(
  href: string,
  from: Document,
  documents: readonly Document[],
): string | null {
  if (/^[a-z]+:/.test(href)) return href;
  const target = new URL(href, `file:///${from.file}`);
  const file = decodeURIComponent(target.pathname.slice(1));
  const found = documents.find((document) => document.file === file);
  return found === undefined ? null : `/docs/${found.name}${target.hash}`;
}

// HTML of a document. Its pictures are left out: they show the page that one looks at.
export function htmlOf(document: Document, documents: readonly Document[]): string {
  const marked = safeMarkdown({ addressOf: (href) => addressOf(href, document, documents) });
  return marked.parse(document.text, { async: false });
}

// The groups of the README's section "Documentation"; what it does not name comes last.
export function groupsOf(documents: readonly Document[]): DocumentGroup[] {
  const readme = documents.find((document) => document.name === "readme");
  if (readme === undefined) return [];
  const list = sections(readme).find((section) => section.heading === "Documentation");
  const named = new Set(["readme"]);
  const groups: DocumentGroup[] = [];
  for (const paragraph of (list?.text ?? "").split("\n\n")) {
    const name = /^\*\*([^*]+)\*\*:/.exec(paragraph)?.[1];
    if (name === undefined) continue;
    const entries = [...paragraph.matchAll(/\[([^\]]+)\]\(([^)]+)\)/g)].flatMap(
      ([, label, href]) => {
        const address = addressOf(href as string, readme, documents);
        const document = documents.find((one) => `/docs/${one.name}` === address);
        if (document === undefined || named.has(document.name)) return [];
        named.add(document.name);
        return [{ name: document.name, label: (label as string).replace(/\s+/g, " ") }];
      },
    );
    groups.push({ name, entries });
  }
  const others = documents
    .filter((document) => !named.has(document.name))
    .map((document) => ({ name: document.name, label: titleOf(document) }));
  return others.length > 0 ? [...groups, { name: "More", entries: others }] : groups;
}

export interface Found {
  section: Section;
  // The first line of the section that has one of the words, without marks; "" when only headings have them.
  line: string;
}

// True if a word of `text` begins with `word`, which is in lower case.
function has(text: string, word: string): boolean {
  const lower = text.toLowerCase();
  for (let at = lower.indexOf(word); at >= 0; at = lower.indexOf(word, at + 1))
    if (at === 0 || !/[\p{L}\p{N}]/u.test(lower[at - 1] as string)) return true;
  return false;
}

// A line of Markdown as a line of text, without the bars of a table.
const lineText = (line: string) =>
  plain(line)
    .replace(/^[|\s-]+|[|\s]+$/g, "")
    .replaceAll(" | ", " · ");

// Sections that have all the words in their text, heading or title: those with them in headings first.
export function search(all: readonly Section[], typed: string, most = 30): Found[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const found = all.flatMap((section) => {
    const heads = `${section.title} ${section.heading}`;
    if (!words.every((word) => has(heads, word) || has(section.text, word))) return [];
    const points = words.reduce(
      (sum, word) =>
        sum + (has(section.heading, word) ? 3 : 0) + (has(section.title, word) ? 2 : 0),
      0,
    );
    const line = section.text.split("\n").find((one) => words.some((word) => has(one, word)));
    return [{ section, line: lineText(line ?? ""), points }];
  });
  return found
    .sort((a, b) => b.points - a.points)
    .slice(0, most)
    .map(({ section, line }) => ({ section, line }));
}
