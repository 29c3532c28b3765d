// Prints what the first load costs in JavaScript, gzip, and fails over the budget. Run after the build.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const kBudget = 200 * 1024;
const dist = fileURLToPath(new URL("../dist", import.meta.url));
const html = readFileSync(join(dist, "index.html"), "utf8");
const files = [...html.matchAll(/(?:src|href)="(\/[^"]+\.(?:js|css))"/g)].map((m) => m[1]);
let total = 0;
for (const file of files) {
  const bytes = gzipSync(readFileSync(join(dist, file)), { level: 9 }).length;
  if (file.endsWith(".js")) total += bytes;
  console.log(`${file}  ${(bytes / 1024).toFixed(1)} KB gzip`);
}
console.log(`first-load JavaScript ${(total / 1024).toFixed(1)} KB of ${kBudget / 1024} KB`);
if (total === 0 || total > kBudget) process.exit(1);
