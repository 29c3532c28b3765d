// Records the store that screens.test.mjs looks at, once: real trainings of the digits example, alone, as a
// collocated pair and repeated, one run that failed and one that measured nothing; then backs it up.
//
//   node tests/browser/record.mjs tests/browser/fixtures/digits.corral.gz
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { Home } from "./support.mjs";

const kEpochs = 6;
// Folders and names of the machine that recorded say nothing to anybody.
const kTidy = `
import sqlite3, sys
file, *folders = sys.argv[1:]
with sqlite3.connect(file) as store:
    for old, new in zip(folders[::2], folders[1::2]):
        store.execute("UPDATE facts SET value = replace(value, ?, ?)", (old, new))
    for key, value in {"kernel": '"Linux 6.1.0 x86_64"', "user": '"ada"'}.items():
        store.execute("UPDATE facts SET value = ? WHERE kind = 2 AND key = ?", (value, key))
store.execute("VACUUM")
`;
const home = new Home();
try {
  await home.serve();
  copyFileSync(home.example, join(home.folder, "train.py"));
  const run = (workload, name, ...command) => {
    const names = ["--experiment", "digits", "--workload", workload, "--name", name];
    return home.start("run", ...names, ...command);
  };
  const train = (workload, name, width, seed) => {
    const options = ["--width", width, "--seed", seed, "--epochs", kEpochs].map(String);
    return run(workload, name, "train.py", ...options);
  };
  const ends = async (started, status = 0) =>
    assert.equal(await started.ended, status, started.output());
  for (const seed of [1, 2, 3]) await ends(train(`alone ${seed}`, `alone ${seed}`, 16, seed));
  const pair = [train("pair", "pair narrow", 16, 1), train("pair", "pair wide", 32, 1)];
  for (const started of pair) await ends(started);
  await ends(run("broken", "broken", "sh", "-c", "echo no such file >&2; exit 3"), 3);
  const file = join(home.folder, "backup.corral");
  await ends(home.start("store", "backup", file));
  const { CORRAL_PYTHON } = home.environment;
  const python = CORRAL_PYTHON.replace(/\/bin\/[^/]+$/, "");
  execFileSync("python3", [
    "-c",
    kTidy,
    file,
    home.folder,
    "/home/ada/digits",
    python,
    "/opt/python",
  ]);
  await ends(home.start("store", "check", "--store", file));
  writeFileSync(process.argv[2], gzipSync(readFileSync(file), { level: 9 }));
} finally {
  await home.close();
}
