// docs.json: the documents of the repository, for the page's /docs and for `corral help`.
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Plugin } from "vite";

const kRoot = fileURLToPath(new URL("../..", import.meta.url));

// Name in addresses and commands -> file. Those of docs/ have their own name.
const kOthers = {
  readme: "README.md",
  examples: "examples/README.md",
  contributing: "CONTRIBUTING.md",
  architecture: "ARCHITECTURE.md",
  changelog: "CHANGELOG.md",
};

function documents(): string {
  const own = readdirSync(`${kRoot}/docs`)
    .filter((file) => file.endsWith(".md"))
    .sort()
    .map((file) => [file.slice(0, -".md".length), `docs/${file}`] as const);
  const all = [...own, ...Object.entries(kOthers)].map(([name, file]) => ({
    name,
    file,
    text: readFileSync(`${kRoot}/${file}`, "utf8"),
  }));
  return JSON.stringify({ documents: all });
}

export function documentsFile(): Plugin {
  return {
    name: "documents",
    configureServer(server) {
      server.middlewares.use("/docs.json", (_, response) => {
        response.setHeader("Content-Type", "application/json");
        response.end(documents());
      });
    },
    generateBundle() {
      this.emitFile({ type: "asset", fileName: "docs.json", source: documents() });
    },
  };
}
