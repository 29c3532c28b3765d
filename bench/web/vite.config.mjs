import { fileURLToPath } from "node:url";
// Bundles redraw.ts as one script that a page of the server's origin can be given.
const here = fileURLToPath(new URL(".", import.meta.url));

export default {
  root: here,
  define: { "process.env.NODE_ENV": '"production"' },
  build: {
    target: "es2022",
    copyPublicDir: false,
    lib: {
      entry: "redraw.ts",
      formats: ["iife"],
      name: "corralBench",
      fileName: () => "redraw.js",
    },
  },
};
