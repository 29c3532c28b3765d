import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";
import { filesOf } from "./tools/chunks.ts";
import { documentsFile } from "./tools/documents.ts";

// A running server to develop against. It answers its own pages only, so requests are made to look like theirs.
const server = process.env.CORRAL_SERVER ?? "http://127.0.0.1:5000";

// The code of each page by the address that names it, which begins with it where it ends in "/". first.js has it fetched
// before the frame's code asks for it.
const pages: Record<string, string> = {
  "/": "runs/RunsPage",
  "/board": "board/BoardPage",
  "/summary": "summary/SummaryPage",
  "/compare": "compare/ComparePage",
  "/history": "history/HistoryPage",
  "/collocation": "collocation/CollocationPage",
  "/runs/": "run/RunPage",
  "/experiments/": "experiment/ExperimentPage",
  "/plans": "plans/PlansPage",
  "/plans/": "plans/PlanPage",
  "/docs": "docs/DocsPage",
  "/docs/": "docs/DocsPage",
};

function pagesAhead(): Plugin {
  return {
    name: "pages-ahead",
    transformIndexHtml: {
      order: "post",
      handler(html, { bundle, chunk: entry }) {
        if (bundle === undefined || entry === undefined) return html;
        const chunks = Object.values(bundle).filter((one) => one.type === "chunk");
        const needed = (file: string, known: Set<string>): Set<string> => {
          if (known.has(file)) return known;
          known.add(file);
          const { imports = [] } = chunks.find(({ fileName }) => fileName === file) ?? {};
          for (const one of imports) needed(one, known);
          return known;
        };
        const frame = needed(entry.fileName, new Set());
        const files = Object.entries(pages).map(([path, page]) => {
          const found = chunks.find(({ facadeModuleId }) =>
            facadeModuleId?.endsWith(`/pages/${page}.tsx`),
          );
          if (found === undefined) throw new Error(`there is no chunk of ${page}`);
          const mine = [...needed(found.fileName, new Set())].filter((file) => !frame.has(file));
          return [path, mine.map((file) => `/${file}`)] as const;
        });
        const data = JSON.stringify(Object.fromEntries(files)).replaceAll('"', "&quot;");
        return html.replace('src="/first.js"', `src="/first.js" data-pages="${data}"`);
      },
    },
  };
}

let files = new Map<string, string>();

function fewFiles(): Plugin {
  return {
    name: "few-files",
    apply: "build",
    buildEnd(error) {
      if (error !== undefined) return;
      const ids = [...this.getModuleIds()];
      const named = (end: string) => {
        const found = ids.find((id) => id.endsWith(end));
        if (found === undefined) throw new Error(`there is no module ${end}`);
        return found;
      };
      const idOf = (page: string) => named(`/src/pages/${page}.tsx`);
      const [first = "", ...rest] = [...new Set(Object.values(pages))].map(idOf);
      // A run opens on what was found.
      const boards = ["board/BoardPage", "run/RunPage", "run/Found"].map(idOf);
      const others = rest.filter((id) => !boards.includes(id));
      const roots = { frame: named("/src/main.tsx"), first, boards, others };
      files = filesOf(roots, (id) => this.getModuleInfo(id)?.importedIds ?? []);
      // The order of styles matters.
      for (const id of ids) if (/\.css($|\?)/.test(id)) files.delete(id);
    },
  };
}

// The C++ server embeds dist/ and serves it under a policy of `default-src 'self'`, so nothing is
// inlined as data: and everything lies in /assets.
export default defineConfig({
  plugins: [react(), pagesAhead(), fewFiles(), documentsFile()],
  base: "/",
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [{ name: (id) => files.get(id) ?? null, debugName: "few-files" }],
          includeDependenciesRecursively: false,
        },
      },
    },
  },
  server: {
    proxy: { "/api": { target: server, changeOrigin: true, headers: { origin: server } } },
  },
  test: { environment: "happy-dom", include: ["src/**/*.test.{ts,tsx}"] },
});
