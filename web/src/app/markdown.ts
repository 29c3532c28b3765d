// Markdown as HTML that runs nothing: HTML in it is shown as text. Pure.
import { Marked, type Tokens } from "marked";

// The text of a line of Markdown without its marks.
export const plain = (line: string) =>
  line.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*]/g, "");

// Anchors as GitHub makes them; a repeated heading gets a number.
export function anchors(): (heading: string) => string {
  const seen = new Map<string, number>();
  return (heading) => {
    const name = plain(heading)
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_\- ]/gu, "")
      .replaceAll(" ", "-");
    const count = seen.get(name) ?? 0;
    seen.set(name, count + 1);
    return count === 0 ? name : `${name}-${count}`;
  };
}

export const escaped = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

export interface MarkdownOptions {
  // The address that a link leads to; null: its text alone is shown.
  addressOf: (href: string) => string | null;
  // The address of a picture; null, and without it: it is left out.
  pictureOf?: (href: string) => string | null;
}

export function safeMarkdown({ addressOf, pictureOf }: MarkdownOptions): Marked {
  const anchorOf = anchors();
  return new Marked({
    renderer: {
      heading({ tokens, depth, text }: Tokens.Heading) {
        const anchor = escaped(anchorOf(text));
        return `<h${depth} id="${anchor}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }: Tokens.Link) {
        const inner = this.parser.parseInline(tokens);
        const address = addressOf(href);
        if (address === null) return inner;
        const other = /^[/#]/.test(address) ? "" : ' target="_blank" rel="noopener noreferrer"';
        return `<a href="${escaped(address)}"${other}>${inner}</a>`;
      },
      image({ href, text }: Tokens.Image) {
        const address = pictureOf?.(href) ?? null;
        return address === null ? "" : `<img src="${escaped(address)}" alt="${escaped(text)}">`;
      },
      // Wide code scrolls, by the keyboard, too.
      code: ({ text }: Tokens.Code) => `<pre tabindex="0"><code>${escaped(text)}</code></pre>\n`,
      html: ({ text }: Tokens.HTML | Tokens.Tag) => escaped(text),
      // marked gives the text after a tag like <code> out as it is. Entities (&nbsp;) stay: none opens a tag.
      text(token: Tokens.Text | Tokens.Escape) {
        const inner = "tokens" in token ? token.tokens : undefined;
        return inner
          ? this.parser.parseInline(inner)
          : escaped(token.text).replace(/&amp;(#\d+|#x[\da-f]+|[a-z]\w*);/gi, "&$1;");
      },
      table(token: Tokens.Table) {
        // A corner without words heads nothing: readers of screens would announce an empty heading.
        const line = (row: Tokens.TableCell[], tag: string) => {
          const cells = row.map((cell) => {
            const as = cell.text === "" ? "td" : tag;
            return `<${as}>${this.parser.parseInline(cell.tokens)}</${as}>`;
          });
          return `<tr>${cells.join("")}</tr>`;
        };
        const rows = token.rows.map((row) => line(row, "td")).join("\n");
        const head = `<thead>${line(token.header, "th")}</thead>`;
        return `<div class="doc-table" tabindex="0"><table>${head}<tbody>${rows}</tbody></table></div>\n`;
      },
    },
  });
}
