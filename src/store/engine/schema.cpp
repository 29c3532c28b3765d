#include "store/engine/schema.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

#include "sys/clock.h"

namespace corral::store::sql {
namespace {

// Written for SQLite; PostgreSQL reads it with words exchanged (Dialect::words) and its own lines
// (after `--postgresql`) added. Blobs are the last columns of their rows, so that the other columns
// are read without touching overflow pages. Batch rows and row groups are short-lived: PostgreSQL
// reclaims their space every minute, however large the tables are.
//
// Rows refer to a run without a foreign key: a run's row is deleted at once, its other rows piece
// by piece (remove.h).
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
  run   INTEGER NOT NULL,
  kind  INTEGER NOT NULL,
  key   TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (run, kind, key)
) WITHOUT ROWID;
CREATE TABLE sessions (
  key            INTEGER PRIMARY KEY AUTOINCREMENT,
  id             BLOB NOT NULL UNIQUE,
  run            INTEGER NOT NULL,
  workload       INTEGER NOT NULL,
  removed        INTEGER NOT NULL DEFAULT 0,
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
CREATE INDEX sessions_by_workload ON sessions (workload);
CREATE TABLE series (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  owner_kind  INTEGER NOT NULL,
  owner       INTEGER NOT NULL,
  name        TEXT NOT NULL,
  source      TEXT NOT NULL,
  unit        TEXT NOT NULL,
  kind        INTEGER NOT NULL,
  aggregation INTEGER NOT NULL,
  blocks      INTEGER NOT NULL DEFAULT 0,
  UNIQUE (owner_kind, owner, name, source)
);
CREATE TABLE session_series (
  session INTEGER NOT NULL REFERENCES sessions (key),
  local   INTEGER NOT NULL,
  series  INTEGER NOT NULL REFERENCES series (id),
  slice   INTEGER,
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
  damaged   INTEGER NOT NULL DEFAULT 0,
  frame     BLOB NOT NULL
);
--postgresql ALTER TABLE batches ALTER COLUMN frame SET STORAGE EXTERNAL;
--postgresql ALTER TABLE batches SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 8000);
CREATE INDEX batches_by_session ON batches (session, id);
CREATE TABLE slices (
  session    INTEGER NOT NULL REFERENCES sessions (key),
  slice      INTEGER NOT NULL,
  statistics BLOB NOT NULL,
  PRIMARY KEY (session, slice)
) WITHOUT ROWID;
CREATE TABLE row_groups (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  session INTEGER NOT NULL REFERENCES sessions (key),
  slice   INTEGER NOT NULL,
  state   INTEGER NOT NULL,
  t0      INTEGER NOT NULL,
  t1      INTEGER NOT NULL,
  points  INTEGER NOT NULL,
  data    BLOB NOT NULL
);
--postgresql ALTER TABLE row_groups ALTER COLUMN data SET STORAGE EXTERNAL;
--postgresql ALTER TABLE row_groups SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 8000);
CREATE INDEX row_groups_by_slice ON row_groups (session, slice, id);
CREATE INDEX row_groups_open ON row_groups (session) WHERE state = 0;
CREATE TABLE block_times (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  session INTEGER NOT NULL REFERENCES sessions (key),
  data    BLOB NOT NULL
);
--postgresql ALTER TABLE block_times ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE INDEX block_times_by_session ON block_times (session);
CREATE TABLE blocks (
  series  INTEGER NOT NULL REFERENCES series (id),
  no      INTEGER NOT NULL,
  session INTEGER NOT NULL REFERENCES sessions (key),
  times   INTEGER NOT NULL,
  data    BLOB NOT NULL,
  PRIMARY KEY (series, no)
);
--postgresql ALTER TABLE blocks ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE TABLE pyramid (
  series  INTEGER NOT NULL REFERENCES series (id),
  channel INTEGER NOT NULL,
  tier    INTEGER NOT NULL,
  no      INTEGER NOT NULL,
  data    BLOB NOT NULL,
  PRIMARY KEY (series, channel, tier, no)
);
--postgresql ALTER TABLE pyramid ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE TABLE phases (
  session    INTEGER NOT NULL REFERENCES sessions (key),
  id         INTEGER NOT NULL,
  run        INTEGER NOT NULL,
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
  run        INTEGER NOT NULL,
  session    INTEGER NOT NULL REFERENCES sessions (key),
  time       INTEGER NOT NULL,
  name       TEXT NOT NULL,
  origin     TEXT NOT NULL,
  attributes TEXT NOT NULL
);
CREATE INDEX events_by_run ON events (run, time);
CREATE TABLE logs (
  id     INTEGER PRIMARY KEY AUTOINCREMENT,
  run    INTEGER NOT NULL,
  stream INTEGER NOT NULL,
  start  INTEGER NOT NULL,
  length INTEGER NOT NULL,
  time   INTEGER NOT NULL,
  bytes  BLOB NOT NULL,
  UNIQUE (run, stream, start)
);
CREATE INDEX logs_by_run ON logs (run, id);
CREATE TABLE log_streams (
  run    INTEGER NOT NULL,
  stream INTEGER NOT NULL,
  length INTEGER NOT NULL,
  PRIMARY KEY (run, stream)
) WITHOUT ROWID;
CREATE TABLE removed_runs (
  id       BLOB PRIMARY KEY,
  key      INTEGER NOT NULL,
  workload INTEGER NOT NULL,
  removed  INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE removals (
  owner_kind INTEGER NOT NULL,
  owner      INTEGER NOT NULL,
  workload   INTEGER NOT NULL,
  PRIMARY KEY (owner_kind, owner)
) WITHOUT ROWID;
)sql";

// The tables of MLflow's interface (docs/store-schema.md, "Tracking"). Runs and experiments that
// were deleted there have lifecycle 1: they are hidden, and can be restored. Values of `source_run`
// are ids as clients gave them, of runs that may have been removed.
constexpr const char* kTracking = R"sql(
ALTER TABLE experiments ADD COLUMN lifecycle INTEGER NOT NULL DEFAULT 0;
ALTER TABLE experiments ADD COLUMN updated INTEGER NOT NULL DEFAULT 0;
ALTER TABLE experiments ADD COLUMN artifact_location TEXT NOT NULL DEFAULT '';
ALTER TABLE experiments ADD COLUMN kept INTEGER NOT NULL DEFAULT 0;
INSERT INTO experiments (id, name, created, kept) VALUES (0, 'Default', 0, 1) ON CONFLICT DO NOTHING;
CREATE TABLE experiment_tags (
  experiment INTEGER NOT NULL REFERENCES experiments (id) ON DELETE CASCADE,
  key        TEXT NOT NULL,
  value      TEXT NOT NULL,
  PRIMARY KEY (experiment, key)
) WITHOUT ROWID;
ALTER TABLE runs ADD COLUMN lifecycle INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN user_id TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN artifact_uri TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN client_status INTEGER;
ALTER TABLE runs ADD COLUMN client_end INTEGER;
CREATE TABLE datasets (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  experiment     INTEGER NOT NULL REFERENCES experiments (id) ON DELETE CASCADE,
  name           TEXT NOT NULL,
  digest         TEXT NOT NULL,
  source_type    TEXT NOT NULL,
  source         TEXT NOT NULL,
  dataset_schema TEXT NOT NULL,
  profile        TEXT NOT NULL,
  UNIQUE (experiment, name, digest)
);
CREATE TABLE run_inputs (
  run     INTEGER NOT NULL,
  dataset INTEGER NOT NULL REFERENCES datasets (id) ON DELETE CASCADE,
  context TEXT NOT NULL,
  tags    TEXT NOT NULL,
  PRIMARY KEY (run, dataset)
) WITHOUT ROWID;
CREATE INDEX run_inputs_by_dataset ON run_inputs (dataset);
CREATE TABLE logged_models (
  id             TEXT PRIMARY KEY,
  experiment     INTEGER NOT NULL REFERENCES experiments (id) ON DELETE CASCADE,
  name           TEXT NOT NULL,
  model_type     TEXT NOT NULL,
  source_run     TEXT NOT NULL,
  status         INTEGER NOT NULL,
  status_message TEXT NOT NULL,
  artifact_uri   TEXT NOT NULL,
  created        INTEGER NOT NULL,
  updated        INTEGER NOT NULL,
  lifecycle      INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX logged_models_by_experiment ON logged_models (experiment, created);
CREATE TABLE logged_model_facts (
  model TEXT NOT NULL REFERENCES logged_models (id) ON DELETE CASCADE,
  kind  INTEGER NOT NULL,
  key   TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (model, kind, key)
) WITHOUT ROWID;
CREATE TABLE logged_model_metrics (
  model          TEXT NOT NULL REFERENCES logged_models (id) ON DELETE CASCADE,
  run            TEXT NOT NULL,
  key            TEXT NOT NULL,
  time           INTEGER NOT NULL,
  step           INTEGER NOT NULL,
  dataset_digest TEXT NOT NULL,
  dataset_name   TEXT NOT NULL,
  value          REAL NOT NULL,
  is_nan         INTEGER NOT NULL,
  PRIMARY KEY (model, run, key, time, step, dataset_digest)
) WITHOUT ROWID;
CREATE TABLE run_models (
  run       INTEGER NOT NULL,
  direction INTEGER NOT NULL,
  model     TEXT NOT NULL,
  step      INTEGER NOT NULL,
  PRIMARY KEY (run, direction, model)
) WITHOUT ROWID;
CREATE TABLE registered_models (
  name         TEXT PRIMARY KEY,
  created      INTEGER NOT NULL,
  updated      INTEGER NOT NULL,
  description  TEXT NOT NULL,
  last_version INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE registered_model_tags (
  model TEXT NOT NULL REFERENCES registered_models (name) ON DELETE CASCADE ON UPDATE CASCADE,
  key   TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (model, key)
) WITHOUT ROWID;
CREATE TABLE registered_model_aliases (
  model   TEXT NOT NULL REFERENCES registered_models (name) ON DELETE CASCADE ON UPDATE CASCADE,
  alias   TEXT NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (model, alias)
) WITHOUT ROWID;
CREATE TABLE model_versions (
  model            TEXT NOT NULL REFERENCES registered_models (name) ON DELETE CASCADE ON UPDATE CASCADE,
  version          INTEGER NOT NULL,
  created          INTEGER NOT NULL,
  updated          INTEGER NOT NULL,
  description      TEXT,
  user_id          TEXT NOT NULL,
  stage            TEXT NOT NULL,
  source           TEXT NOT NULL,
  storage_location TEXT NOT NULL,
  source_run       TEXT NOT NULL,
  run_link         TEXT NOT NULL,
  model_id         TEXT NOT NULL,
  status           INTEGER NOT NULL,
  status_message   TEXT NOT NULL,
  PRIMARY KEY (model, version)
) WITHOUT ROWID;
CREATE INDEX model_versions_by_run ON model_versions (source_run);
CREATE TABLE model_version_tags (
  model   TEXT NOT NULL,
  version INTEGER NOT NULL,
  key     TEXT NOT NULL,
  value   TEXT NOT NULL,
  PRIMARY KEY (model, version, key),
  FOREIGN KEY (model, version) REFERENCES model_versions (model, version) ON DELETE CASCADE ON UPDATE CASCADE
) WITHOUT ROWID;
CREATE TABLE traces (
  id                TEXT PRIMARY KEY,
  experiment        INTEGER NOT NULL REFERENCES experiments (id) ON DELETE CASCADE,
  source_run        TEXT NOT NULL,
  client_request_id TEXT NOT NULL,
  started           INTEGER NOT NULL,
  duration          INTEGER,
  state             INTEGER NOT NULL,
  request_preview   TEXT NOT NULL,
  response_preview  TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX traces_by_experiment ON traces (experiment, started);
CREATE INDEX traces_by_run ON traces (source_run, started);
CREATE TABLE trace_facts (
  trace TEXT NOT NULL REFERENCES traces (id) ON DELETE CASCADE,
  kind  INTEGER NOT NULL,
  key   TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (trace, kind, key)
) WITHOUT ROWID;
CREATE TABLE spans (
  trace   TEXT NOT NULL REFERENCES traces (id) ON DELETE CASCADE,
  id      TEXT NOT NULL,
  content BLOB NOT NULL,
  PRIMARY KEY (trace, id)
) WITHOUT ROWID;
)sql";

// Places of artifacts whose owner was removed, until a server has removed their files.
constexpr const char* kRemovedArtifacts = R"sql(
CREATE TABLE removed_artifacts (
  id       INTEGER PRIMARY KEY AUTOINCREMENT,
  location TEXT NOT NULL
);
)sql";

// The page's tables. The texts are long: tables that are no index of themselves.
constexpr const char* kPage = R"sql(
CREATE TABLE views (
  id      TEXT NOT NULL PRIMARY KEY,
  created INTEGER NOT NULL,
  state   TEXT NOT NULL
);
CREATE TABLE boards (
  name    TEXT NOT NULL PRIMARY KEY,
  updated INTEGER NOT NULL,
  state   TEXT NOT NULL
);
CREATE TABLE notes (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  run     INTEGER NOT NULL,
  time    INTEGER,
  created INTEGER NOT NULL,
  text    TEXT NOT NULL
);
CREATE INDEX notes_by_run ON notes (run, id);
)sql";

// Schedulers' documents about their plans, which are compressed already.
constexpr const char* kPlans = R"sql(
CREATE TABLE plans (
  id       TEXT NOT NULL PRIMARY KEY,
  updated  INTEGER NOT NULL,
  summary  TEXT NOT NULL,
  document BLOB NOT NULL
);
--postgresql ALTER TABLE plans ALTER COLUMN document SET STORAGE EXTERNAL;
)sql";

// Hosts own series. `machine` refers to a host, and is NULL where its writer did not say. `feeder`
// and `until` are for a lease that nothing takes yet. `idle_since`: no run refers to the host.
constexpr const char* kHosts = R"sql(
CREATE TABLE hosts (
  key        INTEGER PRIMARY KEY AUTOINCREMENT,
  name       TEXT NOT NULL,
  machine_id TEXT NOT NULL,
  feeder     INTEGER,
  until      INTEGER,
  idle_since INTEGER,
  UNIQUE (machine_id, name)
);
ALTER TABLE runs ADD COLUMN machine INTEGER;
ALTER TABLE sessions ADD COLUMN machine INTEGER;
CREATE INDEX runs_by_machine ON runs (machine) WHERE machine IS NOT NULL;
CREATE INDEX sessions_by_machine ON sessions (machine) WHERE machine IS NOT NULL;
CREATE INDEX events_of_health ON events (run) WHERE name = 'health' AND origin = 'corral';
)sql";

// A person's mark on a finding is a note about it. `finding` is '' where a note is about none.
constexpr const char* kMarks = R"sql(
ALTER TABLE notes ADD COLUMN finding TEXT NOT NULL DEFAULT '';
ALTER TABLE notes ADD COLUMN mark INTEGER;
)sql";

// The time since when a run is in the trash (lifecycle 1). NULL: it is not, or nobody noted a time;
// remove/ then notes one.
constexpr const char* kTrash = R"sql(
ALTER TABLE runs ADD COLUMN trashed INTEGER;
CREATE INDEX runs_in_trash ON runs (trashed) WHERE lifecycle = 1;
)sql";

// Boards and lists of runs are saved alike, each kind with names of its own, and a note may mark a
// span that ends at `ended` (tables/page.h).
constexpr const char* kSavedKinds = R"sql(
ALTER TABLE notes ADD COLUMN ended INTEGER;
ALTER TABLE boards RENAME TO earlier_boards;
CREATE TABLE boards (
  kind    INTEGER NOT NULL,
  name    TEXT NOT NULL,
  updated INTEGER NOT NULL,
  state   TEXT NOT NULL,
  PRIMARY KEY (kind, name)
);
INSERT INTO boards (kind, name, updated, state) SELECT 0, name, updated, state FROM earlier_boards;
DROP TABLE earlier_boards;
)sql";

// Columns of version 2, and statistics of slices as rows (docs/format-block.md). A Corral that does
// not know them would take them for damage, and must refuse the store instead.
constexpr const char* kSmallerBlocks = R"sql(
UPDATE meta SET value = value WHERE key = 'schema_version';
)sql";

// People and their programs (tables/accounts.h). `account_state` has one row, with id 1, as soon as
// anything of them is stored.
constexpr const char* kAccounts = R"sql(
CREATE TABLE users (
  id       INTEGER PRIMARY KEY AUTOINCREMENT,
  name     TEXT NOT NULL UNIQUE,
  display  TEXT NOT NULL,
  role     INTEGER NOT NULL,
  disabled INTEGER NOT NULL,
  created  INTEGER NOT NULL
);
CREATE TABLE tokens (
  id      TEXT NOT NULL PRIMARY KEY,
  hash    BLOB NOT NULL,
  owner   INTEGER NOT NULL REFERENCES users (id),
  label   TEXT NOT NULL,
  role    INTEGER NOT NULL,
  created INTEGER NOT NULL,
  expires INTEGER NOT NULL,
  revoked INTEGER
);
CREATE INDEX tokens_by_owner ON tokens (owner);
CREATE TABLE account_state (
  id       INTEGER NOT NULL PRIMARY KEY,
  required INTEGER NOT NULL,
  version  INTEGER NOT NULL
);
)sql";

// The audit (tables/audit.h). `status` is NULL until the request was answered.
constexpr const char* kAudit = R"sql(
CREATE TABLE audit (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  time    INTEGER NOT NULL,
  person  TEXT NOT NULL,
  address TEXT NOT NULL,
  request TEXT NOT NULL,
  detail  TEXT NOT NULL,
  status  INTEGER
);
CREATE INDEX audit_by_time ON audit (time);
)sql";

// The names of the users who recorded a run and wrote a note; empty: not known. Programs that ask
// to act for a user (tables/device_codes.h), and the token by which a user let one in.
constexpr const char* kPeople = R"sql(
ALTER TABLE runs ADD COLUMN creator TEXT NOT NULL DEFAULT '';
ALTER TABLE notes ADD COLUMN author TEXT NOT NULL DEFAULT '';
ALTER TABLE tokens ADD COLUMN parent TEXT;
CREATE TABLE device_codes (
  secret  BLOB NOT NULL PRIMARY KEY,
  code    TEXT NOT NULL UNIQUE,
  client  TEXT NOT NULL,
  address TEXT NOT NULL,
  expires INTEGER NOT NULL,
  role    INTEGER,
  token   TEXT
);
)sql";

// Spaces and who may see what lies in them (tables/spaces.h).
constexpr const char* kSpaces = R"sql(
CREATE TABLE spaces (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  name    TEXT NOT NULL UNIQUE,
  created INTEGER NOT NULL
);
CREATE TABLE space_members (
  space  INTEGER NOT NULL REFERENCES spaces (id),
  member INTEGER NOT NULL REFERENCES users (id),
  PRIMARY KEY (space, member)
) WITHOUT ROWID;
CREATE INDEX space_members_by_member ON space_members (member);
)sql";

// Identities of users at a provider at which they sign in, and tokens of browsers from a sign-in;
// teams (tables/teams.h).
constexpr const char* kSignIns = R"sql(
ALTER TABLE users ADD COLUMN issuer TEXT;
ALTER TABLE users ADD COLUMN subject TEXT;
CREATE UNIQUE INDEX users_by_identity ON users (issuer, subject);
ALTER TABLE tokens ADD COLUMN origin INTEGER NOT NULL DEFAULT 0;
CREATE TABLE teams (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  name           TEXT NOT NULL UNIQUE,
  issuer         TEXT,
  provider_group TEXT,
  created        INTEGER NOT NULL,
  UNIQUE (issuer, provider_group)
);
CREATE TABLE team_members (
  team   INTEGER NOT NULL REFERENCES teams (id),
  member INTEGER NOT NULL REFERENCES users (id),
  given  INTEGER NOT NULL,
  PRIMARY KEY (team, member)
) WITHOUT ROWID;
CREATE INDEX team_members_by_member ON team_members (member);
CREATE TABLE space_teams (
  space INTEGER NOT NULL REFERENCES spaces (id),
  team  INTEGER NOT NULL REFERENCES teams (id),
  PRIMARY KEY (space, team)
) WITHOUT ROWID;
CREATE INDEX space_teams_by_team ON space_teams (team);
)sql";

// Alerts of people about runs (tables/alerts.h): what was told, and the messages that wait.
constexpr const char* kAlerts = R"sql(
CREATE TABLE alerts (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  owner      INTEGER REFERENCES users (id),
  kinds      INTEGER NOT NULL,
  experiment TEXT NOT NULL,
  metric     TEXT NOT NULL,
  above      REAL,
  below      REAL,
  form       INTEGER NOT NULL,
  target     TEXT NOT NULL,
  secret     TEXT NOT NULL,
  created    INTEGER NOT NULL,
  due        INTEGER NOT NULL DEFAULT 0,
  claimed    INTEGER NOT NULL DEFAULT 0,
  claims     INTEGER NOT NULL DEFAULT 0,
  failures   INTEGER NOT NULL DEFAULT 0,
  left_out   INTEGER NOT NULL DEFAULT 0,
  delivered  INTEGER,
  problem    TEXT
);
CREATE INDEX alerts_by_owner ON alerts (owner);
CREATE TABLE alert_states (
  alert INTEGER NOT NULL,
  run   INTEGER NOT NULL,
  kind  INTEGER NOT NULL,
  told  INTEGER NOT NULL,
  PRIMARY KEY (alert, run, kind)
) WITHOUT ROWID;
CREATE TABLE alert_outbox (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  alert   INTEGER NOT NULL,
  created INTEGER NOT NULL,
  tries   INTEGER NOT NULL DEFAULT 0,
  body    TEXT NOT NULL
);
CREATE INDEX alert_outbox_by_alert ON alert_outbox (alert, tries, id);
CREATE INDEX runs_by_end ON runs (ended) WHERE ended IS NOT NULL;
CREATE INDEX runs_without_end ON runs (key) WHERE ended IS NULL;
)sql";

// Supervisors that record one run together (ingest/members.h).
constexpr const char* kMembers = R"sql(
CREATE TABLE members (
  run         INTEGER NOT NULL,
  no          INTEGER NOT NULL,
  session     INTEGER NOT NULL REFERENCES sessions (key),
  attempt     INTEGER NOT NULL,
  rank        INTEGER,
  host        TEXT NOT NULL,
  machine     INTEGER,
  started     INTEGER NOT NULL,
  ended       INTEGER,
  end_reason  INTEGER,
  exit_code   INTEGER,
  exit_signal INTEGER,
  outcome     TEXT NOT NULL,
  reason      TEXT NOT NULL,
  PRIMARY KEY (run, no)
) WITHOUT ROWID;
CREATE UNIQUE INDEX members_by_session ON members (session);
CREATE INDEX members_by_machine ON members (machine) WHERE machine IS NOT NULL;
)sql";

constexpr std::array kMigrations = {
    kFirst,  kTracking, kRemovedArtifacts, kPage,          kPlans,    kHosts,
    kMarks,  kTrash,    kSavedKinds,       kSmallerBlocks, kAccounts, kAudit,
    kPeople, kSpaces,   kSignIns,          kAlerts,        kMembers};

// Longest first match of a word of the dialect, at the start of an identifier.
std::string with_words(std::string_view sql, const Dialect& dialect) {
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  std::string out;
  for (std::size_t at = 0; at < sql.size();) {
    const bool starts = at == 0 || !is_word(sql[at - 1]);
    const auto* found = dialect.words.data() + dialect.words.size();
    if (starts) {
      found = std::ranges::find_if(dialect.words.data(), found, [&](const auto& word) {
        const std::size_t end = at + word.first.size();
        return sql.substr(at).starts_with(word.first) && (end == sql.size() || !is_word(sql[end]));
      });
    }
    if (found == dialect.words.data() + dialect.words.size()) {
      out += sql[at++];
    } else {
      out += found->second;
      at += found->first.size();
    }
  }
  return out;
}

std::string migration(std::size_t step, const Dialect& dialect) {
  std::string sql = with_words(kMigrations.at(step), dialect);
  if (dialect.own_lines.empty()) return sql;
  for (std::size_t at = 0; (at = sql.find(dialect.own_lines, at)) != std::string::npos;)
    sql.erase(at, dialect.own_lines.size());
  return sql;
}

Result<> migrate_step(Connection& database, std::size_t from) {
  return transact(database, [&]() -> Result<> {
    TRY(database.script(std::string(database.dialect().lock_schema)));
    if (TRY(schema_version(database)) > static_cast<int>(from)) return {};
    if (from == 0) {
      TRY(database.script(
          with_words("CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT "
                     "ROWID; INSERT INTO meta VALUES ('schema_version', 0);",
                     database.dialect())));
    }
    TRY(database.script(migration(from, database.dialect())));
    return database.exec("UPDATE meta SET value = ?1 WHERE key = 'schema_version'", from + 1);
  });
}

}  // namespace

int newest_schema() { return static_cast<int>(kMigrations.size()); }

Result<int> schema_version(Connection& database) {
  if (!TRY(database.has_table("meta"))) {
    if (TRY(database.empty())) return 0;
    return fail(Code::kUnsupported, fmt::format("{} is the database of another program: {}",
                                                database.name(), database.dialect().elsewhere));
  }
  if (TRY(database.number("SELECT value FROM meta WHERE key = 'copying'"))) {
    return fail(Code::kUnsupported, database.name() +
                                        " is a copy that was not finished: run the same `corral "
                                        "store migrate` or `load` again, it goes on");
  }
  const auto version = TRY(database.number("SELECT value FROM meta WHERE key = 'schema_version'"));
  if (!version)
    return fail(Code::kCorruption, database.name() + " does not say its schema version");
  if (*version > newest_schema()) {
    return fail(
        Code::kUnsupported,
        fmt::format(
            "this store was written by a newer Corral (schema {}, this one knows {}): upgrade",
            *version, newest_schema()));
  }
  return static_cast<int>(*version);
}

Result<> migrate(Connection& database, int schema) {
  const int version = TRY(schema_version(database));
  if (version >= schema) return {};
  for (auto step = static_cast<std::size_t>(version); std::cmp_less(step, schema); ++step) {
    auto done = migrate_step(database, step);
    if (!done)
      return tl::unexpected(
          done.error().with_context(fmt::format("migrating the store to schema {}", step + 1)));
  }
  // Experiment 0, which the second migration made, gets the current time.
  if (schema < 2) return {};
  return database.exec("UPDATE experiments SET created = ?1 WHERE id = 0 AND created = 0",
                       sys::utc_now());
}

}  // namespace corral::store::sql
