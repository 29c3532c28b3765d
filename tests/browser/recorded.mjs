// Serves the recorded store until Ctrl-C, so that the page can be worked on without trainings:
//   npm --prefix web run recorded [-- PORT]
import { Home } from "./support.mjs";

const home = new Home();
const ended = new Promise((resolve) => {
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, resolve);
});
try {
  await home.loadRecorded();
  await home.listen(Number(process.argv[2] ?? 5310));
  console.log(`The recorded store is served at ${home.url}`);
  await ended;
} finally {
  await home.close();
}
