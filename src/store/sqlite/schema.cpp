#include "store/sqlite/schema.h"

#include <fmt/core.h>

#include <array>

namespace corral::store::sqlite {
namespace {

constexpr std::int64_t kApplicationId = 0x4352524C;  // "CRRL": what `file` and other tools see

// Blobs stand last in their rows, so that the columns before them are read without touching
// overflow pages.
constexpr const char* kFirst = R"sql(
CREATE TABLE experiments (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  name    TEXT NOT NULL UNIQUE,
  created INTEGER NOT NULL
);
CREATE TABLE workloads (
  key        INTEGER PRIMARY KEY AUTOINCREMENT,
  id         BLOB NOT NULL UNIQUE,
  experiment INTEGER NOT NULL REFERENCES experiments (id),
  name       TEXT NOT NULL,
  created    INTEGER NOT NULL
);
CREATE INDEX workloads_by_experiment ON workloads (experiment, created);
CREATE TABLE runs (
  key         INTEGER PRIMARY KEY AUTOINCREMENT,
  id          BLOB NOT NULL UNIQUE,
  name        TEXT NOT NULL,
  experiment  INTEGER NOT NULL REFERENCES experiments (id),
  workload    INTEGER NOT NULL REFERENCES workloads (key),
  status      INTEGER NOT NULL,
  supervised  INTEGER NOT NULL,
  started     INTEGER NOT NULL,
  ended       INTEGER,
  newest      INTEGER NOT NULL,
  end_reason  INTEGER,
  exit_code   INTEGER,
  exit_signal INTEGER,
  host        TEXT NOT NULL
);
CREATE INDEX runs_by_start ON runs (started, id);
CREATE INDEX runs_by_experiment ON runs (experiment, started, id);
CREATE INDEX runs_by_workload ON runs (workload, started, id);
CREATE INDEX runs_by_name ON runs (name, started);
CREATE INDEX runs_by_status ON runs (status, started, id);
CREATE TABLE facts (
  run   INTEGER NOT NULL REFERENCES runs (key),
  kind  INTEGER NOT NULL,
  key   TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (run, kind, key)
) WITHOUT ROWID;
CREATE TABLE sessions (
  key            INTEGER PRIMARY KEY AUTOINCREMENT,
  id             BLOB NOT NULL UNIQUE,
  run            INTEGER NOT NULL REFERENCES runs (key),
  workload       INTEGER NOT NULL REFERENCES workloads (key),
  durable_seq    INTEGER NOT NULL,
  utc_minus_boot INTEGER NOT NULL,
  clock_error    INTEGER NOT NULL,
  started        INTEGER NOT NULL,
  role           TEXT NOT NULL,
  host           TEXT NOT NULL,
  pid            INTEGER NOT NULL,
  rank           INTEGER,
  boot_id        TEXT NOT NULL
);
CREATE INDEX sessions_by_run ON sessions (run);
CREATE TABLE series (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  owner_kind  INTEGER NOT NULL,
  owner       INTEGER NOT NULL,
  name        TEXT NOT NULL,
  source      TEXT NOT NULL,
  unit        TEXT NOT NULL,
  kind        INTEGER NOT NULL,
  aggregation INTEGER NOT NULL,
  points      INTEGER NOT NULL DEFAULT 0,
  nan         INTEGER NOT NULL DEFAULT 0,
  first_time  INTEGER,
  last_time   INTEGER,
  first_step  INTEGER,
  value_time  INTEGER,
  value_step  INTEGER,
  last        REAL,
  min         REAL,
  max         REAL,
  sum         REAL DEFAULT 0,
  UNIQUE (owner_kind, owner, name, source)
);
CREATE TABLE session_series (
  session INTEGER NOT NULL REFERENCES sessions (key),
  local   INTEGER NOT NULL,
  series  INTEGER NOT NULL REFERENCES series (id),
  PRIMARY KEY (session, local)
) WITHOUT ROWID;
CREATE INDEX session_series_by_series ON session_series (series, session, local);
CREATE TABLE batches (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  session   INTEGER NOT NULL REFERENCES sessions (key),
  first_seq INTEGER NOT NULL,
  last_seq  INTEGER NOT NULL,
  t0        INTEGER NOT NULL,
  t1        INTEGER NOT NULL,
  frame     BLOB NOT NULL
);
CREATE INDEX batches_by_time ON batches (session, t1, t0);
CREATE TABLE phases (
  session    INTEGER NOT NULL REFERENCES sessions (key),
  id         INTEGER NOT NULL,
  run        INTEGER NOT NULL REFERENCES runs (key),
  parent     INTEGER NOT NULL,
  kind       INTEGER NOT NULL,
  started    INTEGER,
  ended      INTEGER,
  name       TEXT NOT NULL,
  type       TEXT NOT NULL,
  lane       TEXT NOT NULL,
  links      TEXT NOT NULL,
  attributes TEXT NOT NULL,
  PRIMARY KEY (session, id)
) WITHOUT ROWID;
CREATE INDEX phases_by_run ON phases (run, started);
CREATE TABLE events (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  run        INTEGER NOT NULL REFERENCES runs (key),
  session    INTEGER NOT NULL REFERENCES sessions (key),
  time       INTEGER NOT NULL,
  name       TEXT NOT NULL,
  origin     TEXT NOT NULL,
  attributes TEXT NOT NULL
);
CREATE INDEX events_by_run ON events (run, time);
CREATE TABLE logs (
  id     INTEGER PRIMARY KEY AUTOINCREMENT,
  run    INTEGER NOT NULL REFERENCES runs (key),
  stream INTEGER NOT NULL,
  start  INTEGER NOT NULL,
  length INTEGER NOT NULL,
  time   INTEGER NOT NULL,
  bytes  BLOB NOT NULL,
  UNIQUE (run, stream, start)
);
CREATE INDEX logs_by_run ON logs (run, id);
CREATE TABLE log_streams (
  run    INTEGER NOT NULL REFERENCES runs (key),
  stream INTEGER NOT NULL,
  length INTEGER NOT NULL,
  PRIMARY KEY (run, stream)
) WITHOUT ROWID;
)sql";

constexpr std::array kMigrations = {kFirst};

Result<> migrate_step(Connection& database, std::size_t from) {
  TRY(database.script("BEGIN IMMEDIATE"));
  const auto work = [&]() -> Result<> {
    if (from == 0) {
      TRY(
          database.script("CREATE TABLE meta (key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;"
                          "INSERT INTO meta VALUES ('schema_version', 0);"));
      TRY(database.script(fmt::format("PRAGMA application_id = {}", kApplicationId)));
    }
    TRY(database.script(kMigrations.at(from)));
    TRY(database.exec("UPDATE meta SET value = ?1 WHERE key = 'schema_version'",
                      static_cast<std::int64_t>(from + 1)));
    return database.script("COMMIT");
  };
  Result<> done = work();
  if (!done && database.in_transaction()) static_cast<void>(database.script("ROLLBACK"));
  return done;
}

}  // namespace

int newest_schema() { return static_cast<int>(kMigrations.size()); }

Result<int> schema_version(Connection& database) {
  const auto tables = TRY(database.number("SELECT count(*) FROM sqlite_schema"));
  if (tables.value_or(0) == 0) return 0;
  const auto meta = TRY(
      database.number("SELECT count(*) FROM sqlite_schema WHERE name = 'meta' AND type = 'table'"));
  if (meta.value_or(0) == 0)
    return fail(Code::kUnsupported,
                "corral.db is the database of another program: name another directory");
  const auto version = TRY(database.number("SELECT value FROM meta WHERE key = 'schema_version'"));
  if (!version) return fail(Code::kCorruption, "corral.db does not say its schema version");
  return static_cast<int>(*version);
}

Result<> migrate(Connection& database) {
  const int version = TRY(schema_version(database));
  if (version > newest_schema()) {
    return fail(
        Code::kUnsupported,
        fmt::format(
            "this store was written by a newer Corral (schema {}, this one knows {}): upgrade",
            version, newest_schema()));
  }
  TRY(database.script("PRAGMA journal_mode = WAL"));
  for (auto step = static_cast<std::size_t>(version); step < kMigrations.size(); ++step) {
    auto done = migrate_step(database, step);
    if (!done)
      return tl::unexpected(
          done.error().with_context(fmt::format("migrating the store to schema {}", step + 1)));
  }
  return {};
}

}  // namespace corral::store::sqlite
