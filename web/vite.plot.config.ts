import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";
import { es5 } from "./tools/es5.mjs";

const source = (path: string) => fileURLToPath(new URL(`src/${path}`, import.meta.url));

// Modules of the page that its engine cannot run, or runs too slowly.
const standIns = {
  "/nanos": source("plot/nanos.ts"),
  "/hashes/sha2.js": source("plot/sha2.ts"),
};

// The page's drawing code for `corral plot`: one script for an engine of ES5, which the program runs.
export default defineConfig({
  publicDir: false,
  plugins: [
    {
      name: "stand-ins",
      enforce: "pre",
      resolveId: (id) => Object.entries(standIns).find(([end]) => id.endsWith(end))?.[1] ?? null,
    },
    {
      name: "es5",
      generateBundle(_, bundle) {
        for (const file of Object.values(bundle))
          if (file.type === "chunk") file.code = es5(file.code);
      },
    },
  ],
  build: {
    target: "es2022",
    outDir: "dist/assets",
    emptyOutDir: false,
    reportCompressedSize: false,
    rolldownOptions: {
      // "use client" of React's libraries, of which nothing is left.
      onLog: (level, log, handle) => log.code === "MODULE_LEVEL_DIRECTIVE" || handle(level, log),
      treeshake: { moduleSideEffects: (id) => /\/(core-js|src\/plot)\//.test(id) },
    },
    lib: {
      entry: "src/plot/main.ts",
      formats: ["iife"],
      name: "corralPlot",
      fileName: () => "plot.js",
    },
  },
});
