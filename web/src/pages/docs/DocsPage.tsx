// `/docs` and `/docs/NAME`: the documents of this version, with search. They need no network.
import { useQuery } from "@tanstack/react-query";
import { Link, useLocation, useNavigate, useParams } from "@tanstack/react-router";
import { type MouseEvent, useEffect, useMemo, useRef, useState } from "react";
import { Failing, Loading, Notice } from "../../app/Notice";
import { Shell } from "../../app/Shell";
import { useTitle } from "../../app/useTitle";
import { type Document, groupsOf, htmlOf, search, sections, titleOf } from "./documents";

async function load(signal: AbortSignal): Promise<Document[]> {
  const response = await fetch("/docs.json", { signal });
  if (!response.ok) throw new Error("This server was built without its documents.");
  return ((await response.json()) as { documents: Document[] }).documents;
}

export function DocsPage() {
  const { name = "readme" } = useParams({ strict: false });
  const docs = useQuery({
    queryKey: ["documents"],
    queryFn: ({ signal }) => load(signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const [typed, setTyped] = useState("");
  // Another document, however one came to it, ends the search.
  // biome-ignore lint/correctness/useExhaustiveDependencies: for each name
  useEffect(() => setTyped(""), [name]);
  const document = docs.data?.find((one) => one.name === name);
  const title = document === undefined ? "Documentation" : titleOf(document);
  useTitle(title);
  return (
    <Shell
      crumbs={[
        <Link key="docs" to="/docs">
          Documentation
        </Link>,
        name === "readme" ? "Start" : title,
      ]}
      panel={docs.data && <Contents documents={docs.data} here={name} />}
      toolbar={
        <input
          type="search"
          className="docs-search"
          placeholder="Search the documentation"
          aria-label="Search the documentation"
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          data-testid="docs-search"
        />
      }
      footer={null}
    >
      {docs.data === undefined && docs.error ? (
        <Failing error={docs.error} retry={() => void docs.refetch()} />
      ) : docs.data === undefined ? (
        <Loading what="the documentation" />
      ) : typed.trim() !== "" ? (
        <Results documents={docs.data} typed={typed} done={() => setTyped("")} />
      ) : document === undefined ? (
        <Notice>
          <p>There is no document named {name}.</p>
          <p>
            <Link to="/docs">All documents</Link> are one click away.
          </p>
        </Notice>
      ) : (
        <Text document={document} documents={docs.data} />
      )}
    </Shell>
  );
}

function Contents({ documents, here }: { documents: readonly Document[]; here: string }) {
  const groups = useMemo(() => groupsOf(documents), [documents]);
  return (
    <nav aria-label="Documents" data-testid="docs-contents">
      {groups.map((group) => (
        <section key={group.name}>
          <h2 className="section-title">{group.name}</h2>
          {group.entries.map((entry) => (
            <Link
              key={entry.name}
              to="/docs/$name"
              params={{ name: entry.name }}
              className={entry.name === here ? "row selected" : "row"}
              {...(entry.name === here ? { "aria-current": "page" as const } : {})}
            >
              <span className="cut">{entry.label}</span>
            </Link>
          ))}
        </section>
      ))}
    </nav>
  );
}

function Text({ document, documents }: { document: Document; documents: readonly Document[] }) {
  const navigate = useNavigate();
  const hash = useLocation({ select: (location) => location.hash });
  const frame = useRef<HTMLDivElement>(null);
  const html = useMemo(() => ({ __html: htmlOf(document, documents) }), [document, documents]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: again for another text
  useEffect(() => {
    const target = hash === "" ? null : window.document.getElementById(hash);
    if (target !== null) target.scrollIntoView();
    else frame.current?.scrollTo(0, 0);
  }, [hash, html]);
  // Links between documents change the page without loading it again.
  const follow = (event: MouseEvent) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    const href = link?.getAttribute("href");
    if (!href?.startsWith("/docs/") || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    void navigate({ href });
  };
  return (
    <div className="content" ref={frame}>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the links within have the keys */}
      <article
        className="doc"
        data-testid="doc"
        onClick={follow}
        // biome-ignore lint/security/noDangerouslySetInnerHtml: made of this program's own documents
        dangerouslySetInnerHTML={html}
      />
    </div>
  );
}

interface ResultsProps {
  documents: readonly Document[];
  typed: string;
  done: () => void;
}

function Results({ documents, typed, done }: ResultsProps) {
  const all = useMemo(() => documents.flatMap(sections), [documents]);
  const found = useMemo(() => search(all, typed), [all, typed]);
  if (found.length === 0) {
    return (
      <Notice>
        <p>No document has these words.</p>
      </Notice>
    );
  }
  return (
    <div className="content">
      <ul className="doc docs-results" data-testid="docs-results">
        {found.map(({ section, line }) => (
          <li key={`${section.document.name}#${section.anchor}`}>
            <Link
              to="/docs/$name"
              params={{ name: section.document.name }}
              hash={section.anchor}
              onClick={done}
            >
              {section.heading === section.title
                ? section.title
                : `${section.title} › ${section.heading}`}
            </Link>
            <p className="quiet cut">{line}</p>
          </li>
        ))}
      </ul>
    </div>
  );
}
