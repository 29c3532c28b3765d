import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// A running server to develop against. It answers its own pages only, so requests are made to look like theirs.
const server = process.env.CORRAL_SERVER ?? "http://127.0.0.1:5000";

// The C++ server embeds dist/ and serves it under a policy of `default-src 'self'`, so nothing is
// inlined as data: and everything lies in /assets.
export default defineConfig({
  plugins: [react()],
  base: "/",
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: {
    proxy: { "/api": { target: server, changeOrigin: true, headers: { origin: server } } },
  },
  test: { environment: "happy-dom", include: ["src/**/*.test.{ts,tsx}"] },
});
