import { defineConfig } from "vite";

// The script of offline boards: one file without imports, which the page puts into the HTML that it makes.
export default defineConfig({
  publicDir: false,
  build: {
    target: "es2022",
    outDir: "dist/assets",
    emptyOutDir: false,
    reportCompressedSize: false,
    lib: { entry: "src/viewer/main.ts", formats: ["es"], fileName: () => "viewer.js" },
  },
});
