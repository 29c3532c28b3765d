import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { addressOf, type Document, groupsOf, htmlOf, search, sections, titleOf } from "./documents";

const kInstall: Document = {
  name: "install",
  file: "docs/install.md",
  text: [
    "# Install",
    "See [the store](store.md#where) and [the code](../src/main.cpp).",
    "",
    "## With `pip`",
    "```sh",
    "# no heading",
    "pip install corral",
    "```",
    "## A *second* part",
    '<script>alert("x")</script>',
    "## With pip",
    "| a | b |",
    "|---|---|",
    "| [site](https://example.org) | `x` |",
  ].join("\n"),
};
const kStore: Document = { name: "store", file: "docs/store.md", text: "# Store\n## Where\nhere" };
const kReadme: Document = {
  name: "readme",
  file: "README.md",
  text: [
    "# Corral",
    "## Documentation",
    "**Start**: [how to",
    "install](docs/install.md) · [licence](LICENSE)",
    "",
    "Licence: MIT",
  ].join("\n"),
};
const kAll = [kReadme, kInstall, kStore];

const kSections = kAll.flatMap(sections);

test("sections have the anchors of their headings, and code has none", () => {
  expect(sections(kInstall).map(({ heading, anchor }) => [heading, anchor])).toEqual([
    ["Install", "install"],
    ["With pip", "with-pip"],
    ["A second part", "a-second-part"],
    ["With pip", "with-pip-1"],
  ]);
  expect(titleOf(kInstall)).toBe("Install");
});

test("links lead to documents, to the web, or nowhere", () => {
  expect(addressOf("store.md#where", kInstall, kAll)).toBe("/docs/store#where");
  expect(addressOf("../README.md", kInstall, kAll)).toBe("/docs/readme");
  expect(addressOf("#with-pip", kInstall, kAll)).toBe("/docs/install#with-pip");
  expect(addressOf("https://example.org", kInstall, kAll)).toBe("https://example.org");
  expect(addressOf("../src/main.cpp", kInstall, kAll)).toBeNull();
});

test("a document becomes HTML with links that work and no HTML of its own", () => {
  const html = htmlOf(kInstall, kAll);
  expect(html).toContain('<a href="/docs/store#where">the store</a>');
  expect(html).toContain("and the code.");
  expect(html).toContain('<h2 id="with-pip-1">');
  expect(html).toContain('target="_blank" rel="noopener noreferrer">site</a>');
  expect(html).not.toContain("<script>");
  expect(html).toContain("<th>a</th>");
});

test("a corner of a table without words is no heading", () => {
  const table = { name: "t", file: "docs/t.md", text: "| | mean |\n|---|---|\n| CPU | 3 % |" };
  expect(htmlOf(table, [table])).toContain("<thead><tr><td></td><th>mean</th></tr></thead>");
});

test("the contents are the README's list, and then what it does not name", () => {
  expect(groupsOf(kAll)).toEqual([
    { name: "Start", entries: [{ name: "install", label: "how to install" }] },
    { name: "More", entries: [{ name: "store", label: "Store" }] },
  ]);
});

test("search wants all words, and prefers headings", () => {
  const found = search(kSections, "PIP install");
  expect(found[0]?.section.heading).toBe("With pip");
  expect(found[0]?.line).toBe("pip install corral");
  expect(search(kSections, "pip store")).toEqual([]);
  expect(search(kSections, "tore")).toEqual([]);
  expect(search(kSections, "site")[0]?.line).toBe("site · x");
  expect(search(kSections, " ")).toEqual([]);
});

test("the README lists every document of the repository", () => {
  const root = new URL("../", `file://${process.cwd()}/`);
  const read = (name: string, file: string): Document => ({
    name,
    file,
    text: readFileSync(new URL(file, root), "utf8"),
  });
  const files = readdirSync(new URL("docs/", root)).filter((file) => file.endsWith(".md"));
  const all = [
    read("readme", "README.md"),
    ...files.map((file) => read(file.slice(0, -3), `docs/${file}`)),
  ];
  const more = groupsOf(all).find(({ name }) => name === "More");
  expect(more?.entries ?? []).toEqual([]);
});
