#include "store/remove/remove.h"

#include <fmt/core.h>

#include <array>
#include <map>
#include <set>

#include "core/failpoint.h"
#include "metric/catalogue.h"
#include "store/engine/stored.h"
#include "store/model/statistics.h"
#include "sys/clock.h"

namespace corral::store::sql {
namespace {

constexpr auto kRunOwner = static_cast<std::int64_t>(metric::Owner::kRun);
constexpr auto kWorkloadOwner = static_cast<std::int64_t>(metric::Owner::kWorkload);
constexpr auto kHostOwner = static_cast<std::int64_t>(metric::Owner::kHost);
// The series of a host that no run refers to are kept for so long.
constexpr Nanos kHostsKept = std::chrono::days(30);

struct Owner {
  std::int64_t kind = kRunOwner;
  std::int64_t key = 0;  // key of a run, a workload or a host
};

// ---- marking
struct RunRow {
  std::int64_t key = 0;
  std::int64_t workload = 0;
  std::int64_t experiment = 0;
  RunStatus status = RunStatus::kRunning;
  std::string name;
  std::string artifacts;  // empty: at the usual place
  std::optional<UtcTime> trashed = {};
};

Result<std::optional<RunRow>> lock_run(Connection& db, RunId id) {
  const std::string lock(db.dialect().lock_row);
  // Sessions before the run, as ingest does; one that is made meanwhile is locked by its maker.
  TRY(
      db.exec("SELECT key FROM sessions WHERE run = (SELECT key FROM runs WHERE id = ?1) "
              "ORDER BY id" +
                  lock,
              id));
  Statement row = TRY(db.query(
      "SELECT key, workload, experiment, status, name, artifact_uri, lifecycle, trashed FROM runs "
      "WHERE id = ?1" +
          lock,
      id));
  if (!TRY(row.step())) return std::nullopt;
  return RunRow{.key = row.integer(0),
                .workload = row.integer(1),
                .experiment = row.integer(2),
                .status = static_cast<RunStatus>(row.integer(3)),
                .name = row.text(4),
                .artifacts = row.text(5),
                .trashed = static_cast<Lifecycle>(row.integer(6)) == Lifecycle::kDeleted
                               ? std::optional(row.maybe_utc(7).value_or(sys::utc_now()))
                               : std::nullopt};
}

// ---- artifacts
Result<std::string> artifact_location(Connection& db, ExperimentId id) {
  Statement row = TRY(db.query("SELECT artifact_location FROM experiments WHERE id = ?1", id));
  std::string location = TRY(row.step()) ? row.text(0) : std::string();
  return location.empty() ? default_artifact_location(id) : location;
}

Result<> note_artifacts(Connection& db, const std::string& location) {
  return db.exec("INSERT INTO removed_artifacts (location) VALUES (?1)", location);
}

// If the directory is the run's own, all of it is removed.
Result<> note_artifacts_of_run(Connection& db, RunId id, const RunRow& run) {
  constexpr std::string_view kFiles = "/artifacts";
  std::string place = run.artifacts;
  if (place.empty())
    place = fmt::format("{}/{}{}", TRY(artifact_location(db, ExperimentId{run.experiment})),
                        id.hex(), kFiles);
  if (place.ends_with(fmt::format("/{}{}", id.hex(), kFiles)))
    place.resize(place.size() - kFiles.size());
  return note_artifacts(db, place);
}

// Rows that go with an experiment's row.
Result<> note_artifacts_of_experiment(Connection& db, ExperimentId id) {
  TRY(
      db.exec("INSERT INTO removed_artifacts (location) SELECT artifact_uri FROM logged_models "
              "WHERE experiment = ?1 AND artifact_uri <> ''",
              id));
  return db.exec(
      "INSERT INTO removed_artifacts (location) SELECT CAST(?2 AS TEXT) || '/traces/' || id FROM "
      "traces WHERE experiment = ?1",
      id, TRY(artifact_location(db, id)));
}

Result<> mark(Connection& db, const Owner& owner, std::int64_t workload) {
  return db.exec("INSERT INTO removals (owner_kind, owner, workload) VALUES (?1, ?2, ?3)",
                 owner.kind, owner.key, workload);
}

// ---- cleaning
// Sessions whose data is deleted. A run's: all except those that fed its workload's series while
// the workload has other runs. A workload's: all, because it is removed with its last run. If a
// session fed a host's series, its slices with such series stay, and its other rows stay until
// their points have risen from batch rows. A host's: all.
constexpr std::array<std::string_view, 3> kSessions = {
    "SELECT s.key FROM sessions s WHERE s.run = ?1 AND s.key NOT IN (SELECT m.session FROM "
    "removals d JOIN workloads w ON w.key = d.workload JOIN series x ON x.owner_kind = 1 AND "
    "x.owner = w.key JOIN session_series m ON m.series = x.id WHERE d.owner_kind = 0 AND d.owner = "
    "?1)",
    "SELECT s.key FROM sessions s WHERE s.workload = ?1",
    "SELECT s.key FROM sessions s WHERE s.machine = ?1 AND s.removed <> 0"};
// The next few series of the owner. Their rows stay until all their data is deleted.
constexpr std::string_view kSeries =
    "SELECT id FROM series WHERE owner_kind = {} AND owner = ?1 ORDER BY id LIMIT 16";
// Series of hosts that stay, by the session of a row.
constexpr std::string_view kFeeds =
    "SELECT 1 FROM session_series m JOIN series x ON x.id = m.series WHERE x.owner_kind = 2{} AND "
    "m.session = t.session";

// One kind of rows. In `where` the table is t, ?1 the owner's key, and {sessions}, {series} and
// {feeds} stand for the queries above.
struct Step {
  std::string_view table, keys, where;
  std::int64_t rows = 0;  // at a time: of large ones few
};
constexpr std::array<Step, 4> kSessionSteps = {
    {{"batches", "id", "t.session IN ({sessions}) AND NOT EXISTS ({feeds})", 32},
     {"row_groups", "id",
      "t.session IN ({sessions}) AND NOT EXISTS ({feeds} AND m.slice = t.slice)", 16},
     {"slices", "session, slice",
      "t.session IN ({sessions}) AND NOT EXISTS ({feeds} AND m.slice = t.slice)", 64},
     {"block_times", "id", "t.session IN ({sessions}) AND NOT EXISTS ({feeds})", 64}}};
constexpr std::array<Step, 4> kSeriesSteps = {
    {{"blocks", "series, no", "t.series IN ({series})", 64},
     {"pyramid", "series, channel, tier, no", "t.series IN ({series})", 64},
     {"session_series", "session, local", "t.series IN ({series})", 256},
     {"series", "id", "t.id IN ({series})", 16}}};
constexpr std::array<Step, 9> kRunSteps = {
    {{"notes", "id", "t.run = ?1", 64},
     {"run_inputs", "run, dataset", "t.run = ?1", 256},
     {"run_models", "run, direction, model", "t.run = ?1", 256},
     {"phases", "session, id", "t.run = ?1", 256},
     {"events", "id", "t.run = ?1", 256},
     {"logs", "id", "t.run = ?1", 16},
     {"log_streams", "run, stream", "t.run = ?1", 16},
     {"members", "run, no", "t.run = ?1", 256},
     {"facts", "run, kind, key", "t.run = ?1", 256}}};

// Deletes ?2 rows of the owner ?1. RETURNING counts them.
std::string delete_statement(const Step& step, const Owner& owner) {
  const std::string_view of_others = owner.kind == kHostOwner ? " AND x.owner <> ?1" : "";
  const std::string where =
      fmt::format(fmt::runtime(step.where),
                  fmt::arg("sessions", kSessions.at(static_cast<std::size_t>(owner.kind))),
                  fmt::arg("series", fmt::format(kSeries, owner.kind)),
                  fmt::arg("feeds", fmt::format(kFeeds, of_others)));
  return fmt::format(
      "DELETE FROM {0} WHERE ({1}) IN (SELECT {1} FROM {0} t WHERE {2} LIMIT ?2) RETURNING 1",
      step.table, step.keys, where);
}

class Cleaning {
 public:
  Cleaning(Connection& db, const Owner& owner, BootTime until)
      : db_(db), owner_(owner), until_(until) {}

  // Every kind of rows in turn; when nothing was found in a whole round, the owner is clean. (While
  // other servers seal, a level may get rows from the one below it after its turn.)
  Result<> round() {
    TRY(all(kSessionSteps));
    TRY(series());
    if (owner_.kind == kRunOwner) TRY(all(kRunSteps));
    if (gone_ > 0) return {};
    clean_ = true;
    return db_.exec("DELETE FROM removals WHERE owner_kind = ?1 AND owner = ?2", owner_.kind,
                    owner_.key);
  }
  [[nodiscard]] bool clean() const { return clean_; }

 private:
  // False until a row was deleted, so that every round makes progress, however slow the database
  // is.
  [[nodiscard]] bool late() const { return gone_ > 0 && sys::boot_now() >= until_; }

  // Returns the number of deleted rows.
  Result<std::int64_t> one(const Step& step) {
    Statement row = TRY(db_.query(delete_statement(step, owner_), owner_.key, step.rows));
    std::int64_t count = 0;
    while (TRY(row.step())) ++count;
    failpoint::reach("remove.step");
    gone_ += count;
    return count;
  }
  Result<> all(std::span<const Step> steps) {
    for (const Step& step : steps) {
      while (!late() && TRY(one(step)) > 0) {
      }
    }
    return {};
  }
  Result<> series() {
    std::int64_t before = 0;
    do {
      before = gone_;
      TRY(all(std::span(kSeriesSteps).first(kSeriesSteps.size() - 1)));
      // Once: after it the query gives the next few, of which everything is still there.
      if (!late()) TRY(one(kSeriesSteps.back()));
    } while (gone_ > before && !late());
    return {};
  }

  Connection& db_;
  const Owner owner_;
  const BootTime until_;
  std::int64_t gone_ = 0;
  bool clean_ = false;
};

// No run refers to the host, nor a member of one.
constexpr std::string_view kUnused =
    "NOT EXISTS (SELECT 1 FROM runs r WHERE r.machine = hosts.key) AND NOT EXISTS (SELECT 1 FROM "
    "members m WHERE m.machine = hosts.key)";

// Marks hosts that no run has referred to for long; of the others, notes since when.
Result<> mark_idle_hosts(Connection& db) {
  const UtcTime now = sys::utc_now();
  TRY(db.exec(
      fmt::format("UPDATE hosts SET idle_since = ?1 WHERE idle_since IS NULL AND {}", kUnused),
      now));
  const auto gone = TRY(db.numbers(
      fmt::format("DELETE FROM hosts WHERE idle_since < ?1 AND {} RETURNING key", kUnused),
      now - kHostsKept));
  for (const std::int64_t key : gone) TRY(mark(db, {.kind = kHostOwner, .key = key}, 0));
  return {};
}

Result<std::optional<Owner>> next_owner(Connection& db) {
  Statement row =
      TRY(db.query("SELECT owner_kind, owner FROM removals ORDER BY owner_kind, owner "
                   "LIMIT 1" +
                   std::string(db.dialect().lock_row)));
  if (!TRY(row.step())) return std::nullopt;
  return Owner{.kind = row.integer(0), .key = row.integer(1)};
}

}  // namespace

std::string default_artifact_location(ExperimentId id) {
  return fmt::format("mlflow-artifacts:/{}", id.value);
}

tl::unexpected<Error> still_running(const std::string& name, RunId id) {
  return fail(Code::kConflict,
              fmt::format("run {} ({}) is still running: stop it first, or force its removal", name,
                          id.hex()));
}

Result<bool> mark_removed(Connection& db, RunId id, IfRunning running,
                          std::optional<UtcTime> trashed_before) {
  const auto run = TRY(lock_run(db, id));
  if (!run) return false;
  if (trashed_before && !(run->trashed && *run->trashed < *trashed_before)) {
    if (running == IfRunning::kSkip) return false;
    return fail(Code::kNotFound, fmt::format("run '{}' is not in the trash any more", run->name));
  }
  if (run->status == RunStatus::kRunning) {
    if (running == IfRunning::kRefuse) return still_running(run->name, id);
    if (running == IfRunning::kSkip) return false;
  }
  TRY(db.exec("UPDATE sessions SET removed = 1 WHERE run = ?1", run->key));
  TRY(db.exec("INSERT INTO removed_runs (id, key, workload, removed) VALUES (?1, ?2, ?3, ?4)", id,
              run->key, run->workload, sys::utc_now()));
  TRY(note_artifacts_of_run(db, id, *run));
  TRY(db.exec("DELETE FROM runs WHERE key = ?1", run->key));
  TRY(mark(db, {.kind = kRunOwner, .key = run->key}, run->workload));
  const auto empty =
      TRY(db.number("DELETE FROM workloads WHERE key = ?1 AND NOT EXISTS (SELECT 1 FROM runs WHERE "
                    "workload = ?1) RETURNING experiment",
                    run->workload));
  if (empty) {
    TRY(mark(db, {.kind = kWorkloadOwner, .key = run->workload}, run->workload));
    TRY(drop_empty_experiment(db, ExperimentId{*empty}));
  }
  TRY(drop_empty_experiment(db, ExperimentId{run->experiment}));
  failpoint::reach("remove.marked");
  return true;
}

Result<> drop_empty_experiment(Connection& db, ExperimentId id) {
  const auto empty = TRY(
      db.number("SELECT 1 FROM experiments WHERE id = ?1 AND kept = 0 AND NOT EXISTS (SELECT 1 "
                "FROM runs WHERE experiment = ?1) AND NOT EXISTS (SELECT 1 FROM workloads WHERE "
                "experiment = ?1)" +
                    std::string(db.dialect().lock_row),
                id));
  if (!empty) return {};
  TRY(note_artifacts_of_experiment(db, id));
  return db.exec("DELETE FROM experiments WHERE id = ?1", id);
}

Result<> drop_experiment(Connection& db, ExperimentId id) {
  TRY(db.exec("UPDATE experiments SET kept = 0 WHERE id = ?1 AND id <> 0", id));
  return drop_empty_experiment(db, id);
}

Result<bool> anything_to_clean(Connection& db) {
  return TRY(db.number("SELECT 1 WHERE EXISTS (SELECT 1 FROM removals) OR EXISTS (SELECT 1 FROM "
                       "hosts WHERE idle_since < ?1)",
                       sys::utc_now() - kHostsKept))
      .has_value();
}

Result<bool> clean_removed(Connection& db, BootTime until) {
  TRY(mark_idle_hosts(db));
  do {
    const auto owner = TRY(next_owner(db));
    // Another server may have finished the only one that this statement saw, and more be there.
    if (!owner) return TRY(db.number("SELECT 1 FROM removals LIMIT 1")).has_value();
    Cleaning cleaning(db, *owner, until);
    TRY(cleaning.round());
    if (cleaning.clean()) failpoint::reach("remove.cleaned");
  } while (sys::boot_now() < until);
  return true;
}

// ---- the size of what a removal deletes
namespace {

// The rows of sessions s, of series x and of the output l whose bytes count; empty: none.
struct Counted {
  std::string_view sessions, series, output;
};
// length() reads no blob.
std::string bytes_query(const Counted& counted) {
  std::string sum = "0";
  const auto add = [&](std::string_view column, std::string_view from, std::string_view where) {
    if (!where.empty())
      sum += fmt::format(" + coalesce((SELECT sum(length({})) FROM {} WHERE {}), 0)", column, from,
                         where);
  };
  add("b.frame", "sessions s JOIN batches b ON b.session = s.key", counted.sessions);
  add("g.data", "sessions s JOIN row_groups g ON g.session = s.key", counted.sessions);
  add("t.data", "sessions s JOIN block_times t ON t.session = s.key", counted.sessions);
  add("b.data", "series x JOIN blocks b ON b.series = x.id", counted.series);
  add("p.data", "series x JOIN pyramid p ON p.series = x.id", counted.series);
  add("l.bytes", "logs l", counted.output);
  return fmt::format("SELECT CAST({} AS BIGINT)", sum);
}

constexpr Counted kOfRun = {.sessions = "s.run = ?1",
                            .series = "x.owner_kind = 0 AND x.owner = ?1",
                            .output = "l.run = ?1"};
// If a run is being removed, its sessions' rows count no more.
constexpr Counted kOfGoingRun = {
    .sessions = "", .series = "x.owner_kind = 0 AND x.owner = ?1", .output = "l.run = ?1"};
constexpr Counted kOfWorkload = {
    .sessions = "", .series = "x.owner_kind = 1 AND x.owner = ?1", .output = ""};
// Without series of hosts, which no removal of runs makes smaller.
constexpr Counted kAll = {
    .sessions = "s.removed = 0", .series = "x.owner_kind <> 2", .output = "TRUE"};

Result<std::int64_t> count_bytes(Connection& db, const Counted& counted, std::int64_t key) {
  return TRY(db.number(bytes_query(counted), key)).value_or(0);
}

std::int64_t count_points_in(const std::vector<codec::SamplesBody>& bodies,
                             const std::set<std::int64_t>& locals) {
  std::size_t points = 0;
  for (const codec::SamplesBody& body : bodies) {
    for (const codec::SampleGroup& group : body.groups) {
      for (const codec::Column& column : group.columns)
        points += locals.contains(column.series) ? column.values.size() : 0;
    }
  }
  return static_cast<std::int64_t>(points);
}

// Points of the run's own series; damaged rows do not count.
Result<std::int64_t> points_of_run(Connection& db, std::int64_t run) {
  std::set<SeriesId> own;
  std::map<std::int64_t, std::set<std::int64_t>> locals;  // by session
  {
    Statement row = TRY(
        db.query("SELECT x.id, m.session, m.local FROM series x JOIN session_series m ON m.series "
                 "= x.id WHERE x.owner_kind = 0 AND x.owner = ?1",
                 run));
    while (TRY(row.step())) {
      own.insert(SeriesId{row.integer(0)});
      locals[row.integer(1)].insert(row.integer(2));
    }
  }
  std::int64_t points = 0;
  {
    Statement row =
        TRY(db.query("SELECT p.statistics FROM sessions s JOIN slices p ON p.session = s.key WHERE "
                     "s.run = ?1",
                     run));
    while (TRY(row.step())) {
      const auto statistics = decode_statistics(row.blob(0));
      if (!statistics) continue;
      for (const auto& [series, delta] : *statistics)
        points += own.contains(series) ? delta.points : 0;
    }
  }
  Statement row = TRY(db.query(
      "SELECT b.session, b.frame FROM sessions s JOIN batches b ON b.session = s.key WHERE s.run = "
      "?1 AND b.damaged = 0",
      run));
  while (TRY(row.step())) {
    const auto samples = decode_batch(row.blob(1));
    if (samples) points += count_points_in(*samples, locals[row.integer(0)]);
  }
  return points;
}

struct Candidate {
  RunId id;
  std::int64_t key = 0;
  std::int64_t workload = 0;
  std::int64_t ended = 0;
};

// Runs that ended, the oldest first. Archived ones stay.
Result<std::vector<Candidate>> ended_runs(Connection& db, UtcTime now) {
  return read_all(
      db.query(
          "SELECT id, key, workload, coalesce(ended, newest) FROM runs WHERE status <> 0 AND NOT "
          "(status = ?1 AND newest > ?2) AND lifecycle <> ?3 ORDER BY coalesce(ended, newest), key",
          RunStatus::kUnknown, now - kStillSends, Lifecycle::kArchived),
      [](const Statement& row) {
        return Candidate{.id = row.id128<RunId>(0),
                         .key = row.integer(1),
                         .workload = row.integer(2),
                         .ended = row.integer(3)};
      });
}

// The number of runs of each workload.
Result<std::map<std::int64_t, std::int64_t>> runs_by_workload(Connection& db) {
  Statement row = TRY(db.query("SELECT workload, count(*) FROM runs GROUP BY workload"));
  std::map<std::int64_t, std::int64_t> runs;
  while (TRY(row.step())) runs[row.integer(0)] = row.integer(1);
  return runs;
}

// Rows of removed runs that are not yet deleted.
Result<std::int64_t> bytes_that_go(Connection& db) {
  const auto owners = TRY(read_all(
      db.query("SELECT owner_kind, owner FROM removals WHERE owner_kind <> ?1", kHostOwner),
      [](const Statement& row) { return Owner{.kind = row.integer(0), .key = row.integer(1)}; }));
  std::int64_t bytes = 0;
  for (const auto& [kind, key] : owners) {
    const bool run = kind == kRunOwner;
    bytes += TRY(count_bytes(db, run ? kOfGoingRun : kOfWorkload, key));
  }
  return bytes;
}

}  // namespace

Result<Removal> size_of_removal(Connection& db, std::span<const RunId> runs, IfRunning running) {
  Removal removal;
  std::set<RunId> seen;
  for (const RunId id : runs) {
    if (!seen.insert(id).second) continue;
    std::int64_t key = 0;
    {
      Statement row = TRY(db.query("SELECT key, status, name FROM runs WHERE id = ?1", id));
      if (!TRY(row.step())) continue;
      key = row.integer(0);
      const bool runs_now = static_cast<RunStatus>(row.integer(1)) == RunStatus::kRunning;
      if (runs_now && running == IfRunning::kRefuse) return still_running(row.text(2), id);
      if (runs_now && running == IfRunning::kSkip) continue;
    }
    removal.runs.push_back(id);
    removal.points += TRY(points_of_run(db, key));
    removal.bytes += TRY(count_bytes(db, kOfRun, key));
  }
  return removal;
}

Result<std::vector<RunId>> runs_to_remove(Connection& db, ExperimentId id) {
  if (!TRY(db.number("SELECT 1 FROM experiments WHERE id = ?1", id)))
    return fail(Code::kNotFound, "no experiment " + std::to_string(id.value));
  return read_all(db.query("SELECT id FROM runs WHERE experiment = ?1 ORDER BY key", id),
                  [](const Statement& row) { return row.id128<RunId>(0); });
}

Result<std::vector<RunId>> runs_beyond_retention(Connection& db, const Retention& retention,
                                                 UtcTime now) {
  // The database is larger than the counted data in it: if it is below the limit, counting is not
  // needed.
  std::int64_t excess = 0;
  if (retention.bytes && TRY(db.bytes()) > *retention.bytes)
    excess =
        TRY(db.number(bytes_query(kAll))).value_or(0) - TRY(bytes_that_go(db)) - *retention.bytes;
  auto left = TRY(runs_by_workload(db));
  std::vector<RunId> runs;
  for (const Candidate& run : TRY(ended_runs(db, now))) {
    const bool old = retention.age && utc_time(run.ended) < now - *retention.age;
    if (!old && excess <= 0) break;
    runs.push_back(run.id);
    if (excess <= 0) continue;
    excess -= TRY(count_bytes(db, kOfRun, run.key));
    if (--left[run.workload] == 0) excess -= TRY(count_bytes(db, kOfWorkload, run.workload));
  }
  return runs;
}

// ---- the trash
Result<bool> anything_in_trash(Connection& db) {
  return TRY(db.number("SELECT 1 WHERE EXISTS (SELECT 1 FROM runs WHERE lifecycle = 1) OR EXISTS "
                       "(SELECT 1 FROM experiments WHERE lifecycle = 1)"))
      .has_value();
}

Result<> date_trash(Connection& db, UtcTime now) {
  return db.exec("UPDATE runs SET trashed = ?1 WHERE lifecycle = 1 AND trashed IS NULL", now);
}

Result<std::vector<RunId>> runs_beyond_trash(Connection& db, UtcTime now) {
  return read_all(db.query("SELECT id FROM runs WHERE lifecycle = 1 AND trashed < ?1 ORDER BY "
                           "trashed, key",
                           now - kTrashKept),
                  [](const Statement& row) { return row.id128<RunId>(0); });
}

Result<> drop_deleted_experiments(Connection& db, UtcTime now) {
  const auto gone = TRY(db.numbers(
      "SELECT id FROM experiments e WHERE lifecycle = 1 AND id <> 0 AND updated < ?1 AND "
      "NOT EXISTS (SELECT 1 FROM runs r WHERE r.experiment = e.id)",
      now - kTrashKept));
  for (const std::int64_t id : gone) TRY(drop_experiment(db, ExperimentId{id}));
  return {};
}

}  // namespace corral::store::sql
